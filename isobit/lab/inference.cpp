#include "isobit/lab/inference.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include "isobit/backends/backend.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/elementwise/unary.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/numerics/philox.h"
#include "isobit/onnx/import.h"
#include "isobit/runtime/promises.h"
#include "isobit/runtime/specialise.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::lab {

namespace {

using graph::Graph;
using graph::Value;

constexpr uint64_t kLargestDrawn = 8;  // integers below it fit most tables that they may point into

std::string names_of(const std::vector<onnx::ValueDef>& inputs) {
  std::vector<std::string> names;
  for (const onnx::ValueDef& input : inputs) names.push_back(input.name);
  return join_quoted(names, 6);
}

// The given inputs by name.
Expected<std::map<std::string, Tensor>> named_inputs(const InferenceRequest& request,
                                                     const std::vector<onnx::ValueDef>& open) {
  std::map<std::string, Tensor> named;
  for (const NamedTensor& input : request.inputs) {
    if (input.name.empty()) continue;
    const bool known = std::ranges::any_of(open, [&](const auto& v) { return v.name == input.name; });
    if (!known) {
      return usage_error(
          text_of("--input: the model has no input '", input.name, "', expected one of: ", names_of(open)));
    }
    if (!named.emplace(input.name, input.tensor).second) {
      return usage_error(text_of("--input: '", input.name, "' is given twice"));
    }
  }
  for (const NamedTensor& input : request.inputs) {
    if (!input.name.empty()) continue;
    const auto free = std::ranges::find_if(open, [&](const auto& v) { return !named.contains(v.name); });
    if (free == open.end()) {
      return usage_error(text_of("--input: more inputs than the model has; it has: ", names_of(open)));
    }
    named.emplace(free->name, input.tensor);
  }
  return named;
}

Status check_extents(const InferenceRequest& request, const std::vector<onnx::ValueDef>& open) {
  std::set<std::string> names;
  for (const onnx::ValueDef& input : open) {
    for (const onnx::DimDef& dim : input.type.dims) {
      if (!dim.name.empty()) names.insert(dim.name);
    }
  }
  for (const auto& [name, extent] : request.extents) {
    if (extent < 0) return usage_error(text_of("--dim: found ", name, "=", extent, ", expected at least 0"));
    if (names.contains(name)) continue;
    std::string known;
    for (const std::string& n : names) known += text_of(known.empty() ? "" : ", ", n);
    return usage_error(text_of("--dim: no input has a dimension named '", name,
                               "', expected one of: ", known.empty() ? "none" : known));
  }
  return {};
}

// Whether given inputs are what the file says of them. The rest is the import's to find.
Status check_given(const std::vector<onnx::ValueDef>& open, const std::map<std::string, Tensor>& given) {
  for (const onnx::ValueDef& input : open) {
    const auto found = given.find(input.name);
    if (found == given.end() || !input.type.has_shape) continue;
    const std::vector<onnx::DimDef>& expected = input.type.dims;
    const std::vector<int64_t>& dims = found->second.shape().dims();
    bool fits = dims.size() == expected.size();
    for (size_t d = 0; fits && d < dims.size(); ++d) fits = expected[d].extent < 0 || expected[d].extent == dims[d];
    if (fits) continue;
    return unreadable(text_of("--input: '", input.name, "': found shape ", found->second.shape().text(), ", expected ",
                              input.type.text()));
  }
  return {};
}

// Whether the extents that somebody asked for are those of the inputs that were given, too.
Status check_given_extents(const InferenceRequest& request, const std::vector<onnx::ValueDef>& open,
                           const std::map<std::string, Tensor>& given) {
  for (const onnx::ValueDef& input : open) {
    const auto found = given.find(input.name);
    if (found == given.end() || !input.type.has_shape) continue;
    for (size_t d = 0; d < input.type.dims.size(); ++d) {
      const auto asked = request.extents.find(input.type.dims[d].name);
      const int64_t extent = found->second.shape().dims()[d];
      if (asked == request.extents.end() || asked->second == extent) continue;
      return usage_error(text_of("--dim: found ", asked->first, "=", asked->second, ", but the input '", input.name,
                                 "' has ", extent, " there (shape ", found->second.shape().text(), ")"));
    }
  }
  return {};
}

// The shapes that an import is to have: of given inputs theirs, of the others what the file and --dim say, 1 for the
// rest. An input whose rank nobody knows stays as it is, and cannot be drawn.
onnx::ImportOptions import_options(const InferenceRequest& request, const std::vector<onnx::ValueDef>& open,
                                   const std::map<std::string, Tensor>& given) {
  onnx::ImportOptions options;
  options.extents = request.extents;
  for (const onnx::ValueDef& input : open) {
    if (const auto found = given.find(input.name); found != given.end()) {
      options.shapes[input.name] = found->second.shape().dims();
      for (size_t d = 0; d < input.type.dims.size() && d < found->second.shape().dims().size(); ++d) {
        const std::string& name = input.type.dims[d].name;
        if (!name.empty()) options.extents.emplace(name, found->second.shape().dims()[d]);
      }
    }
  }
  for (const onnx::ValueDef& input : open) {
    if (!input.type.has_shape || given.contains(input.name)) continue;
    std::vector<int64_t> dims;
    for (const onnx::DimDef& dim : input.type.dims) {
      const auto extent = options.extents.find(dim.name);
      dims.push_back(dim.extent >= 0 ? dim.extent : extent != options.extents.end() ? extent->second : 1);
    }
    options.shapes[input.name] = std::move(dims);
  }
  return options;
}

// A model that has been imported; nothing of the file is kept.
struct Brought {
  Graph graph;
  // By place among the graph's inputs, undefined where nothing is given: its names are not always the file's.
  std::vector<Tensor> given;
  uint64_t bytes = 0;  // that the model takes in memory
  std::vector<std::string> external;
};

Expected<Brought> bring(const InferenceRequest& request) {
  ISOBIT_TRY(const onnx::Model model, onnx::load_model(request.model, onnx::load_options_within(request.max_memory)));
  const auto open = onnx::needed_inputs(model);
  ISOBIT_RETURN_IF_ERROR(check_extents(request, open));
  Brought brought;
  ISOBIT_TRY(auto given, named_inputs(request, open));
  ISOBIT_RETURN_IF_ERROR(check_given(open, given));
  ISOBIT_RETURN_IF_ERROR(check_given_extents(request, open, given));
  onnx::ImportOptions options = import_options(request, open, given);
  options.max_bytes = onnx::max_import_bytes(request.max_memory, model.bytes);
  ISOBIT_TRY(onnx::Imported imported, onnx::import_model(model, options));
  brought.bytes = model.bytes + 3 * imported.bytes;
  brought.graph = std::move(imported.graph);
  ISOBIT_CHECK(brought.graph.inputs().size() == open.size());
  brought.external = model.external;
  for (const onnx::ValueDef& input : open) brought.given.push_back(std::move(given[input.name]));
  return brought;
}

// Whether an input may be that large beside `held` bytes; what it takes.
Expected<uint64_t> check_input(const Value& value, const InferenceRequest& request, uint64_t held) {
  const auto too_large = [&](const Error& error, const char* option) {
    return unreadable(text_of("input '", value.name, "' of shape ", Shape(value.dims).text(), ": ", error.message, " (",
                              option, ")"));
  };
  const auto alone = checked_extents(value.dims, value.dtype, std::min(request.max_tensor, request.max_memory));
  if (!alone) return too_large(alone.error(), "--max-tensor");
  const uint64_t left = request.max_memory - std::min(request.max_memory, held);
  const auto beside = checked_elements(value.dims, value.dtype, left);
  if (!beside) return too_large(beside.error(), "--max-memory");
  return static_cast<uint64_t>(*beside) * size_of(value.dtype);
}

// Drawn for the input at `place`.
Expected<Tensor> drawn(const Value& value, uint64_t seed, uint32_t place, const kernels::KernelContext& ctx) {
  const numerics::Stream stream{seed, numerics::Purpose::kSyntheticData, place};
  Tensor tensor(value.dtype, value.shape());
  const int64_t n = tensor.elements();
  const bool whole = by_type(IntegerTypes{}, value.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < n; ++i) {
      tensor.data<T>()[i] = static_cast<T>(numerics::random_below(stream, static_cast<uint64_t>(i), kLargestDrawn));
    }
  });
  if (whole) return tensor;
  constexpr int64_t kChunk = 1 << 16;
  std::vector<float> normal(static_cast<size_t>(std::min(n, kChunk)));
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t count = std::min(kChunk, n - first);
    numerics::fill_normal_f32(stream, static_cast<uint64_t>(first), normal.data(), count);
    if (value.dtype == DType::kBool) {
      for (float& x : normal) x = x < 0 ? 0.0f : 1.0f;
    }
    void* to = static_cast<uint8_t*>(tensor.raw()) + static_cast<size_t>(first) * size_of(value.dtype);
    kernels::cast(ctx, DType::kFloat32, value.dtype, count, normal.data(), to);
  }
  return tensor;
}

