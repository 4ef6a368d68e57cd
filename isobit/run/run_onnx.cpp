#include "isobit/run/run_onnx.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/passes/prune.h"
#include "isobit/onnx/open_batch.h"
#include "isobit/tensor/tensor.h"
#include "isobit/train/step_graph.h"

namespace isobit::run {
namespace {

// Seldom a factor of an extent that is none of samples.
constexpr int64_t kProbe = 7;
constexpr const char* kBatch = "batch";

struct Logits {
  graph::Graph graph;
  std::vector<graph::ValueId> inputs;  // of samples
  std::vector<std::string> state;      // names of inputs that the run has tensors for
};

Expected<Logits> logits_of(const train::Job& job, const data::DataShape& data, int64_t batch) {
  ISOBIT_TRY(const train::EvalGraph eval, train::build_eval_graph(job, data, batch));
  constexpr size_t kLogits = 1;  // among its outputs
  ISOBIT_TRY(graph::Graph graph, graph::pruned(eval.graph, {eval.graph.outputs()[kLogits]}));
  Logits logits{std::move(graph), {}, {}};
  for (const graph::ValueId input : eval.inputs) {
    const graph::ValueId found = logits.graph.find(eval.graph.value(input).name);
    if (found != graph::kNoValue) logits.inputs.push_back(found);  // else the logits do not follow from it
  }
  for (const auto& [name, value] : eval.state) logits.state.push_back(name);
  return logits;
}

Expected<onnx::OpenBatch> any_number_of(const Logits& logits) {
  if (logits.inputs.empty()) return unreadable("the logits do not follow from the samples");
  return onnx::open_batch(logits.graph, logits.inputs);
}

// Those of the tensors that the network has as inputs.
Expected<std::vector<NamedTensor>> values_of(const Logits& logits, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> values;
  for (const std::string& name : logits.state) {
    if (logits.graph.find(name) == graph::kNoValue) continue;  // the logits do not follow from it
    const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
    if (found == tensors.end()) return unreadable(text_of("checkpoint: tensor '", name, "' is missing"));
    values.push_back(*found);
  }
  return values;
}

}  // namespace

Expected<Network> onnx_network(const Weights& weights, const data::DataShape& data, const NetworkOptions& options) {
  onnx::ExportOptions written;
  written.opset = options.opset;
  written.producer_version = options.producer_version;
  written.metadata = {{"isobit.builder", weights.job.model.builder}, {"isobit.step", text_of(weights.step)}};
  if (!weights.job.name.empty()) written.name = weights.job.name;
  Network network;
  ISOBIT_TRY(Logits logits, logits_of(weights.job, data, options.batch.value_or(kProbe)));
  network.batch = options.batch.value_or(0);
  if (!options.batch) {
    auto opened = any_number_of(logits);
    if (opened) {
      written.dim_names = opened->dim_names(kBatch);
      logits.graph = std::move(opened->graph);
    } else {
      network.fixed_by = opened.error().message;
      network.batch = 1;
      ISOBIT_TRY(logits, logits_of(weights.job, data, 1));
    }
  }
  ISOBIT_TRY(const std::vector<NamedTensor> values, values_of(logits, inference_tensors(weights.state)));
  ISOBIT_TRY(network.model, onnx::export_model(logits.graph, values, written));
  return network;
}

}  // namespace isobit::run
