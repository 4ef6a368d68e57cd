// If, Loop and Scan: their graphs are imported as graphs of their own, and what these use of the graph around them
// becomes further operands (isobit/graph/ops/control.cpp has the form).
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

using Types = std::vector<Importer::InputType>;

Expected<const GraphDef*> graph_of(const Conversion& c, const char* name) {
  const AttributeDef* a = c.attribute(name);
  const auto* graph = a == nullptr ? nullptr : std::get_if<std::shared_ptr<const GraphDef>>(&a->value);
  if (graph == nullptr) return c.error(text_of("attribute '", name, "' is missing or no graph"));
  return graph->get();
}

// Nothing but the type is taken for certain of a value that changes from trip to trip.
Importer::InputType changing(const Conversion& c, const Operand& operand) {
  return {c.dtype(operand), graph::kUnknownRank};
}

Expected<Operands> convert_if(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(const GraphDef* then_def, graph_of(c, "then_branch"));
  ISOBIT_TRY(const GraphDef* else_def, graph_of(c, "else_branch"));
  // What is known is no choice.
  if (const Operand condition = c.in(0); condition->is_constant()) {
    const Tensor& t = condition->constant;
    if (t.dtype() != DType::kBool || t.elements() != 1) return c.error("the condition is not one bool");
    return c.importer().inlined(c, *static_cast<const uint8_t*>(t.raw()) != 0 ? *then_def : *else_def);
  }
  // Both branches take what either uses, in one order: what the first one uses, then what only the second does.
  Operands captured;
  ISOBIT_TRY(Importer::Subgraph then_graph, c.importer().subgraph(c, *then_def, {}, captured));
  ISOBIT_TRY(Importer::Subgraph else_graph, c.importer().subgraph(c, *else_def, {}, then_graph.captured));
  if (else_graph.captured.size() > then_graph.captured.size()) {
    ISOBIT_TRY(then_graph, c.importer().subgraph(c, *then_def, {}, else_graph.captured));
  }
  Operands inputs = {c.in(0)};
  inputs.insert(inputs.end(), else_graph.captured.begin(), else_graph.captured.end());
  return c.last("If", std::move(inputs), {{"then_branch", then_graph.graph}, {"else_branch", else_graph.graph}});
}

Expected<Operands> convert_loop(Conversion& c) {
  ISOBIT_TRY(const GraphDef* def, graph_of(c, "body"));
  if (def->inputs.size() < 2) return c.error("its body has no iteration number and condition as inputs");
  const auto one = [](const ValueDef& v) {
    return v.type.has_shape && v.type.dims.size() == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{};
  };
  Types types = {{DType::kInt64, one(def->inputs[0])}, {DType::kBool, one(def->inputs[1])}};
  Operands inputs = {c.in(0), c.in(1)};
  for (int i = 2; i < c.input_count(); ++i) {
    ISOBIT_RETURN_IF_ERROR(c.expect(i));
    types.push_back(changing(c, c.in(i)));
    inputs.push_back(c.in(i));
  }
  ISOBIT_TRY(const Importer::Subgraph body, c.importer().subgraph(c, *def, types, {}));
  const auto carried = static_cast<int64_t>(inputs.size()) - 2;
  inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());
  return c.last("Loop", std::move(inputs), {{"body", body.graph}, {"carried", carried}});
}

Expected<Operands> convert_scan(Conversion& c) {
  ISOBIT_TRY(const GraphDef* def, graph_of(c, "body"));
  ISOBIT_TRY(const int64_t sequences, c.integer("num_scan_inputs", 0));
  if (sequences < 1 || sequences > c.input_count()) return c.error(text_of("'num_scan_inputs' is ", sequences));
  const int64_t states = c.input_count() - sequences;
  ISOBIT_TRY(auto axes, c.integer_list("scan_input_axes"));
  if (axes.empty()) axes.assign(static_cast<size_t>(sequences), 0);
  Types types;
  Operands inputs;
  for (int i = 0; i < c.input_count(); ++i) {
    ISOBIT_RETURN_IF_ERROR(c.expect(i));
    inputs.push_back(c.in(i));
    types.push_back(changing(c, c.in(i)));
    const size_t s = static_cast<size_t>(i - states);
    if (i < states || !c.has_rank(c.in(i)) || s >= axes.size()) continue;
    std::vector<int64_t> dims = c.dims(c.in(i));
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t axis = axes[s] < 0 ? axes[s] + rank : axes[s];
    if (axis < 0 || axis >= rank) return c.error(text_of("axis ", axes[s], " is outside a tensor of rank ", rank));
    dims.erase(dims.begin() + axis);
    types.back().dims = std::move(dims);
  }
  ISOBIT_TRY(const Importer::Subgraph body, c.importer().subgraph(c, *def, types, {}));
  graph::Attributes attributes = {{"body", body.graph}, {"carried", states}, {"num_scan_inputs", sequences}};
  for (const char* name : {"scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"}) {
    ISOBIT_TRY(auto numbers, c.integer_list(name));
    if (!numbers.empty()) attributes.set(name, std::move(numbers));
  }
  inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());
  return c.last("Scan", std::move(inputs), std::move(attributes));
}

}  // namespace

// Their graphs compute; what is handed in and out is moved.
void add_control_rows(Table& table) {
  table.own("If", convert_if).to("If").moves();
  table.own("Loop", convert_loop).to("Loop").moves();
  table.own("Scan", convert_scan).to("Scan").since(9).moves();
}

}  // namespace isobit::onnx