// `given`: of each value, or undefined. `held`: bytes that are there besides.
Expected<std::vector<NamedTensor>> complete_inputs(std::vector<Value> values, const std::vector<Tensor>& given,
                                                   const InferenceRequest& request, uint64_t held,
                                                   const kernels::KernelContext& ctx) {
  std::vector<NamedTensor> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    Value& value = values[i];
    if (given[i].defined()) {
      value.dims = given[i].shape().dims();
    } else if (!value.is_static()) {
      return usage_error(text_of("input '", value.name, "': the model does not say its rank; give it with --input ",
                                 value.name, "=FILE.npy"));
    }
    ISOBIT_TRY(const uint64_t bytes, check_input(value, request, held));
    held += bytes;
    if (given[i].defined()) {
      inputs.push_back({value.name, given[i]});
      continue;
    }
    ISOBIT_TRY(Tensor tensor, drawn(value, request.seed, static_cast<uint32_t>(i), ctx));
    inputs.push_back({value.name, std::move(tensor)});
  }
  return inputs;
}

// Whether the arithmetic can keep what it promises, and the bounds that it stands on hold.
Status check_arithmetic(const Graph& graph, const platform::Arithmetic& arithmetic) {
  ISOBIT_RETURN_IF_ERROR(runtime::check_promises(graph, arithmetic));
  return runtime::check_terms(graph, arithmetic);
}

