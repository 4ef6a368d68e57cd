#include "isobit/onnx/import.h"

#include <algorithm>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {

std::string place_of(const std::string& file, const NodeDef& node, int64_t opset) {
  const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
  return text_of(file, ": node '", tidy_name(node.label()), "' (", tidy_name(op), ", opset ", opset, "): ");
}

tl::expected<const Row*, std::string> row_of(const std::vector<OpsetDef>& opsets, const NodeDef& node) {
  const auto version = version_of(opsets, node.domain);
  if (!version) return tl::unexpected(text_of("the file imports no version of domain '", node.domain, "'"));
  const int64_t newest = node.domain.empty() ? kNewestOpset : node.domain == kMl ? kNewestMlOpset : INT64_MAX;
  if (*version <= newest) return find_row(node.domain, node.op, *version);
  return tl::unexpected(text_of("is of opset ", *version, "; this isobit reads up to ", newest));
}

Functions::Functions(const Model& model) {
  for (const FunctionDef& f : model.functions) {
    if (!by_name_.emplace(Key{f.domain, f.name, f.overload}, &f).second && twice_ == nullptr) twice_ = &f;
    declared_[&f].insert(f.attributes.begin(), f.attributes.end());
  }
}

const FunctionDef* Functions::find(const NodeDef& node) const {
  const auto found = by_name_.find({node.domain, node.op, node.overload});
  return found == by_name_.end() ? nullptr : found->second;
}

Importer::Importer(const Model& model, const ImportOptions& options)
    : model_(model), options_(options), functions_(model) {
  // A graph of more nodes than may be needs no names.
  if (std::cmp_greater(model.graph.nodes.size(), options.max_nodes)) return;
  for (const ValueDef& input : model.graph.inputs) names_.insert(input.name);
  for (const TensorDef& initializer : model.graph.initializers) names_.insert(initializer.name);
  for (const NodeDef& node : model.graph.nodes) names_.insert(node.outputs.begin(), node.outputs.end());
}

std::string Importer::free_name(const std::string& base) {
  if (!names_.contains(base)) return base;
  for (int& n = numbered_.emplace(base, 1).first->second;; ++n) {
    if (std::string name = text_of(base, ".", n); !names_.contains(name)) return name;
  }
}

Status Importer::check_opsets() const {
  if (model_.ir_version < 3 || model_.ir_version > kNewestIr) {
    return unreadable(text_of(file(), ": IR version ", model_.ir_version, "; this isobit reads 3 to ", kNewestIr));
  }
  if (const FunctionDef* f = functions_.twice()) {
    return unreadable(text_of(file(), ": two functions are called '", tidy_name(f->name), "'"));
  }
  const auto opset = model_.opset("");
  if (!opset) return {};  // the first node that needs it says so
  if (*opset < 1 || *opset > kNewestOpset) {
    return unreadable(text_of(file(), ": opset ", *opset, "; this isobit reads ", kOldestOpset, " to ", kNewestOpset,
                              ", and of older ones what still means the same"));
  }
  return {};
}

Expected<Importer::InputType> Importer::input_type(const ValueDef& input) const {
  const auto fail = [&](std::string_view reason) {
    return unreadable(text_of(file(), ": input '", input.name, "': ", reason));
  };
  if (input.type.kind != TypeDef::Kind::kTensor) {
    return fail(text_of("is of type '", input.type.text(), "', isobit has tensors only"));
  }
  const auto dtype = dtype_of_element(input.type.element);
  if (!dtype) return fail(text_of("is ", element_name(input.type.element), ", which isobit does not have"));
  InputType type{*dtype, {}};
  if (const auto given = options_.shapes.find(input.name); given != options_.shapes.end()) {
    type.dims = given->second;
  } else if (!input.type.has_shape) {
    type.dims = graph::kUnknownRank;
    return type;
  } else {
    for (const DimDef& dim : input.type.dims) {
      const auto extent = options_.extents.find(dim.name);
      const bool named = dim.extent < 0 && extent != options_.extents.end();
      type.dims.push_back(std::max<int64_t>(-1, named ? extent->second : dim.extent));
    }
  }
  if (const Status few = graph::check_axes(static_cast<int64_t>(type.dims.size())); !few) {
    return fail(few.error().message);
  }
  std::vector<int64_t> known = type.dims;
  std::erase_if(known, [](int64_t d) { return d == -1; });
  const auto counted = checked_elements(known, type.dtype, INT64_MAX);
  if (!counted) return fail(counted.error().message);
  return type;
}

