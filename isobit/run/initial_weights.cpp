#include "isobit/run/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/formats/safetensors.h"

namespace isobit::run {
namespace {

constexpr size_t kShown = 4;

// "missing: 'a', 'b' and 3 others"
void add_list(std::string& text, std::string_view what, const std::vector<std::string>& items) {
  if (items.empty()) return;
  text += text_of(text.empty() ? "" : "; ", what, ": ", join_some(items, kShown));
}

Status check_finite(const NamedTensor& t, const fs::path& file) {
  const bool checked = by_type(FloatTypes{}, t.tensor.dtype(), [](auto) {});
  if (!checked) return {};
  bool finite = true;
  by_type(FloatTypes{}, t.tensor.dtype(), [&]<class T>(T) {
    for (const T x : t.tensor.span<T>()) finite = finite && std::isfinite(x);
  });
  if (finite) return {};
  return unreadable(text_of("model.weights: ", file.string(), ": tensor '", t.name,
                            "' has a NaN or an infinity, from which nothing can be learnt"));
}

bool is_count(const std::string& name, DType dtype) {
  return dtype == DType::kInt64 && name.ends_with("num_batches_tracked");
}

}  // namespace

Expected<std::shared_ptr<const models::Network>> InitialWeights::open(const fs::path& file,
                                                                      std::shared_ptr<const models::Network> network,
                                                                      const Limits& limits) {
  const uint64_t most = std::min(limits.max_memory, formats::kSafetensorsMaxBytes);
  std::shared_ptr<InitialWeights> weights(new InitialWeights(file, std::move(network), most));
  ISOBIT_RETURN_IF_ERROR(weights->read_types());
  return weights;
}

Status InitialWeights::read_types() {
  ISOBIT_TRY(const PlainFile file, PlainFile::open(file_, Links::kFollow));
  bytes_ = file.size();
  const auto read = [&](uint64_t offset, std::span<uint8_t> to) { return file.read_exactly(offset, to); };
  const auto note = [&](const std::string& name, DType dtype, const Shape& shape) -> Status {
    types_[name] = {dtype, shape};
    return {};
  };
  const auto check = [&](NamedTensor tensor) { return check_finite(tensor, file_); };
  ISOBIT_RETURN_IF_ERROR(
      formats::stream_safetensors(bytes_, read, {note, check}, file_.string(), max_bytes_).map([](auto&&) {}));
  return file.check_unchanged();
}

Status InitialWeights::check(const models::Model& model) const {
  std::map<std::string, Type> wanted;
  const auto want = [&](const std::string& name, graph::ValueId id) {
    wanted[name] = {model.graph.value(id).dtype, model.graph.value(id).shape()};
  };
  for (const models::Parameter& p : model.parameters) want(p.name, p.value);
  for (const models::Buffer& b : model.buffers) want(b.name, b.value);
  std::vector<std::string> missing, unknown, other;
  for (const auto& [name, type] : wanted) {
    const auto found = types_.find(name);
    if (found == types_.end()) {
      missing.push_back(text_of("'", name, "'"));
    } else if (found->second != type) {
      other.push_back(text_of("'", name, "' is ", isobit::name_of(found->second.first), " ",
                              found->second.second.text(), ", expected ", isobit::name_of(type.first), " ",
                              type.second.text()));
    }
  }
  for (const auto& [name, type] : types_) {
    if (!wanted.contains(name) && !is_count(name, type.first)) unknown.push_back(text_of("'", name, "'"));
  }
  std::string problem;
  add_list(problem, "missing", missing);
  add_list(problem, "unknown to the network", unknown);
  add_list(problem, "of another type or shape", other);
  if (problem.empty()) return {};
  return unreadable(text_of("model.weights: ", file_.string(), " is not of this network; ", problem));
}

Expected<models::Model> InitialWeights::build(const models::ModelConfig& config) const {
  models::ModelConfig own = config;
  own.weights = "";  // they are here
  ISOBIT_TRY(models::Model model, network_->build(own));
  ISOBIT_RETURN_IF_ERROR(check(model));
  for (models::Parameter& p : model.parameters) p.init = {models::Init::Kind::kGiven, 0};
  for (models::Buffer& b : model.buffers) b.init = {models::Init::Kind::kGiven, 0};
  return model;
}

Expected<std::vector<NamedTensor>> InitialWeights::given_values() const {
  ISOBIT_TRY(formats::Safetensors file, formats::read_safetensors(file_, max_bytes_));
  for (const NamedTensor& t : file.tensors) ISOBIT_RETURN_IF_ERROR(check_finite(t, file_));
  return std::move(file.tensors);
}

}  // namespace isobit::run
