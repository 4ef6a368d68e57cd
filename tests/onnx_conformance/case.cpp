#include "tests/onnx_conformance/case.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "isobit/base/text.h"
#include "isobit/onnx/import.h"
#include "isobit/runtime/executor.h"

namespace isobit::conformance {
namespace {

constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> values;
  by_dtype(t.dtype(), [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      for (const uint8_t byte : t.byte_view()) values.push_back(byte != 0);
    } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      for (const T x : t.span<T>()) values.push_back(static_cast<double>(numerics::widened(x)));
    } else {
      for (const T x : t.span<T>()) values.push_back(static_cast<double>(x));
    }
  });
  return values;
}

bool is_real(DType type) {
  return type == DType::kFloat32 || type == DType::kFloat64 || type == DType::kFloat16 || type == DType::kBfloat16;
}

bool close(double found, double wanted) {
  if (std::isnan(found) || std::isnan(wanted)) return std::isnan(found) == std::isnan(wanted);
  if (std::isinf(found) || std::isinf(wanted)) return found == wanted;
  return std::fabs(found - wanted) <= kAbsolute + kRelative * std::fabs(wanted);
}

// Not a number, so that it is shown with the reason in one line.
struct NoTensors {
  std::string reason;
};

using Tensors = tl::expected<std::vector<onnx::TensorDef>, NoTensors>;

// input_0.pb, input_1.pb ... as the types of the model's values say that they are to be read.
Tensors read_tensors(const fs::path& folder, const std::string& stem, const std::vector<onnx::ValueDef>& values) {
  std::vector<onnx::TensorDef> tensors;
  for (size_t i = 0;; ++i) {
    const fs::path path = folder / text_of(stem, "_", i, ".pb");
    if (!fs::exists(path)) return tensors;
    const auto fail = [&](const std::string& reason) {
      return tl::unexpected<NoTensors>({text_of(path.filename().string(), ": ", reason)});
    };
    if (i >= values.size()) return fail("the model has no such value");
    if (values[i].type.kind != onnx::TypeDef::Kind::kTensor) return fail(text_of("is a ", values[i].type.text()));
    auto tensor = onnx::load_tensor(path);
    if (!tensor) return fail(tensor.error().message);
    if (!tensor->tensor.defined()) return fail(text_of("is ", onnx::element_name(tensor->element)));
    tensors.push_back(std::move(*tensor));
  }
}

struct Set {
  runtime::Executor::Feeds feeds;
  std::vector<Tensor> wanted;
};

tl::expected<Set, NoTensors> read_set(const fs::path& folder, const onnx::Model& model, const graph::Graph& graph) {
  auto inputs = read_tensors(folder, "input", model.graph.inputs);
  if (!inputs) return tl::unexpected(inputs.error());
  auto outputs = read_tensors(folder, "output", model.graph.outputs);
  if (!outputs) return tl::unexpected(outputs.error());
  Set set;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const graph::ValueId id = graph.find(model.graph.inputs[i].name);
    const auto& ids = graph.inputs();
    // An input that has a value in the file is none of the graph.
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) set.feeds.emplace_back(id, (*inputs)[i].tensor);
  }
  for (const onnx::TensorDef& t : *outputs) set.wanted.push_back(t.tensor);
  return set;
}

using Results = Expected<std::vector<Tensor>>;

Results run_on(platform::Engine& engine, const graph::Graph& graph, const Set& set) {
  ISOBIT_TRY(const platform::Context context, engine.context_for(platform::arithmetic_of("ordered-1")));
  runtime::Executor executor(graph);
  ISOBIT_RETURN_IF_ERROR(executor.status());
  ISOBIT_TRY(auto outputs, executor.run(context.kernels(), set.feeds));
  for (Tensor& t : outputs) t = t.clone();
  return outputs;
}

Outcome compare(const std::vector<Tensor>& found, const Set& set, const onnx::Model& model) {
  if (found.size() != set.wanted.size()) {
    return {Verdict::kDiffers, text_of(found.size(), " outputs, expected ", set.wanted.size())};
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (const std::string differs = difference(found[i], set.wanted[i]); !differs.empty()) {
      return {Verdict::kDiffers, text_of("output '", model.graph.outputs[i].name, "': ", differs)};
    }
  }
  return {Verdict::kPasses, ""};
}

