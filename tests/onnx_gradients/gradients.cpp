#include "tests/onnx_gradients/gradients.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/passes/retype.h"
#include "isobit/onnx/import.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/specialise.h"

namespace isobit::gradients {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::ValueId;
using Tensors = std::map<std::string, Tensor>;

// An error says at which stage it came.
template <class T>
Expected<T> at_stage(const char* stage, Expected<T> result) {
  if (result) return result;
  return tl::unexpected<Error>({result.error().code, text_of(stage, ": ", result.error().message)});
}

Expected<Tensor> find_tensor(const Tensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return usage_error(text_of("tensor '", name, "' is missing"));
  return found->second;
}

// The graph for the shapes of the given inputs, and what of it is to be differentiated by default.
struct Network {
  Graph graph;
  std::vector<ValueId> parameters;
};

Expected<Network> read_network(const fs::path& file, const Tensors& tensors) {
  ISOBIT_TRY(const onnx::Model model, onnx::load_model(file));
  onnx::ImportOptions options;
  for (const onnx::ValueDef& input : model.graph.inputs) {
    const auto given = tensors.find("input/" + input.name);
    if (given != tensors.end()) options.shapes[input.name] = given->second.shape().dims();
  }
  ISOBIT_TRY(onnx::Imported imported, onnx::import_model(model, options));
  std::vector<Shape> shapes;
  for (const ValueId id : imported.graph.inputs()) {
    ISOBIT_TRY(const Tensor tensor, find_tensor(tensors, "input/" + imported.graph.value(id).name));
    shapes.push_back(tensor.shape());
  }
  ISOBIT_TRY(Graph graph, runtime::specialise(imported.graph, shapes));
  if (!runtime::is_static(graph)) return unreadable("shapes follow from data: there are no gradients of such a graph");
  return Network{std::move(graph), std::move(imported.parameters)};
}

// sum(output * cotangent); each cotangent becomes an input, so that it is as exact as it was given.
Expected<ValueId> append_loss(Graph& g, const Tensors& tensors) {
  ValueId loss = kNoValue;
  const std::vector<ValueId> outputs = g.outputs();
  for (const ValueId output : outputs) {
    const std::string name = "cotangent/" + g.value(output).name;
    const auto given = tensors.find(name);
    if (given == tensors.end()) continue;
    if (given->second.shape().dims() != g.value(output).dims) {
      return usage_error(text_of("'", name, "': found shape ", given->second.shape().text(), ", expected ",
                                 g.value(output).shape().text()));
    }
    const ValueId cotangent = g.add_input(name, g.value(output).dtype, g.value(output).dims);
    ISOBIT_TRY(const auto product, g.add_node("Mul", {output, cotangent}, {}, {"weighted"}));
    ISOBIT_TRY(const auto sum, g.add_node("ReduceSum", product, {{"keepdims", int64_t{0}}}, {"loss"}));
    if (loss == kNoValue) {
      loss = sum[0];
      continue;
    }
    ISOBIT_TRY(const auto both, g.add_node("Add", {loss, sum[0]}, {}, {"loss"}));
    loss = both[0];
  }
  if (loss == kNoValue) return usage_error("no output has a cotangent ('cotangent/NAME')");
  return loss;
}

Expected<std::vector<ValueId>> targets_of(const Request& request, const Network& network) {
  if (request.with_respect_to.empty()) return network.parameters;
  std::vector<ValueId> targets;
  for (const std::string& name : request.with_respect_to) {
    const ValueId id = network.graph.find(name);
    if (id == kNoValue) return usage_error(text_of("the file has no value '", name, "' that a node uses"));
    targets.push_back(id);
  }
  return targets;
}

Expected<std::vector<Tensor>> run(const Graph& g, const Tensors& tensors, platform::Engine& engine) {
  runtime::Executor::Feeds feeds;
  for (const ValueId id : g.inputs()) {
    const std::string& name = g.value(id).name;
    ISOBIT_TRY(Tensor tensor, find_tensor(tensors, name.starts_with("cotangent/") ? name : "input/" + name));
    feeds.emplace_back(id, std::move(tensor));
  }
  ISOBIT_TRY(const platform::Context context, engine.context_for(platform::arithmetic_of("float64")));
  runtime::Executor executor(g);
  ISOBIT_RETURN_IF_ERROR(executor.status());
  ISOBIT_TRY(std::vector<Tensor> results, executor.run(context.kernels(), std::move(feeds)));
  // Outputs may share storage with what the executor keeps.
  for (Tensor& t : results) t = t.clone();
  return results;
}

}  // namespace

Expected<formats::Safetensors> compute(const Request& request, platform::Engine& engine) {
  Tensors tensors;
  for (const NamedTensor& t : request.tensors) tensors[t.name] = t.tensor;
  ISOBIT_TRY(Network network, at_stage("import", read_network(request.model, tensors)));
  ISOBIT_TRY(const std::vector<ValueId> targets, targets_of(request, network));
  Graph& g = network.graph;
  std::vector<std::string> names;
  for (const ValueId id : g.outputs()) names.push_back("output/" + g.value(id).name);
  ISOBIT_TRY(const ValueId loss, at_stage("loss", append_loss(g, tensors)));
  ISOBIT_TRY(const auto grads, at_stage("gradients", graph::append_gradients(g, loss, targets)));
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i] == kNoValue) continue;
    g.add_output(grads[i]);
    names.push_back("grad/" + g.value(targets[i]).name);
  }
  ISOBIT_TRY(const Graph wide, at_stage("float64", graph::retype(g, graph::kInFloat64)));
  ISOBIT_TRY(std::vector<Tensor> results, at_stage("run", run(wide, tensors, engine)));
  formats::Safetensors out;
  for (size_t i = 0; i < results.size(); ++i) out.tensors.push_back({names[i], std::move(results[i])});
  return out;
}

}  // namespace isobit::gradients