Expected<Operand> Importer::add_input(Scope& scope, const ValueDef& input) {
  Frame& frame = scope.frame();
  ISOBIT_TRY(InputType type, input_type(input));
  const auto given = options_.types.find(input.name);
  if (given == options_.types.end() || given->second == type.dtype) {
    return frame.input(input.name, type.dtype, std::move(type.dims));
  }
  if (!is_real(given->second) || !is_real(type.dtype)) {
    return unreadable(text_of(file(), ": input '", input.name, "' is ", name_of(type.dtype), " and would be fed ",
                              name_of(given->second), "; only floats are converted"));
  }
  const graph::ValueId fed = frame.id_of(frame.input(input.name, given->second, std::move(type.dims)));
  const graph::ValueId converted =
      frame.graph().emit("Cast", {fed}, {{"to", static_cast<int64_t>(type.dtype)}},
                         free_name(frame.graph().value(fed).name + "/" + name_of(type.dtype)));
  return frame.value(converted);
}

Status Importer::add_inputs(Scope& scope) {
  std::unordered_set<std::string> constants;
  for (const TensorDef& t : model_.graph.initializers) constants.insert(t.name);
  for (const ValueDef& input : model_.graph.inputs) {
    // Initializers that are inputs, too, as IR version 3 wants: their values are those of the file.
    if (constants.contains(input.name)) continue;
    if (input.name.empty()) return unreadable(text_of(file(), ": an input has no name"));
    if (needed_ && !needed_->names.contains(input.name)) continue;
    ISOBIT_TRY(Operand operand, add_input(scope, input));
    if (!scope.define(input.name, std::move(operand))) {
      return unreadable(text_of(file(), ": '", input.name, "' is defined twice"));
    }
  }
  return {};
}

Status Importer::add_initializers(Scope& scope, const GraphDef& graph) {
  Frame& frame = scope.frame();
  for (const TensorDef& t : graph.initializers) {
    const std::string name = scope.shown(t.name);
    // Those of graphs within nodes that lift_weights has left there stay constants, also where the graph is inlined.
    const bool opens = options_.opens_parameters && &graph == &model_.graph && is_weight(t);
    std::string problem;
    if (t.dropped) {
      problem = "its data were dropped";
    } else if (!t.tensor.defined()) {
      problem = text_of("is ", element_name(t.element), ", which isobit does not have");
    } else if (options_.opens_parameters && has_nan(t)) {
      problem = "has a NaN, from which nothing can be learnt";
    }
    if (opens && tidy_name(t.name) != t.name) {
      return unreadable(text_of(file(), ": initializer '", tidy_name(t.name), "': a weight that is trained has a name ",
                                "of at most 1000 bytes, all of which can be seen; rename it"));
    }
    const Operand operand = opens             ? frame.opened(name, t)
                            : problem.empty() ? frame.constant(name, t.tensor, true)
                                              : frame.unusable(name, problem);
    if (t.name.empty() || !scope.define(t.name, operand)) {
      return unreadable(text_of(file(), ": initializer '", t.name, "' is defined twice, or has no name"));
    }
  }
  for (const std::string& name : graph.sparse_initializers) {
    if (!scope.define(name, frame.unusable(name, "is a sparse tensor, which isobit does not have"))) {
      return unreadable(text_of(file(), ": initializer '", name, "' is defined twice"));
    }
  }
  return {};
}