// On the first platform, into `outputs`; on the others, for comparison.
Outcome run_set(const Set& set, const onnx::Model& model, const graph::Graph& graph,
                const std::vector<platform::Platform>& platforms, std::vector<Tensor>& outputs) {
  std::vector<Tensor> first;
  for (const platform::Platform& p : platforms) {
    platform::Engine engine(p);
    Results results = run_on(engine, graph, set);
    if (!results) return {Verdict::kFails, text_of(p.text(), ": ", results.error().message)};
    if (first.empty()) {
      if (const Outcome outcome = compare(*results, set, model); outcome.verdict != Verdict::kPasses) return outcome;
      first = std::move(*results);
      continue;
    }
    for (size_t i = 0; i < first.size(); ++i) {
      if (identical(first[i], (*results)[i])) continue;
      return {Verdict::kDiffers, text_of("output '", model.graph.outputs[i].name, "' has other bits on ", p.text(),
                                         " than on ", platforms[0].text())};
    }
  }
  for (Tensor& t : first) outputs.push_back(std::move(t));
  return {Verdict::kPasses, ""};
}

bool write_bits(const fs::path& path, const std::vector<Tensor>& outputs) {
  std::ofstream file(path, std::ios::binary);
  for (const Tensor& t : outputs) {
    const auto bytes = t.byte_view();
    file << isobit::name_of(t.dtype()) << " " << t.shape().text() << "\n";
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  return static_cast<bool>(file.flush());
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPasses:
      return "passes";
    case Verdict::kDiffers:
      return "differs";
    case Verdict::kRefused:
      return "refused";
    case Verdict::kFails:
      return "fails";
    case Verdict::kNotRun:
      return "not run";
    case Verdict::kCrashes:
      return "crashes";
  }
  return "";
}

std::string difference(const Tensor& found, const Tensor& wanted) {
  if (found.dtype() != wanted.dtype()) {
    return text_of("is ", isobit::name_of(found.dtype()), ", expected ", isobit::name_of(wanted.dtype()));
  }
  if (found.shape() != wanted.shape()) {
    return text_of("has shape ", found.shape().text(), ", expected ", wanted.shape().text());
  }
  if (!is_real(found.dtype()) && found.dtype() != DType::kBool) {
    const auto a = found.byte_view(), b = wanted.byte_view();
    const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin());
    if (at == a.end()) return "";
    const size_t place = static_cast<size_t>(at - a.begin()) / size_of(found.dtype());
    return text_of("element ", place, " is ", numbers(found)[place], ", expected ", numbers(wanted)[place]);
  }
  const auto a = numbers(found), b = numbers(wanted);
  size_t wrong = 0, worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (close(a[i], b[i])) continue;
    const auto off = [&](size_t place) { return std::fabs(a[place] - b[place]); };
    if (wrong == 0 || off(i) > off(worst)) worst = i;
    ++wrong;
  }
  if (wrong == 0) return "";
  return text_of(wrong, " of ", a.size(), " elements; element ", worst, " is ", a[worst], ", expected ", b[worst]);
}

Outcome run_case(const fs::path& folder, const std::vector<platform::Platform>& platforms, const fs::path& bits) {
  auto model = onnx::load_model(folder / "model.onnx");
  if (!model) return {Verdict::kRefused, model.error().message};
  model->file = "model.onnx";
  const auto imported = onnx::import_model(*model);
  if (!imported) return {Verdict::kRefused, imported.error().message};
  bool any = false;
  std::vector<Tensor> outputs;
  for (size_t n = 0;; ++n) {
    const fs::path data = folder / text_of("test_data_set_", n);
    if (!fs::is_directory(data)) break;
    any = true;
    const auto set = read_set(data, *model, imported->graph);
    if (!set) return {Verdict::kNotRun, set.error().reason};
    const Outcome outcome = run_set(*set, *model, imported->graph, platforms, outputs);
    if (outcome.verdict != Verdict::kPasses) return outcome;
  }
  if (!any) return {Verdict::kNotRun, "there are no data"};
  if (!bits.empty() && !write_bits(bits, outputs)) return {Verdict::kNotRun, text_of(bits.string(), ": not written")};
  return {Verdict::kPasses, ""};
}

}  // namespace isobit::conformance