// What the model and the values of a run may take together, less the model.
runtime::Limits limits_of(const InferenceRequest& request, uint64_t model_bytes) {
  runtime::Limits limits;
  if (request.max_memory < limits.total_bytes) {
    limits.total_bytes = request.max_memory - std::min(request.max_memory, model_bytes);
  }
  limits.tensor_bytes = std::min({limits.tensor_bytes, request.max_tensor, request.max_memory});
  limits.trips = request.max_trips;
  return limits;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Asks, after every convolution, what computed it. Passes everything on to another observer, if there is one.
class KernelsSeen final : public runtime::Observer {
 public:
  KernelsSeen(std::vector<ChosenKernel>& chosen, runtime::Observer* next) : chosen_(chosen), next_(next) {}

  bool wants_statistics() const override { return next_ != nullptr && next_->wants_statistics(); }
  bool wants_values() const override { return next_ != nullptr && next_->wants_values(); }
  bool wants_constants() const override { return next_ == nullptr || next_->wants_constants(); }
  void begin_run(const Graph& graph) override {
    if (next_ != nullptr) next_->begin_run(graph);
  }
  void ran_again(size_t index) override {
    if (next_ != nullptr) next_->ran_again(index);
  }
  Status before_stage(const runtime::NodeRun& run) override {
    return next_ == nullptr ? Status() : next_->before_stage(run);
  }
  Status after_stage(const runtime::NodeRun& run) override {
    if (next_ != nullptr) ISOBIT_RETURN_IF_ERROR(next_->after_stage(run));
    const kernels::ConvKernel kernel = conv_kernel_of(run);
    if (kernel.name.empty()) return {};
    const auto shape_of = [&](size_t i) { return run.input(i) == nullptr ? "" : run.input(i)->shape().text(); };
    chosen_.push_back({run.node.name, shape_of(0), shape_of(1), kernel.name, kernel.why});
    return {};
  }

 private:
  std::vector<ChosenKernel>& chosen_;
  runtime::Observer* const next_;
};

}  // namespace

