// What a node brings with it: functions of the file, whose nodes stand in its place, and graphs within it.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {

// With references to the caller's attributes put in; those that the caller does not have are absent.
Expected<std::vector<AttributeDef>> Importer::attributes_of(const Scope& scope, const NodeDef& node) const {
  std::vector<AttributeDef> attributes;
  for (const AttributeDef& a : node.attributes) {
    if (a.refers_to.empty()) {
      attributes.push_back(a);
      continue;
    }
    const std::string place = place_of(file(), node, scope.opset(node.domain).value_or(0));
    if (scope.attributes == nullptr) {
      return unreadable(text_of(place, "attribute '", a.name, "' refers to a caller's, and there is none"));
    }
    const auto found = scope.attributes->find(a.refers_to);
    if (found == scope.attributes->end()) continue;
    attributes.push_back({a.name, "", found->second.value});
  }
  return attributes;
}

Status Importer::inline_function(Scope& scope, const NodeDef& node, std::vector<AttributeDef> attributes,
                                 const FunctionDef& function) {
  const std::string place = place_of(file(), node, scope.opset(node.domain).value_or(0));
  const auto fail = [&](std::string_view reason) { return unreadable(text_of(place, reason)); };
  if (scope.depth >= options_.max_depth) {
    return fail(text_of("functions lie more than ", options_.max_depth, " deep in one another"));
  }
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return fail(
        text_of("the function has ", function.inputs.size(), " inputs and ", function.outputs.size(), " outputs"));
  }
  if (const Status counted = count_bytes(bytes_of(function.defaults) + 64 * function.inputs.size()); !counted) {
    return fail(counted.error().message);
  }
  AttributeValues values;
  for (const AttributeDef& a : function.defaults) values[a.name] = a;
  for (AttributeDef& a : attributes) {
    if (!values.contains(a.name) && !functions_.declares(function, a.name))
      return fail(text_of("attribute '", a.name, "' is none of the function's"));
    values[a.name] = std::move(a);
  }

  Scope body(scope.frame(), nullptr, function.opsets);
  body.attributes = &values;
  body.depth = scope.depth + 1;
  // Names of calls within calls do not grow without end.
  constexpr size_t kMostPrefix = 500;
  body.prefix = scope.shown(node.label()).substr(0, kMostPrefix) + "/";
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    if (i >= node.inputs.size() || node.inputs[i].empty()) continue;  // whoever asks for it finds nothing
    const Operand operand = scope.find(node.inputs[i]);
    if (operand == nullptr) return fail(text_of("input ", i, ": nothing before it makes '", node.inputs[i], "'"));
    if (!body.define(function.inputs[i], operand))
      return fail(text_of("input ", i, " of the function has no name of its own"));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) body.given[function.outputs[i]] = scope.shown(node.outputs[i]);
  }
  ISOBIT_RETURN_IF_ERROR(add_nodes(body, function.nodes));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const Operand operand = body.find(function.outputs[i]);
    if (operand == nullptr) return fail(text_of("the function does not make its output '", function.outputs[i], "'"));
    if (!scope.define(node.outputs[i], operand)) return fail(text_of("'", node.outputs[i], "' is defined twice"));
  }
  return {};
}

Expected<Importer::Subgraph> Importer::subgraph(Conversion& c, const GraphDef& graph,
                                                const std::vector<InputType>& inputs, const Operands& first_captured) {
  if (c.scope().depth >= options_.max_depth) {
    return c.error(text_of("graphs lie more than ", options_.max_depth, " deep in one another"));
  }
  if (const Status counted = count_bytes(bytes_of(graph)); !counted) return c.error(counted.error());
  Frame frame(&c.frame());
  Scope body(frame, &c.scope(), c.scope().opsets());
  body.attributes = c.scope().attributes;
  body.depth = c.scope().depth + 1;
  if (graph.inputs.size() != inputs.size()) {
    return c.error(
        text_of("its graph '", graph.name, "' has ", graph.inputs.size(), " inputs, expected ", inputs.size()));
  }
  ISOBIT_RETURN_IF_ERROR(add_initializers(body, graph));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = graph.inputs[i].name;
    if (name.empty() || !body.define_input(name, frame.input(name, inputs[i].dtype, inputs[i].dims))) {
      return c.error(text_of("input '", name, "' of its graph is defined twice, or has no name"));
    }
  }
  for (const Operand& operand : first_captured) frame.local(operand);
  ISOBIT_RETURN_IF_ERROR(add_nodes(body, graph.nodes));
  ISOBIT_RETURN_IF_ERROR(add_outputs(body, graph, c.place()));
  inner_constants_.insert(frame.constants().begin(), frame.constants().end());
  return Subgraph{std::make_shared<const graph::Graph>(std::move(frame.graph())), frame.captured()};
}

Expected<Operands> Importer::inlined(Conversion& c, const GraphDef& graph) {
  Scope body(c.frame(), &c.scope(), c.scope().opsets());
  body.attributes = c.scope().attributes;
  body.prefix = c.scope().prefix;
  body.depth = c.scope().depth + 1;
  if (body.depth > options_.max_depth) {
    return c.error(text_of("graphs lie more than ", options_.max_depth, " deep in one another"));
  }
  if (!graph.inputs.empty()) return c.error("its graph has inputs");
  if (const Status counted = count_bytes(bytes_of(graph)); !counted) return c.error(counted.error());
  for (int i = 0; i < c.output_count() && static_cast<size_t>(i) < graph.outputs.size(); ++i) {
    if (c.has_output(i)) body.given[graph.outputs[static_cast<size_t>(i)].name] = c.output_name(i);
  }
  ISOBIT_RETURN_IF_ERROR(add_initializers(body, graph));
  ISOBIT_RETURN_IF_ERROR(add_nodes(body, graph.nodes));
  Operands outputs;
  for (const ValueDef& output : graph.outputs) {
    Operand operand = output.name.empty() ? nullptr : body.find(output.name);
    if (operand == nullptr) return c.error(text_of("nothing in its graph makes output '", output.name, "'"));
    if (!operand->problem.empty()) return c.error(text_of("output '", output.name, "': ", operand->problem));
    outputs.push_back(std::move(operand));
  }
  return outputs;
}

}  // namespace isobit::onnx