Status Importer::add_outputs(Scope& scope, const GraphDef& graph, const std::string& where) {
  Frame& frame = scope.frame();
  std::unordered_set<graph::ValueId> placed(frame.graph().inputs().begin(), frame.graph().inputs().end());
  for (const ValueDef& output : graph.outputs) {
    const auto fail = [&](std::string_view reason) {
      return unreadable(text_of(where, "output '", output.name, "': ", reason));
    };
    Operand operand = output.name.empty() ? nullptr : scope.find(output.name);
    if (operand == nullptr) return fail("nothing makes it");
    if (!operand->problem.empty()) return fail(operand->problem);
    const auto declared = dtype_of_element(output.type.element);
    if (output.type.kind == TypeDef::Kind::kTensor && output.type.element != 0 && declared != frame.dtype(operand)) {
      return fail(text_of("is ", name_of(frame.dtype(operand)), ", the file says ", element_name(output.type.element)));
    }
    // The name is the output's.
    const bool made_here = operand->is_constant() && !operand->is_parameter() && operand->id == graph::kNoValue;
    if (made_here && operand->name == output.name) operand->name = free_name(output.name + "/value");
    graph::ValueId id = frame.id_of(operand);
    // What has another name, or a place of its own as an input, a constant or another output, goes through a node.
    const bool renamed = frame.graph().value(id).name != tidy_name(output.name);
    if (operand->is_constant() || operand->opened || renamed || placed.contains(id)) {
      if (const Status counted = count_node(frame); !counted) return fail(counted.error().message);
      const auto added = frame.graph().add_node("Identity", {id}, {}, {tidy_name(output.name)});
      if (!added) return fail(added.error().message);
      id = (*added)[0];
    }
    placed.insert(id);
    frame.graph().add_output(id);
  }
  return {};
}

Status Importer::add_nodes(Scope& scope, const std::vector<NodeDef>& nodes) {
  scope.nodes = &nodes;
  for (const NodeDef& node : nodes) ISOBIT_RETURN_IF_ERROR(add_node(scope, node));
  return {};
}

Status Importer::add_node(Scope& scope, const NodeDef& node) {
  const auto opset = scope.opset(node.domain);
  Status counted = count_node(scope.frame());
  if (counted) counted = count_bytes(bytes_of(node) + 4 * scope.prefix.size() * node.outputs.size());
  if (!counted) return unreadable(text_of(place_of(file(), node, opset.value_or(0)), counted.error().message));
  ISOBIT_TRY(std::vector<AttributeDef> attributes, attributes_of(scope, node));
  const FunctionDef* function = functions_.find(node);
  const auto row = row_of(scope.opsets(), node);
  // ONNX's own operators are what ONNX says. Of other domains one program takes its operator, another the function.
  if (function != nullptr && row && !node.domain.empty()) {
    return unreadable(text_of(place_of(file(), node, *opset),
                              "the file has a function of this operator's name, so that ",
                              "it means two things; rename the function"));
  }
  if (function != nullptr && !row) return inline_function(scope, node, std::move(attributes), *function);
  if (!row) return unreadable(text_of(place_of(file(), node, opset.value_or(0)), row.error()));
  return convert(scope, node, std::move(attributes), *opset, **row);
}

Status Importer::convert(Scope& scope, const NodeDef& node, std::vector<AttributeDef> attributes, int64_t opset,
                         const Row& row) {
  Conversion c(*this, scope, node, std::move(attributes), opset, row);
  ISOBIT_RETURN_IF_ERROR(c.read_inputs());
  std::optional<DType> narrow_to;
  if (row.computes) {
    ISOBIT_TRY(narrow_to, c.widen());
  }
  ISOBIT_TRY(Operands outputs, row.convert(c));
  ISOBIT_RETURN_IF_ERROR(c.check_all_asked_for());
  if (narrow_to) {
    ISOBIT_TRY(outputs, c.narrow(std::move(outputs), *narrow_to));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i >= outputs.size() || outputs[i] == nullptr) return c.error(text_of("isobit does not make output ", i));
    if (!scope.define(node.outputs[i], outputs[i])) return c.error(text_of("'", node.outputs[i], "' is defined twice"));
  }
  return {};
}

// The graph's outputs are those that were asked for.
Expected<GraphDef> Importer::chosen_outputs() const {
  GraphDef chosen;
  if (options_.outputs.empty()) chosen.outputs = model_.graph.outputs;
  for (const std::string& name : options_.outputs) {
    const auto found = std::ranges::find(model_.graph.outputs, name, &ValueDef::name);
    if (found != model_.graph.outputs.end()) {
      chosen.outputs.push_back(*found);
      continue;
    }
    std::vector<std::string> names;
    for (const ValueDef& output : model_.graph.outputs) names.push_back(text_of("'", output.name, "'"));
    return unreadable(text_of(file(), ": the graph has no output '", name, "', expected ",
                              names.empty() ? std::string("one, and it has none") : join_or(names)));
  }
  return chosen;
}

