#include "isobit/lab/explain/operator_call.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/onnx/import.h"

namespace isobit::lab::explain {

const Tensor* OperatorCall::fed(size_t i) const {
  if (i >= node().inputs.size() || node().inputs[i] == graph::kNoValue) return nullptr;
  if (const auto place = input_of(i)) return &inputs[*place];
  return graph.initializer(node().inputs[i]);
}

std::optional<size_t> OperatorCall::input_of(size_t i) const {
  const auto place = std::ranges::find(operand, i);
  if (place == operand.end()) return std::nullopt;
  return static_cast<size_t>(place - operand.begin());
}

std::vector<graph::ElementSource> OperatorCall::sources_of(int64_t element) const {
  const auto dims_of = [&](const std::vector<graph::ValueId>& values) {
    std::vector<std::vector<int64_t>> dims;
    for (const graph::ValueId id : values) {
      dims.push_back(id == graph::kNoValue ? std::vector<int64_t>() : graph.value(id).dims);
    }
    return dims;
  };
  graph::ElementQuery query{.node = node(), .inputs = dims_of(node().inputs), .outputs = dims_of(node().outputs)};
  query.operand = [this](int i) { return fed(static_cast<size_t>(i)); };
  query.element = element;
  return graph::op_of(node()).output(0).sources(query);
}

namespace {

// `fixed`: operands that are constants whatever their type.
Expected<OperatorCall> alone(const graph::Graph& graph, const graph::Node& node,
                             const std::map<graph::ValueId, Tensor>& values, const std::vector<int>& fixed) {
  OperatorCall call;
  std::vector<graph::ValueId> ids;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::ValueId id = node.inputs[i];
    if (id == graph::kNoValue) {
      ids.push_back(id);
      continue;
    }
    const auto found = values.find(id);
    const Tensor* tensor = found == values.end() ? graph.initializer(id) : &found->second;
    if (tensor == nullptr) return unreadable(text_of("'", graph.value(id).name, "' is not known"));
    if (FloatTypes{}.contains(tensor->dtype()) && std::ranges::count(fixed, static_cast<int>(i)) == 0) {
      ids.push_back(call.graph.add_input(graph.value(id).name, tensor->dtype(), tensor->shape().dims()));
      call.inputs.push_back(*tensor);
      call.operand.push_back(i);
    } else {
      ids.push_back(call.graph.add_initializer(graph.value(id).name, *tensor));
    }
  }
  std::vector<std::string> names;
  for (const graph::ValueId id : node.outputs) names.push_back(id == graph::kNoValue ? "" : graph.value(id).name);
  ISOBIT_TRY(const std::vector<graph::ValueId> made,
             call.graph.add_node(node.op, ids, node.attributes, names, node.name));
  for (const graph::ValueId id : made) {
    if (id != graph::kNoValue) call.graph.add_output(id);
  }
  return call;
}

}  // namespace

Expected<OperatorCall> operator_of(const graph::Graph& graph, const graph::Node& node,
                                   const std::map<graph::ValueId, Tensor>& values) {
  ISOBIT_TRY(OperatorCall call, alone(graph, node, values, {}));
  const std::vector<int> awaits = call.node().awaits;
  if (awaits.empty()) return call;
  return alone(graph, node, values, awaits);  // operands that say where or how many
}

Expected<OperatorCall> operator_of(const PartCall& part) {
  ISOBIT_TRY(const graph::Graph graph, graph_of(part));
  if (graph.nodes().size() != 1) {
    return unreadable(text_of("between the values that were recorded lie ", graph.nodes().size(), " operations"));
  }
  std::map<graph::ValueId, Tensor> values;
  for (const onnx::ValueDef& input : onnx::needed_inputs(*part.model)) {
    values.emplace(graph.inputs()[values.size()], part.feeds->at(input.name));
  }
  return operator_of(graph, graph.nodes().front(), values);
}

Expected<OperatorRun> OperatorRun::make(const OperatorCall& call, const platform::Context& context,
                                        backends::Backend& backend) {
  OperatorRun run(call);
  ISOBIT_TRY(run.program_, backend.compile(call.graph, context));
  return run;
}

Expected<std::vector<Tensor>> OperatorRun::operator()(const std::vector<Tensor>& inputs) {
  std::vector<backends::Program::Feed> feeds;
  for (size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(call_->graph.inputs()[i], inputs[i]);
  std::vector<Tensor> outputs(call_->graph.outputs().size());
  ISOBIT_RETURN_IF_ERROR(program_->run(feeds, outputs));
  return outputs;
}

}  // namespace isobit::lab::explain
