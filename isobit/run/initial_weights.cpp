#include "isobit/run/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/commit/hash.h"
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
                                                                      const Limits& limits, models::WeightNames names) {
  const uint64_t most = std::min(limits.max_memory, formats::kSafetensorsMaxBytes);
  std::shared_ptr<InitialWeights> weights(new InitialWeights(file, std::move(network), most, std::move(names)));
  ISOBIT_RETURN_IF_ERROR(weights->read_types());
  return weights;
}

std::optional<std::string> InitialWeights::own_name(const std::string& in_file) const {
  const bool whole = in_file.starts_with(names_.prefix) || names_.tied.contains(in_file);
  std::string name = whole ? in_file : names_.prefix + in_file;
  const auto matches = [&](const std::string& pattern) { return matches_glob(pattern, name); };
  if (std::ranges::any_of(names_.passed_over, matches)) return std::nullopt;
  return name;
}

Status InitialWeights::note(const std::string& name, DType dtype, const Shape& shape) {
  const auto own = own_name(name);
  if (!own || types_.emplace(*own, Type{dtype, shape}).second) return {};
  return unreadable(text_of("model.weights: ", file_.string(), " has '", *own, "' twice, with '", names_.prefix,
                            "' before its name and without"));
}

Status InitialWeights::read_types() {
  ISOBIT_TRY(const PlainFile file, PlainFile::open(file_, Links::kFollow));
  bytes_ = file.size();
  const auto read = [&](uint64_t offset, std::span<uint8_t> to) { return file.read_exactly(offset, to); };
  const auto note_type = [&](const std::string& name, DType dtype, const Shape& shape) {
    return note(name, dtype, shape);
  };
  std::map<std::string, commit::Digest> digests;  // of what is tied
  const auto tied = [&](const std::string& name) {
    return std::ranges::any_of(names_.tied, [&](const auto& t) { return t.first == name || t.second == name; });
  };
  const auto check = [&](NamedTensor tensor) -> Status {
    const auto own = own_name(tensor.name);
    if (!own) return {};
    if (tied(*own)) digests[*own] = commit::sha256(tensor.tensor.byte_view());
    return check_finite(tensor, file_);
  };
  ISOBIT_RETURN_IF_ERROR(
      formats::stream_safetensors(bytes_, read, {note_type, check}, file_.string(), max_bytes_).map([](auto&&) {}));
  for (const auto& [second, first] : names_.tied) {
    // A file with the second name alone lacks the parameter, which check() says.
    if (types_.erase(second) == 0 || !types_.contains(first) || digests[second] == digests[first]) continue;
    return unreadable(text_of("model.weights: ", file_.string(), ": '", second, "' is not equal to '", first,
                              "', and the network has one matrix for both; leave it out, or tie them where you train"));
  }
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
  std::vector<NamedTensor> values;
  for (NamedTensor& t : file.tensors) {
    const auto own = own_name(t.name);
    if (!own || names_.tied.contains(*own)) continue;
    ISOBIT_RETURN_IF_ERROR(check_finite(t, file_));
    values.push_back({*own, std::move(t.tensor)});
  }
  return values;
}

}  // namespace isobit::run