Status Importer::add_needed_nodes(Scope& scope) {
  const std::vector<NodeDef>& nodes = model_.graph.nodes;
  if (!needed_) return add_nodes(scope, nodes);
  scope.nodes = &nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (needed_->nodes[i]) ISOBIT_RETURN_IF_ERROR(add_node(scope, nodes[i]));
  }
  return {};
}

Operand Importer::step() {
  if (step_ == nullptr) step_ = frame_.input(free_name("step"), DType::kInt64, {});
  return step_;
}

Operand Importer::running(const Operand& statistic) const {
  const auto found = statistic_places_.find(statistic.get());
  if (found == statistic_places_.end()) return statistic;
  const Operand& updated = statistics_[found->second].second;
  return updated == nullptr ? statistic : updated;
}

void Importer::note_statistic(const Operand& statistic, const Operand& updated) {
  const auto [place, is_new] = statistic_places_.emplace(statistic.get(), statistics_.size());
  if (is_new) {
    statistics_.emplace_back(statistic, updated);
  } else if (updated != nullptr) {
    statistics_[place->second].second = updated;
  }
}

void Importer::note_inference(const std::string& node, const std::string& reason) {
  if (noted_.insert(node).second) report_.inference.emplace_back(node, reason);
}

Imported Importer::finished() {
  Imported imported;
  if (step_ != nullptr) imported.step = frame_.id_of(step_);
  std::unordered_set<graph::ValueId> others;  // among the float initializers that nodes use
  for (const auto& [value, updated] : statistics_) {
    frame_.id_of(value);  // opens it, where no node has yet
    imported.statistics.push_back({value->fed, frame_.id_of(updated)});
    others.insert(imported.statistics.back().value);
  }
  for (const graph::ValueId id : frame_.parameters()) {
    const bool constant = options_.opens_parameters && frame_.graph().initializer(id) != nullptr;
    if (!constant && !others.contains(id)) imported.parameters.push_back(id);
  }
  imported.report = std::move(report_);
  imported.constants = frame_.constants();
  for (const std::string& name : imported.constants) inner_constants_.erase(name);
  imported.constants.insert(imported.constants.end(), inner_constants_.begin(), inner_constants_.end());
  imported.bytes = bytes_;
  imported.graph = std::move(frame_.graph());
  return imported;
}

Expected<Imported> Importer::run() {
  ISOBIT_RETURN_IF_ERROR(check_opsets());
  ISOBIT_TRY(const GraphDef chosen, chosen_outputs());
  if (!options_.outputs.empty()) needed_ = needed_for(model_.graph, options_.outputs);
  Scope scope(frame_, nullptr, model_.opsets);
  ISOBIT_RETURN_IF_ERROR(add_initializers(scope, model_.graph));
  ISOBIT_RETURN_IF_ERROR(add_inputs(scope));
  ISOBIT_RETURN_IF_ERROR(add_needed_nodes(scope));
  ISOBIT_RETURN_IF_ERROR(add_outputs(scope, chosen, text_of(file(), ": ")));
  if (model_.graph.outputs.empty()) return unreadable(text_of(file(), ": the graph has no outputs"));
  Imported imported = finished();
  // A parameter's name says which values it begins with.
  if (!frame_.renamed().empty()) {
    return unreadable(text_of(file(), ": initializer '", frame_.renamed(),
                              "': another value is called so by the time a ", "node uses it; rename it"));
  }
  return imported;
}

uint64_t max_import_bytes(uint64_t max_memory, uint64_t model_bytes) {
  return std::min(ImportOptions().max_bytes, (max_memory - std::min(max_memory, model_bytes)) / 4);
}

Expected<Imported> import_model(const Model& model, const ImportOptions& options) {
  return Importer(model, options).run();
}

}  // namespace isobit::onnx
