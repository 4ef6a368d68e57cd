// Which operator of ONNX is converted by what.
#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

using Key = std::pair<std::string, std::string>;  // domain, operator

const std::map<Key, std::vector<const Row*>>& rows_by_operator() {
  static const Table kTable = [] {
    Table table;
    add_elementwise_rows(table);
    add_movement_rows(table);
    add_shape_rows(table);
    add_reduce_rows(table);
    add_linear_rows(table);
    add_window_rows(table);
    add_norm_rows(table);
    add_composite_rows(table);
    add_spectrum_rows(table);
    add_quantized_rows(table);
    add_control_rows(table);
    add_ml_rows(table);
    add_feature_rows(table);
    add_sequence_rows(table);
    add_refused_rows(table);
    return table;
  }();
  static const std::map<Key, std::vector<const Row*>> kRows = [] {
    std::map<Key, std::vector<const Row*>> rows;
    for (const auto& row : kTable.rows) rows[{row->domain, row->op}].push_back(row.get());
    return rows;
  }();
  return kRows;
}

// The parameter as an attribute, when it is known.
std::optional<graph::Attribute> known(const Conversion& c, const Parameter& parameter) {
  const Operand operand = c.in(parameter.input);
  if (parameter.form == Parameter::Form::kReals) {
    const auto values = c.reals(operand);
    return values ? std::optional<graph::Attribute>(*values) : std::nullopt;
  }
  const auto values = c.integers(operand);
  if (!values) return std::nullopt;
  if (parameter.form == Parameter::Form::kIntegers) return *values;
  if (values->size() != 1) return std::nullopt;
  return values->front();
}

}  // namespace

Row& Table::same(const char* op, const char* domain) { return own(op, same_as_onnx, domain).to(op); }

Row& Table::own(const char* op, Convert convert, const char* domain) {
  rows.push_back(std::make_unique<Row>(Row{.op = op, .domain = domain, .convert = std::move(convert)}));
  return *rows.back();
}

Row& Table::expanded(const char* op, Expansion expansion) {
  return own(op, [expansion](Conversion& c) { return onnx::expanded(c, expansion); });
}

void Table::refuse(std::initializer_list<const char*> ops, const char* reason, const char* domain) {
  for (const char* op : ops) own(op, same_as_onnx, domain).refusal = reason;
}

tl::expected<const Row*, std::string> find_row(const std::string& domain, const std::string& op, int64_t opset) {
  constexpr const char* kAbsent = "isobit does not have this operator";
  const auto found = rows_by_operator().find({domain, op});
  if (found == rows_by_operator().end()) return tl::unexpected<std::string>(kAbsent);
  std::string versions;
  for (const Row* row : found->second) {
    versions += text_of(versions.empty() ? "" : ", ", row->first);
    versions += row->last == Row::kAnyOpset ? " and newer" : text_of(" to ", row->last);
    if (opset < row->first || opset > row->last) continue;
    if (!row->refusal.empty()) return tl::unexpected(row->refusal);
    if (!row->target.empty() && graph::find_op(row->target) == nullptr) return tl::unexpected<std::string>(kAbsent);
    return row;
  }
  return tl::unexpected(text_of("isobit has this operator in opset ", versions));
}

namespace {

struct NodeForm {
  Operands inputs;
  graph::Attributes attributes;
};

// Parameters that are known are attributes; inputs end with one that is there.
Expected<NodeForm> form_of(Conversion& c) {
  NodeForm form{c.inputs(), {}};
  ISOBIT_TRY(form.attributes, c.same_attributes());
  for (const Parameter& parameter : c.row().parameters) {
    if (!c.has(parameter.input)) continue;
    if (form.attributes.has(parameter.name)) {
      return c.error(text_of("'", parameter.name, "' is given as an input and as an attribute"));
    }
    if (auto attribute = known(c, parameter)) {
      form.attributes.set(parameter.name, *std::move(attribute));
      form.inputs[static_cast<size_t>(parameter.input)] = nullptr;
    }
  }
  while (!form.inputs.empty() && form.inputs.back() == nullptr) form.inputs.pop_back();
  return form;
}

}  // namespace

Expected<Operands> same_as_onnx(Conversion& c) {
  ISOBIT_TRY(NodeForm form, form_of(c));
  return c.last(c.row().target, std::move(form.inputs), std::move(form.attributes));
}

Expected<Operands> expanded(Conversion& c, Expansion expansion) {
  ISOBIT_TRY(const NodeForm form, form_of(c));
  std::vector<graph::ValueId> ids;
  for (const Operand& operand : form.inputs) ids.push_back(c.frame().id_of(operand));
  const std::vector<std::string> names = c.output_names();
  return c.expand([&](graph::Graph& g) { return expansion(g, ids, form.attributes, names); });
}

}  // namespace isobit::onnx
