#include "isobit/onnx/export.h"

#include <algorithm>
#include <array>

#include "isobit/base/text.h"
#include "isobit/graph/passes/prune.h"
#include "isobit/onnx/contraction_internal.h"
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

using graph::kNoValue;
using graph::ValueId;

size_t place(ValueId id) { return static_cast<size_t>(id); }

bool is_needed(const ExportScope& scope, const graph::Node& node) {
  return std::ranges::any_of(node.outputs, [&](ValueId o) { return o != kNoValue && scope.needed[place(o)]; });
}

// The version of the format that came with an opset.
int64_t ir_of(int64_t opset) {
  constexpr std::array<int64_t, 9> kIr = {8, 8, 9, 9, 10, 10, 11, 12, 13};
  static_assert(kIr.size() == kNewestOpset - kOldestWrittenOpset + 1);
  return kIr[static_cast<size_t>(opset - kOldestWrittenOpset)];
}

}  // namespace

ExportScope::ExportScope(const graph::Graph& g, GraphDef& d)
    : graph(g), def(d), needed(graph::needed_values(g, g.outputs())), readers(needed.size(), 0), names(needed.size()) {
  for (const graph::Node& node : g.nodes()) {
    if (!is_needed(*this, node)) continue;
    for (const ValueId i : node.inputs) {
      if (i != kNoValue) ++readers[place(i)];
    }
  }
  for (const ValueId o : g.outputs()) ++readers[place(o)];
}

namespace {

std::string taken(std::set<std::string>& names, const std::string& wanted) {
  std::string name = wanted;
  for (int n = 1; !names.insert(name).second; ++n) name = text_of(wanted, ".", n);
  return name;
}

}  // namespace

std::string Exporter::take_name(const std::string& base) { return taken(names_, base.empty() ? "value" : base); }

std::string Exporter::take_node_name(const std::string& base) {
  return taken(node_names_, base.empty() ? "node" : base);
}

void Exporter::needs(int64_t opset, const graph::Node& node) {
  if (opset <= needed_) return;
  needed_ = opset;
  needed_by_ = text_of("node '", node.name, "' (", node.op, ")");
}

bool Exporter::needs_ml(int64_t opset) {
  if (ml_ != 0 && ml_ != opset) return false;
  ml_ = opset;
  return true;
}