struct ReadyInference::Impl {
  Impl(platform::Context its_context, std::string its_file)
      : context(std::move(its_context)), file(std::move(its_file)) {}
  const platform::Context context;
  const std::string file;  // of the model, for messages
  Graph graph;
  std::vector<std::string> external;
  std::vector<NamedTensor> inputs;
  std::unique_ptr<backends::Program> program;  // of the graph

  tl::unexpected<Error> in_file(const Error& error) const {
    return tl::unexpected<Error>({error.code, text_of(file, ": ", error.message)});
  }
};

ReadyInference::ReadyInference(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReadyInference::ReadyInference(ReadyInference&&) noexcept = default;
ReadyInference::~ReadyInference() = default;

const Graph& ReadyInference::graph() const { return impl_->graph; }
const std::vector<NamedTensor>& ReadyInference::inputs() const { return impl_->inputs; }
const std::vector<std::string>& ReadyInference::external() const { return impl_->external; }
platform::Repairs ReadyInference::repairs() const { return impl_->context.repairs(); }

Expected<ReadyInference> ReadyInference::prepare(const InferenceRequest& request, platform::Engine& engine) {
  ISOBIT_TRY(const platform::Arithmetic* arithmetic, platform::named_arithmetic(request.arithmetic));
  ISOBIT_TRY(Brought brought, bring(request));
  ISOBIT_TRY(platform::Context context, engine.context_for(*arithmetic));
  auto impl = std::make_unique<Impl>(std::move(context), request.model.string());
  std::vector<Value> values;
  for (const graph::ValueId id : brought.graph.inputs()) values.push_back(brought.graph.value(id));
  auto inputs = complete_inputs(std::move(values), brought.given, request, brought.bytes, impl->context.kernels());
  if (!inputs) return impl->in_file(inputs.error());
  impl->inputs = *std::move(inputs);
  impl->external = std::move(brought.external);
  // What follows from the shapes that are now known.
  std::vector<Shape> shapes;
  for (const NamedTensor& input : impl->inputs) shapes.push_back(input.tensor.shape());
  auto specialised = runtime::specialise(brought.graph, shapes);
  if (!specialised) return impl->in_file(specialised.error());
  impl->graph = *std::move(specialised);
  if (const Status kept = check_arithmetic(impl->graph, *arithmetic); !kept) return impl->in_file(kept.error());
  auto program = backends::native().compile(impl->graph, impl->context, limits_of(request, brought.bytes));
  if (!program) return impl->in_file(program.error());
  impl->program = *std::move(program);
  return ReadyInference(std::move(impl));
}

Expected<ReadyInference::Run> ReadyInference::run(runtime::Observer* observer, runtime::Stage* stage) {
  Run done;
  ISOBIT_RETURN_IF_ERROR(run_into(done, observer, stage));
  return done;
}

Status ReadyInference::run_into(Run& done, runtime::Observer* observer, runtime::Stage* stage) {
  std::vector<backends::Program::Feed> feeds;
  for (size_t i = 0; i < inputs().size(); ++i) feeds.emplace_back(graph().inputs()[i], inputs()[i].tensor);
  std::vector<Tensor> outputs(graph().outputs().size());
  for (size_t o = 0; o < done.outputs.size(); ++o) outputs[o] = std::move(done.outputs[o].tensor);
  done.outputs.clear();
  const double begin = seconds_now();
  const Status ran = impl_->program->run(feeds, outputs, {.observer = observer, .stage = stage});
  done.seconds = seconds_now() - begin;
  if (!ran) return impl_->in_file(ran.error());
  for (size_t o = 0; o < outputs.size(); ++o) {
    done.outputs.push_back({graph().value(graph().outputs()[o]).name, std::move(outputs[o])});
  }
  return {};
}

kernels::ConvKernel conv_kernel_of(const runtime::NodeRun& run) {
  const bool is_ours = graph::op_of(run.node).product == graph::ProductForm::kConv &&
                       run.outputs[0].dtype() == DType::kFloat32 && run.ctx.products_f32 != nullptr;
  return is_ours ? run.ctx.products_f32->last_conv_forward() : kernels::ConvKernel{};
}

Expected<std::vector<NamedTensor>> inputs_of(const InferenceRequest& request, ThreadPool& pool) {
  ISOBIT_TRY(const onnx::Model model, onnx::load_model(request.model, onnx::load_options_within(request.max_memory)));
  return inputs_of(request, model, pool);
}

Expected<std::vector<NamedTensor>> inputs_of(const InferenceRequest& request, const onnx::Model& model,
                                             ThreadPool& pool) {
  const auto open = onnx::needed_inputs(model);
  ISOBIT_RETURN_IF_ERROR(check_extents(request, open));
  ISOBIT_TRY(auto named, named_inputs(request, open));
  ISOBIT_RETURN_IF_ERROR(check_given(open, named));
  ISOBIT_RETURN_IF_ERROR(check_given_extents(request, open, named));
  const onnx::ImportOptions options = import_options(request, open, named);
  std::vector<Value> values;
  std::vector<Tensor> given;
  for (const onnx::ValueDef& input : open) {
    const auto dtype = onnx::dtype_of_element(input.type.element);
    const auto shape = options.shapes.find(input.name);
    given.push_back(std::move(named[input.name]));
    const bool fits = dtype && (!given.back().defined() || given.back().dtype() == *dtype);
    if (!fits || input.type.kind != onnx::TypeDef::Kind::kTensor) {
      return unreadable(text_of(request.model.string(), ": input '", input.name, "': is ", input.type.text(),
                                given.back().defined() ? text_of(", given is ", name_of(given.back().dtype()))
                                                       : std::string(", which cannot be drawn")));
    }
    values.push_back({input.name, *dtype, shape == options.shapes.end() ? graph::kUnknownRank : shape->second});
  }
  auto inputs = complete_inputs(std::move(values), given, request, model.bytes, {kernels::Isa::kPortable, &pool});
  if (inputs) return inputs;
  return tl::unexpected<Error>({inputs.error().code, text_of(request.model.string(), ": ", inputs.error().message)});
}

Expected<Inference> infer(const InferenceRequest& request, platform::Engine& engine) {
  ISOBIT_TRY(ReadyInference ready, ReadyInference::prepare(request, engine));
  return infer(request, ready, nullptr);
}

Expected<Inference> infer(const InferenceRequest& request, ReadyInference& ready, runtime::Observer* observer,
                          runtime::Stage* stage, profile::StepsObserver* of_all) {
  ISOBIT_CHECK(request.repeat >= 1 && (observer == nullptr || of_all == nullptr));
  Inference out;
  out.inputs = ready.inputs();
  ReadyInference::Run done;  // runs after the first have the memory of the second
  for (int r = 0; r < request.repeat; ++r) {
    KernelsSeen seen(out.chosen, of_all != nullptr ? of_all : observer);
    if (of_all != nullptr) of_all->begin_step(r + 1);
    ISOBIT_RETURN_IF_ERROR(ready.run_into(done, r == 0 ? &seen : static_cast<runtime::Observer*>(of_all), stage));
    if (of_all != nullptr) of_all->end_step();
    out.seconds.push_back(done.seconds);
    if (r == 0) out.outputs = std::move(done.outputs);
    for (size_t o = 0; r > 0 && o < done.outputs.size(); ++o) {
      if (identical(out.outputs[o].tensor, done.outputs[o].tensor)) continue;
      return unavailable(text_of(request.model.string(), ": output '", done.outputs[o].name, "' of run ", r + 1,
                                 " differs from that of the first run: this platform does not repeat itself"));
    }
  }
  out.repairs = ready.repairs();
  return out;
}

}  // namespace isobit::lab
