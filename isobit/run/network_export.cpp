#include "isobit/run/network_export.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/graph/passes/prune.h"
#include "isobit/onnx/open_batch.h"
#include "isobit/run/network.h"
#include "isobit/tensor/tensor.h"
#include "isobit/train/step_graph.h"

namespace isobit::run {
namespace {

constexpr const char* kBatch = "batch";

struct Logits {
  graph::Graph graph;
  std::vector<graph::ValueId> inputs;                              // of samples
  std::vector<std::string> state;                                  // names of inputs that the run has tensors for
  std::map<std::string, std::vector<std::string>> dim_names = {};  // onnx::ExportOptions::dim_names
};

Expected<Logits> logits_of(const Weights& weights, const data::DataShape& data, int64_t batch) {
  ISOBIT_TRY(const train::EvalGraph eval, train::build_eval_graph(weights.job, data, batch, *weights.network));
  ISOBIT_TRY(graph::Graph graph, graph::pruned(eval.graph, {eval.given}));
  Logits logits{std::move(graph), {}, {}};
  std::vector<graph::ValueId> fed = eval.inputs;
  if (eval.target != graph::kNoValue) fed.push_back(eval.target);  // which a network with a loss of its own reads
  for (const graph::ValueId input : fed) {
    const graph::ValueId found = logits.graph.find(eval.graph.value(input).name);
    if (found != graph::kNoValue) logits.inputs.push_back(found);  // else the logits do not follow from it
  }
  for (const auto& [name, value] : eval.state) logits.state.push_back(name);
  return logits;
}

Expected<Logits> logits_of_any_number(const Weights& weights, const data::DataShape& data) {
  ISOBIT_TRY(Logits logits, logits_of(weights, data, train::kProbeBatch));
  if (logits.inputs.empty()) return unreadable("the logits do not follow from the samples");
  ISOBIT_TRY(onnx::OpenBatch opened, onnx::open_batch(logits.graph, logits.inputs));
  logits.dim_names = opened.dim_names(kBatch);
  logits.graph = std::move(opened.graph);
  return logits;
}

std::string list_of(const std::vector<int64_t>& numbers) {
  std::string list;
  for (const int64_t n : numbers) list += text_of(list.empty() ? "" : ", ", n);
  return list;
}

// For as many samples as are asked for, and as the network can take; `network` says which.
Expected<Logits> chosen_logits(const Weights& weights, const data::DataShape& data, std::optional<int64_t> batch,
                               ExportedNetwork& network) {
  const int64_t only = weights.network->only_batch();
  network.has_only_batch = only > 0;
  if (batch && only > 0 && *batch != only) {
    return usage_error(text_of("--batch: found ", *batch, ", but the network's file is made for batches of ", only));
  }
  if (batch && only == 0 && !declares_network(weights.job)) {
    const auto bound = train::committed_batches(weights.job, data.test_count, *weights.network);
    if (std::ranges::find(bound, *batch) == bound.end()) {
      return usage_error(text_of("--batch: found ", *batch, ", but the run's job root says what its file means for ",
                                 "batches of ", list_of(bound), " alone; choose one of them, or leave --batch out"));
    }
  }
  if (!batch && only == 0) {
    auto any = logits_of_any_number(weights, data);
    if (any) return any;
    network.fixed_by = any.error().message;
  } else if (!batch) {
    network.fixed_by = text_of("its file is made for batches of ", only);
  }
  network.batch = batch.value_or(std::max<int64_t>(1, only));
  return logits_of(weights, data, network.batch);
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

Expected<ExportedNetwork> exported_network(const Weights& weights, const data::DataShape& data,
                                           const NetworkExportOptions& options) {
  onnx::ExportOptions written;
  written.opset = options.opset;
  written.producer_version = options.producer_version;
  if (weights.job.model.onnx.empty()) written.metadata.emplace_back("isobit.builder", weights.job.model.builder);
  written.metadata.emplace_back("isobit.step", text_of(weights.step));
  if (!weights.job.name.empty()) written.name = weights.job.name;
  ISOBIT_CHECK(weights.network != nullptr);
  ExportedNetwork network;
  ISOBIT_TRY(const Logits logits, chosen_logits(weights, data, options.batch, network));
  written.dim_names = logits.dim_names;
  ISOBIT_TRY(const std::vector<NamedTensor> values, values_of(logits, inference_tensors(weights.state)));
  ISOBIT_TRY(network.model, onnx::export_model(logits.graph, values, written));
  return network;
}

}  // namespace isobit::run