const Tensor* Exporter::value_of(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Status Exporter::take_values() {
  std::set<std::string> inputs;
  for (const ValueId id : graph_.inputs()) inputs.insert(graph_.value(id).name);
  for (const NamedTensor& v : values_) {
    const auto fail = [&](std::string_view reason) { return unreadable(text_of("tensor '", v.name, "': ", reason)); };
    if (!inputs.contains(v.name)) return fail("the network has no such input");
    if (!by_name_.emplace(v.name, &v.tensor).second) return fail("is given twice");
    const graph::Value& value = graph_.value(graph_.find(v.name));
    const auto& dims = v.tensor.shape().dims();
    const bool fits = v.tensor.dtype() == value.dtype && value.has_rank() && dims.size() == value.dims.size() &&
                      std::ranges::equal(dims, value.dims, [](int64_t d, int64_t w) { return w < 0 || d == w; });
    if (fits) continue;
    return fail(text_of("is ", name_of(v.tensor.dtype()), " ", v.tensor.shape().text(), ", expected ",
                        name_of(value.dtype), value.has_rank() ? " " + Shape(value.dims).text() : std::string()));
  }
  return {};
}

ValueDef Exporter::described(const ExportScope& scope, ValueId id, const std::string& name) const {
  const graph::Value& value = scope.graph.value(id);
  ValueDef def{name, {}};
  def.type.kind = TypeDef::Kind::kTensor;
  def.type.element = element_of_dtype(value.dtype);
  def.type.has_shape = value.has_rank();
  if (!value.has_rank()) return def;
  const auto found = &scope.graph == &graph_ ? options_.dim_names.find(value.name) : options_.dim_names.end();
  for (size_t d = 0; d < value.dims.size(); ++d) {
    const bool is_named = value.dims[d] < 0 && found != options_.dim_names.end() && d < found->second.size();
    def.type.dims.push_back({value.dims[d], is_named ? found->second[d] : std::string()});
  }
  return def;
}

void Exporter::name_values(ExportScope& scope) {
  for (ValueId id = 0; id < scope.graph.value_count(); ++id) {
    if (scope.names[place(id)].empty()) scope.names[place(id)] = take_name(scope.graph.value(id).name);
  }
}

void Exporter::add_input(ExportScope& scope, ValueId id) {
  scope.def.inputs.push_back(described(scope, id, scope.names[place(id)]));
}

void Exporter::add_constant(ExportScope& scope, ValueId id, const Tensor& tensor) {
  scope.def.initializers.push_back(
      {scope.names[place(id)], element_of_dtype(tensor.dtype()), tensor.shape().dims(), tensor});
}

// Inputs and constants of the whole graph, both in the order of values.
void Exporter::add_ends(ExportScope& scope) {
  for (const ValueId id : graph_.inputs()) {
    if (!scope.needed[place(id)]) continue;
    if (const Tensor* value = value_of(graph_.value(id).name)) {
      add_constant(scope, id, *value);
    } else {
      add_input(scope, id);
    }
  }
  for (const graph::Initializer& constant : graph_.initializers()) {
    if (scope.needed[place(constant.value)]) add_constant(scope, constant.value, constant.tensor);
  }
}

Expected<std::shared_ptr<const GraphDef>> Exporter::inner(const Writing& w, const char* attribute, size_t own,
                                                          size_t captured) {
  const auto& found = w.attributes().items().at(attribute);
  const graph::Graph& graph = *std::get<std::shared_ptr<const graph::Graph>>(found);
  auto def = std::make_shared<GraphDef>();
  def->name = text_of(w.node().name, "/", attribute);
  ExportScope scope(graph, *def);
  for (size_t i = own; i < graph.inputs().size(); ++i) {
    scope.names[place(graph.inputs()[i])] = w.name_in(static_cast<int>(captured + i - own));
  }
  name_values(scope);
  for (size_t i = 0; i < own; ++i) add_input(scope, graph.inputs()[i]);
  for (const graph::Initializer& constant : graph.initializers()) {
    if (scope.needed[place(constant.value)]) add_constant(scope, constant.value, constant.tensor);
  }
  ISOBIT_RETURN_IF_ERROR(add_nodes(scope));
  add_outputs(scope);
  return std::shared_ptr<const GraphDef>(std::move(def));
}

Status Exporter::add_nodes(ExportScope& scope) {
  const std::vector<Contraction> contractions = contractions_of(scope.graph, scope.readers);
  std::vector<const Contraction*> part_of(scope.graph.nodes().size(), nullptr);
  for (const Contraction& c : contractions) {
    for (const size_t n : c.nodes) part_of[n] = &c;
  }
  for (size_t n = 0; n < part_of.size(); ++n) {
    const graph::Node& node = scope.graph.nodes()[n];
    if (!is_needed(scope, node)) continue;
    if (part_of[n] == nullptr) {
      ISOBIT_RETURN_IF_ERROR(add_node(scope, node));
    } else if (part_of[n]->nodes.back() == n) {
      add_contraction(scope, *part_of[n]);
    }
  }
  return {};
}

Status Exporter::add_node(ExportScope& scope, const graph::Node& node) {
  const Writer* writer = find_writer(node.op);
  ISOBIT_CHECK(writer != nullptr);
  Writing w(*this, scope, node, *writer);
  if (!writer->refusal.empty()) return w.error(writer->refusal);
  for (const Writer::TypesWithout& without : writer->no_types) {
    if (!w.has(without.input)) continue;
    const DType dtype = w.in(without.input).dtype;
    if (std::ranges::find(without.dtypes, dtype) != without.dtypes.end()) {
      return w.error(text_of("ONNX does not have it for ", name_of(dtype), " ('", w.in(without.input).name, "')"));
    }
  }
  w.needs(writer->since);
  for (const Writer::Newer& newer : writer->newer) {
    const auto found = node.attributes.items().find(newer.attribute);
    if (found == node.attributes.items().end()) continue;
    const auto* text = std::get_if<std::string>(&found->second);
    if (!newer.text || (text != nullptr && *text == *newer.text)) w.needs(newer.since);
  }
  return writer->write(w);
}

void Exporter::add_contraction(ExportScope& scope, const Contraction& contraction) {
  const graph::Node& last = scope.graph.nodes()[contraction.nodes.back()];
  needs(contraction.since, last);
  NodeDef def{take_node_name(last.name), contraction.op, "", "", {}, {scope.names[place(last.outputs[0])]}, {}};
  for (const ValueId i : contraction.inputs) def.inputs.push_back(i == kNoValue ? "" : scope.names[place(i)]);
  for (const auto& [name, value] : contraction.attributes.items()) {
    if (const auto* i = std::get_if<int64_t>(&value)) def.attributes.push_back(attribute(name, *i));
    if (const auto* is = std::get_if<std::vector<int64_t>>(&value)) def.attributes.push_back(attribute(name, *is));
  }
  ISOBIT_CHECK(def.attributes.size() == contraction.attributes.items().size());
  scope.def.nodes.push_back(std::move(def));
}

// Each output is made by a node, and by one of its own.
void Exporter::add_outputs(ExportScope& scope) {
  std::vector<bool> is_taken(scope.names.size(), true);
  for (const graph::Node& node : scope.graph.nodes()) {
    for (const ValueId o : node.outputs) {
      if (o != kNoValue) is_taken[place(o)] = false;
    }
  }
  for (const ValueId o : scope.graph.outputs()) {
    std::string name = scope.names[place(o)];
    if (is_taken[place(o)]) {
      const std::string copy = take_name(name + "/output");
      scope.def.nodes.push_back({take_node_name(copy), "Identity", "", "", {name}, {copy}, {}});
      name = copy;
    }
    is_taken[place(o)] = true;
    scope.def.outputs.push_back(described(scope, o, name));
  }
}

Status Exporter::set_opsets(Model& model) const {
  const int64_t asked = options_.opset;
  if (asked != 0 && asked < needed_) {
    return usage_error(text_of(needed_by_, ": ONNX has what is written of it from opset ", needed_, " on; opset ",
                               asked, " is asked for"));
  }
  const int64_t opset = asked == 0 ? needed_ : asked;
  model.opsets = {{"", opset}};
  if (ml_ != 0) model.opsets.push_back({kMl, ml_});
  model.ir_version = ir_of(opset);
  return {};
}

Expected<Model> Exporter::run() {
  if (options_.opset != 0 && (options_.opset < kOldestWrittenOpset || options_.opset > kNewestOpset)) {
    return usage_error(text_of("opset ", options_.opset, ": expected ", kOldestWrittenOpset, " to ", kNewestOpset));
  }
  if (graph_.outputs().empty()) return unreadable("the network has no outputs");
  ISOBIT_RETURN_IF_ERROR(take_values());
  Model model;
  model.file = options_.name;
  model.producer = options_.producer;
  model.producer_version = options_.producer_version;
  model.metadata = options_.metadata;
  model.graph.name = options_.name;
  ExportScope scope(graph_, model.graph);
  name_values(scope);
  add_ends(scope);
  ISOBIT_RETURN_IF_ERROR(add_nodes(scope));
  add_outputs(scope);
  ISOBIT_RETURN_IF_ERROR(set_opsets(model));
  return model;
}

Expected<Model> export_model(const graph::Graph& graph, std::span<const NamedTensor> values,
                             const ExportOptions& options) {
  return Exporter(graph, values, options).run();
}

}  // namespace isobit::onnx
