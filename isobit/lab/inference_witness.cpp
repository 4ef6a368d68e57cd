#include "isobit/lab/inference_witness.h"

#include "isobit/base/text.h"

namespace isobit::lab {

Expected<std::unique_ptr<InferenceWitness>> InferenceWitness::open(const InferenceRequest& request,
                                                                   const platform::Platform& platform,
                                                                   runtime::Stage* stage) {
  std::unique_ptr<InferenceWitness> witness(new InferenceWitness(platform, stage));
  ISOBIT_TRY(ComputationReady ready, ComputationReady::prepare(request, witness->engine_));
  if (!ready.computation().schema) {
    return unreadable(
        text_of(request.model.string(),
                ": its values have no schema (shapes follow from data, a node has "
                "graphs within it, or an output is a constant), so that none of them can be shown alone"));
  }
  witness->ready_.emplace(std::move(ready));
  witness->tree_.emplace(witness->ready_->step().graph, witness->engine_.pool());
  return witness;
}

Expected<run::StepTracer> InferenceWitness::trace(std::set<uint64_t> wanted, run::StepTracer::Hash hash,
                                                  const See& see) {
  run::StepTracer tracer(ready_->step(), ready_->schema(), std::move(wanted), hash, see);
  tracer.take_inputs(ready_->ready().inputs(), engine_.pool());
  ISOBIT_RETURN_IF_ERROR(ready_->ready().run(&tracer, stage_));
  if (const auto missing = tracer.missing()) {
    return unavailable(text_of("the model made no value '", schema()[*missing].name, "' of its schema"));
  }
  return tracer;
}

Expected<std::vector<commit::TensorRoot>> InferenceWitness::roots(uint64_t) {
  ISOBIT_TRY(run::StepTracer tracer, trace({}, run::StepTracer::Hash::kAll));
  return tracer.take_roots();
}

Expected<std::map<uint64_t, Tensor>> InferenceWitness::values(uint64_t, const std::set<uint64_t>& entries) {
  ISOBIT_TRY(run::StepTracer tracer, trace(entries, run::StepTracer::Hash::kNothing));
  return tracer.take_values();
}

Status InferenceWitness::visit(uint64_t, const std::set<uint64_t>& entries, const See& see) {
  ISOBIT_RETURN_IF_ERROR(trace(entries, run::StepTracer::Hash::kNothing, see));
  return {};
}

dispute::ShownNode InferenceWitness::node(uint64_t index) {
  return dispute::show_node(ready_->step().graph, *tree_, index, {});
}

Expected<Tensor> InferenceWitness::given(const dispute::Operand& operand) {
  const graph::Graph& graph = ready_->step().graph;
  if (const graph::ValueId id = graph.find(operand.identity.name); id != graph::kNoValue) {
    if (const Tensor* constant = graph.initializer(id)) return *constant;
  }
  return unreadable(text_of("nothing is called '", operand.identity.name, "' among the model's constants"));
}

Expected<std::vector<dispute::StepPoint>> InferenceWitness::points(uint64_t, uint64_t) {
  return unavailable("an inference has no steps");
}
Expected<verify::ShownLeaves> InferenceWitness::batch(uint64_t) { return unavailable("an inference has no samples"); }
Expected<verify::ShownSample> InferenceWitness::sample(uint64_t, int64_t) {
  return unavailable("an inference has no samples");
}
Expected<verify::LogTree> InferenceWitness::log(uint64_t) { return unavailable("an inference has no rounding log"); }
Expected<std::optional<runtime::EntryPlace>> InferenceWitness::illegal_entry(uint64_t) {
  return unavailable("an inference has no rounding log");
}

}  // namespace isobit::lab
