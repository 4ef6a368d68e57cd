#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/elementwise/truncated.h"
#include "isobit/numerics/half.h"
#include "isobit/onnx/conversion_internal.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

// Why a name has no value where a node asks for it.
std::string missing(const Scope& scope, const std::string& name) {
  for (const NodeDef& node : *scope.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end()) {
      return text_of("'", name, "' is made by a node that does not come before it (node '", node.name,
                     "'): nodes are out of order, or form a cycle");
    }
  }
  return text_of("'", name, "' is no input, no initializer and no output of a node");
}

// Why the graph refuses a node, without its name for it: the file's says more.
std::string reason_of(const Error& error, const std::string& name, const std::string& op) {
  const std::string own = text_of("node '", name, "' (", op, "): ");
  return error.message.starts_with(own) ? error.message.substr(own.size()) : error.message;
}

int64_t number_of(DType type) { return static_cast<int64_t>(type); }

}  // namespace

std::string Conversion::place() const { return place_of(importer_.file(), node_, opset_); }

tl::unexpected<Error> Conversion::error(std::string_view reason) const { return unreadable(text_of(place(), reason)); }

tl::unexpected<Error> Conversion::error(const Error& inner) const {
  return tl::unexpected<Error>({inner.code, text_of(place(), inner.message)});
}

Status Conversion::read_inputs() {
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    const std::string& name = node_.inputs[i];
    Operand operand;
    if (!name.empty()) {
      operand = scope_.find(name);
      if (operand == nullptr) return error(text_of("input ", i, ": ", missing(scope_, name)));
      const bool taken = operand->is_sequence && row_.takes_sequences;
      if (!operand->problem.empty() && !taken)
        return error(text_of("input ", i, " ('", name, "'): ", operand->problem));
    }
    inputs_.push_back(std::move(operand));
  }
  return {};
}

Status Conversion::expect(int i) const {
  if (has(i)) return {};
  return error(text_of("input ", i, " is missing"));
}

bool Conversion::is_static(const Operand& operand) const {
  return std::all_of(dims(operand).begin(), dims(operand).end(), [](int64_t d) { return d >= 0; });
}

std::optional<std::vector<int64_t>> Conversion::integers(const Operand& operand) const {
  if (operand == nullptr || !operand->is_constant() || operand->constant.shape().rank() > 1) return std::nullopt;
  const Tensor& t = operand->constant;
  if (t.dtype() == DType::kInt64) return std::vector<int64_t>(t.span<int64_t>().begin(), t.span<int64_t>().end());
  if (t.dtype() == DType::kInt32) return std::vector<int64_t>(t.span<int32_t>().begin(), t.span<int32_t>().end());
  return std::nullopt;
}

std::optional<std::vector<double>> Conversion::reals(const Operand& operand) const {
  // What says where or how large is what the file says, whether its number is opened or not.
  const Operand first = operand == nullptr ? nullptr : origin_of(operand);
  if (first == nullptr || !first->constant.defined() || first->constant.shape().rank() > 1) return std::nullopt;
  const Tensor& t = first->constant;
  std::vector<double> values;
  const auto take = [&]<class T>(T) {
    for (const T x : t.span<T>()) {
      if constexpr (std::is_floating_point_v<T>) {
        values.push_back(static_cast<double>(x));
      } else {
        values.push_back(static_cast<double>(numerics::widened(x)));
      }
    }
  };
  if (!by_type(RealTypes{}, t.dtype(), take)) return std::nullopt;
  return values;
}

std::vector<std::string> Conversion::output_names() const {
  std::vector<std::string> names;
  for (int i = 0; i < output_count(); ++i) names.push_back(output_name(i));
  return names;
}

std::string Conversion::output_name(int i) const {
  if (!has_output(i)) return "";
  const auto& own = row_.own_types;
  const std::string& own_name = node_.outputs[static_cast<size_t>(i)];
  // A name of the file, as it is or as a caller gave it, stays; one of a function's body gives way.
  const std::string shown = scope_.shown(own_name);
  const bool stays = shown == own_name || scope_.given.contains(own_name);
  const std::string name = tidy_name(stays ? shown : importer_.free_name(shown));
  if (!narrows_ || std::find(own.begin(), own.end(), i) != own.end()) return name;
  return importer_.free_name(name + "/float32");
}

std::string Conversion::base_name() const {
  for (const std::string& output : node_.outputs) {
    if (!output.empty()) return tidy_name(scope_.shown(output));
  }
  return tidy_name(node_.name.empty() ? node_.op : node_.name);
}

std::string Conversion::inner_name(std::string_view what) const {
  return importer_.free_name(text_of(base_name(), "/", what));
}

// Of the nodes from `first` on, the one that makes the node's first output has its name.
void Conversion::name_last(const std::vector<graph::ValueId>& values, size_t first) const {
  if (node_.name.empty() || values.empty() || values[0] == graph::kNoValue) return;
  graph::Graph& graph = frame().graph();
  for (size_t n = first; n < graph.nodes().size(); ++n) {
    const auto& made = graph.nodes()[n].outputs;
    if (std::find(made.begin(), made.end(), values[0]) != made.end())
      graph.name_node(n, tidy_name(scope_.shown(node_.name)));
  }
}

Expected<Operands> Conversion::expand(const Append& append) {
  const graph::Graph& graph = frame().graph();
  const size_t nodes = graph.nodes().size(), constants = graph.initializers().size();
  const auto values = append(frame().graph());
  Status counted = importer_.count_added(graph, nodes, constants);
  for (size_t n = nodes; counted && n < graph.nodes().size(); ++n) counted = importer_.count_node(frame());
  if (!counted) return error(counted.error());
  if (!values) return error(reason_of(values.error(), base_name(), node_.op));
  name_last(*values, nodes);
  Operands outputs;
  for (const graph::ValueId value : *values) {
    outputs.push_back(value == graph::kNoValue ? nullptr : frame().value(value));
  }
  return outputs;
}

Expected<Operands> Conversion::emit_all(const std::string& op, Operands inputs, graph::Attributes attributes,
                                        std::vector<std::string> names) {
  if (const Status counted = importer_.count_node(frame()); !counted) return error(counted.error());
  const bool known = std::all_of(inputs.begin(), inputs.end(), [](const Operand& operand) {
    return operand == nullptr || (operand->is_constant() && !operand->is_parameter());
  });
  if (known && !inputs.empty()) {
    std::vector<Tensor> tensors;
    for (const Operand& operand : inputs) tensors.push_back(operand == nullptr ? Tensor() : operand->constant);
    if (auto computed = importer_.folder().compute(op, tensors, attributes, names)) {
      Operands outputs;
      for (size_t i = 0; i < computed->size(); ++i) {
        outputs.push_back((*computed)[i].defined() ? frame().constant(names[i], std::move((*computed)[i])) : nullptr);
      }
      return outputs;
    }
  }
  std::vector<graph::ValueId> ids;
  for (const Operand& operand : inputs) ids.push_back(frame().id_of(operand));
  const bool is_last = has_output(0) && !names.empty() && names[0] == output_name(0);
  const std::string name = is_last && !node_.name.empty() ? tidy_name(scope_.shown(node_.name)) : "";
  const graph::Graph& graph = frame().graph();
  const size_t nodes = graph.nodes().size(), constants = graph.initializers().size();
  auto added = frame().graph().add_node(op, ids, std::move(attributes), names, name);
  if (!added) {
    const std::string reason = reason_of(added.error(), !name.empty() ? name : names.empty() ? op : names[0], op);
    return error(op == node_.op ? reason : text_of("as ", op, ": ", reason));
  }
  if (const Status counted = importer_.count_added(graph, nodes, constants); !counted) return error(counted.error());
  Operands outputs;
  for (const graph::ValueId id : *added) outputs.push_back(id == graph::kNoValue ? nullptr : frame().value(id));
  return outputs;
}

Expected<Operand> Conversion::emit(const std::string& op, Operands inputs, graph::Attributes attributes,
                                   std::string name) {
  ISOBIT_TRY(const Operands outputs, emit_all(op, std::move(inputs), std::move(attributes), {std::move(name)}));
  return outputs[0];
}

Expected<Operand> Conversion::inner(const std::string& op, Operands inputs, graph::Attributes attributes,
                                    std::string_view what) {
  return emit(op, std::move(inputs), std::move(attributes), inner_name(what));
}

Expected<Operands> Conversion::last(const std::string& op, Operands inputs, graph::Attributes attributes) {
  std::vector<std::string> names = output_names();
  // Outputs that ONNX lets a node leave out and isobit's operator always makes.
  if (const graph::OpDef* def = graph::find_op(op)) {
    names.resize(std::max(names.size(), static_cast<size_t>(def->min_outputs)));
    for (size_t i = 0; i < static_cast<size_t>(def->min_outputs); ++i) {
      if (names[i].empty()) names[i] = inner_name(text_of("output", i));
    }
  }
  return emit_all(op, std::move(inputs), std::move(attributes), std::move(names));
}

Operand Conversion::constant(Tensor tensor, std::string_view what) const {
  return frame().constant(inner_name(what), std::move(tensor));
}

Operand Conversion::scalar(double value, DType type, std::string_view what) const {
  Tensor tensor;
  const bool made = by_type(NumberTypes{}, type, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      tensor = Tensor::scalar(static_cast<T>(value));
    } else {
      tensor = Tensor::scalar(kernels::truncated<T>(value));
    }
  });
  ISOBIT_CHECK(made);
  return constant(std::move(tensor), what);
}

Expected<std::optional<DType>> Conversion::widen() {
  std::optional<DType> narrow_to;
  for (Operand& operand : inputs_) {
    if (operand == nullptr || !HalfTypes::contains(dtype(operand))) continue;
    if (!narrow_to) narrow_to = dtype(operand);
    if (operand->widened == nullptr) {
      const std::string name = importer_.free_name(operand->name + "/float32");
      ISOBIT_TRY(operand->widened, emit("Cast", {operand}, {{"to", number_of(DType::kFloat32)}}, name));
      operand->widened->copy_of = operand;
    }
    operand = Operand(operand->widened);
  }
  narrows_ = narrow_to.has_value();
  return narrow_to;
}

Expected<Operands> Conversion::narrow(Operands outputs, DType to) {
  narrows_ = false;
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
    Operand& operand = outputs[static_cast<size_t>(i)];
    const auto& own = row_.own_types;
    if (operand == nullptr || dtype(operand) != DType::kFloat32 || !has_output(i)) continue;
    if (std::find(own.begin(), own.end(), i) != own.end()) continue;
    ISOBIT_TRY(operand, emit("Cast", {operand}, {{"to", number_of(to)}}, output_name(i)));
  }
  return outputs;
}

}  // namespace isobit::onnx
