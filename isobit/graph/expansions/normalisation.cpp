#include "isobit/graph/expansions/normalisation.h"

#include "isobit/base/text.h"
#include "isobit/graph/expansions/steps.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::expansions {
namespace {

using Dims = std::vector<int64_t>;
using ops::kInt;
using ops::kInts;
using ops::kReal;

// In which types a normalisation is computed: its first stage, and the scale and the bias.
struct Precision {
  DType stage, rest;
  DType stash;  // of the mean and the inverse deviation
};

Expected<Precision> precision_of(const Steps& s) {
  const DType dtype = s.value_of(0).dtype;
  if (!RealTypes::contains(dtype)) {
    return unreadable(text_of("'", s.value_of(0).name, "' is ", name_of(dtype), ", expected floating-point numbers"));
  }
  const DType rest = dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const int64_t stash = s.attributes().integer("stash_type", 1);
  switch (stash) {
    case 1:
      return Precision{DType::kFloat32, rest, DType::kFloat32};
    case 10:
      return Precision{DType::kFloat32, rest, DType::kFloat16};
    case 11:
      return Precision{DType::kFloat64, rest, DType::kFloat64};
    case 16:
      return Precision{DType::kFloat32, rest, DType::kBfloat16};
    default:
      return unreadable(text_of("stash_type ", stash, ", expected 1, 10, 11 or 16"));
  }
}

// Whether a scale or a bias has an element, or one for all, for each of the axes of x from `axis` on and no others.
bool fits_row(const Value& parameter, const Value& x, int64_t axis) {
  if (!x.has_rank() || !parameter.has_rank()) return true;  // most have, and the node looks at it
  const size_t first = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.dims.size()) : axis);
  return parameter.dims.size() <= x.dims.size() - first;
}

// y * scale + bias with broadcasting, in the type of the second stage; then in x's type, as output 0.
Expected<ValueId> scaled(Steps& s, ValueId y, ValueId scale, ValueId bias, DType rest) {
  const Dims before = s.value(y).dims;
  const DType dtype = s.value_of(0).dtype;
  const bool ends = dtype == rest;
  ISOBIT_TRY(const ValueId at_rest, s.converted(y, rest));
  ISOBIT_TRY(const ValueId factor, s.converted(scale, rest));
  Values both = {at_rest, factor};
  ISOBIT_TRY(ValueId out, ends && bias == kNoValue ? s.add_output(0, "Mul", both) : s.add("Mul", both));
  if (bias != kNoValue) {
    ISOBIT_TRY(const ValueId addend, s.converted(bias, rest));
    both = {out, addend};
    ISOBIT_TRY(out, ends ? s.add_output(0, "Add", both) : s.add("Add", both));
  }
  if (s.value(out).dims.size() != before.size()) {
    return unreadable("the scale or the bias has more dimensions than the source");
  }
  for (size_t d = 0; d < before.size(); ++d) {
    if (before[d] >= 0 && s.value(out).dims[d] != before[d]) {
      return unreadable(text_of("the scale or the bias is wider than axis ", d, " of the source"));
    }
  }
  if (ends) return out;
  return s.add_output(0, "Cast", {out}, {{"to", static_cast<int64_t>(dtype)}});
}

Attributes row_attributes(const Steps& s, int64_t axis) {
  Attributes attributes = {{"epsilon", s.attributes().real("epsilon", 1e-5)}};
  if (axis != -1) attributes.set("axis", axis);
  return attributes;
}

// The rows of x from `axis` on, normalised by `op` (LayerNormalization or RMSNormalization) in the first stage's type,
// without a scale. All outputs of the operator.
Expected<Values> normalised(Steps& s, const char* op, int outputs, ValueId x, int64_t axis, DType stage) {
  ISOBIT_TRY(const ValueId there, s.converted(x, stage));
  return s.add_all(op, {there, s.constant(there, 1)}, row_attributes(s, axis), outputs, false);
}

// The normalisation of rows by one node where that is what it is, else with scale and bias behind it.
Expected<Values> over_rows(Steps& s, const char* op, int op_outputs) {
  ISOBIT_TRY(const Precision in, precision_of(s));
  const int64_t axis = s.attributes().integer("axis", -1);
  if (s.value_of(0).has_rank()) {
    ISOBIT_RETURN_IF_ERROR(normalized_axis(axis, static_cast<int>(s.value_of(0).dims.size())));
  }
  bool one = s.value_of(0).dtype == in.stage && in.stage == in.rest;
  for (int i = 1; i < 3; ++i) one = one && (!s.has(i) || fits_row(s.value_of(i), s.value_of(0), axis));
  if (one) return s.add_all(op, s.inputs(), row_attributes(s, axis), op_outputs, true);
  ISOBIT_TRY(Values out, normalised(s, op, op_outputs, s.input(0), axis, in.stage));
  ISOBIT_TRY(out[0], scaled(s, out[0], s.input(1), s.input(2), in.rest));
  return out;
}

// Output o: a value of each row, with 1 for the axes of the rows.
Expected<ValueId> of_each_row(Steps& s, int o, ValueId id, DType stash) {
  if (!s.has_output(o)) return kNoValue;
  ISOBIT_TRY(const int rank, s.rank_of(0));
  ISOBIT_TRY(const int64_t axis, normalized_axis(s.attributes().integer("axis", -1), rank));
  Dims shape(static_cast<size_t>(rank), 1);
  for (int64_t i = 0; i < axis; ++i) shape[static_cast<size_t>(i)] = 0;  // as it is
  if (s.value(id).dtype == stash) return s.add_output(o, "Reshape", {id}, {{"shape", shape}});
  ISOBIT_TRY(const ValueId kept, s.add("Reshape", {id}, {{"shape", shape}}));
  return s.add_output(o, "Cast", {kept}, {{"to", static_cast<int64_t>(stash)}});
}

// A value [C] under [C, 1, ...], as broadcasting over [N, C, ...] of this rank asks for.
Expected<ValueId> of_each_channel(Steps& s, ValueId id, int rank) {
  Dims shape(static_cast<size_t>(rank - 1), 1);
  shape[0] = -1;
  return s.add("Reshape", {id}, {{"shape", shape}});
}

Status check_vector(const Steps& s, int i) {
  if (!s.value_of(i).has_rank() || s.value_of(i).dims.size() == 1) return {};
  return unreadable(text_of("'", s.value_of(i).name, "' has shape ", Shape(s.value_of(i).dims).text(),
                            ", expected one number a channel or group"));
}

struct GroupForm {
  int rank;
  int64_t groups;
  Precision in;
};

Expected<GroupForm> group_form(const Steps& s) {
  ISOBIT_RETURN_IF_ERROR(s.expect(3, 3, 1, {{"num_groups", kInt}, {"epsilon", kReal}, {"stash_type", kInt}}));
  ISOBIT_TRY(const Precision in, precision_of(s));
  ISOBIT_TRY(const int rank, s.rank_of(0));
  if (rank < 2) return unreadable("the source needs rank 2 or more ([N, C, ...])");
  for (int i = 1; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(check_vector(s, i));
  const int64_t groups = s.attributes().integer("num_groups", 0), channels = s.value_of(0).dims[1];
  if (groups < 1 || (channels >= 0 && channels % groups != 0)) {
    return unreadable(text_of("num_groups ", groups, " does not divide ", channels, " channels"));
  }
  return GroupForm{rank, groups, in};
}

// The groups of the source as rows of [N, groups, ...], normalised.
Expected<ValueId> normalised_groups(Steps& s, const GroupForm& form) {
  ISOBIT_TRY(const ValueId grouped, s.add("Reshape", {s.input(0)}, {{"shape", Dims{0, form.groups, -1}}}));
  ISOBIT_TRY(const Values out, normalised(s, "LayerNormalization", 3, grouped, -1, form.in.stage));
  return out[0];
}

}  // namespace

Expected<Values> layer_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                     const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_RETURN_IF_ERROR(s.expect(2, 3, 3, {{"axis", kInt}, {"epsilon", kReal}, {"stash_type", kInt}}));
  ISOBIT_TRY(const Precision in, precision_of(s));
  ISOBIT_TRY(Values out, over_rows(s, "LayerNormalization", 3));
  for (int o = 1; o < 3; ++o) {
    ISOBIT_TRY(out[static_cast<size_t>(o)], of_each_row(s, o, out[static_cast<size_t>(o)], in.stash));
  }
  out.resize(outputs.size());
  return out;
}

Expected<Values> rms_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                   const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_RETURN_IF_ERROR(s.expect(2, 2, 1, {{"axis", kInt}, {"epsilon", kReal}, {"stash_type", kInt}}));
  return over_rows(s, "RMSNormalization", 1);
}

Expected<Values> group_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                     const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_TRY(const GroupForm form, group_form(s));
  ISOBIT_TRY(const ValueId rows, normalised_groups(s, form));
  ISOBIT_TRY(const ValueId y, s.reshaped_like(rows, s.input(0), true, false));
  ISOBIT_TRY(const ValueId scale, of_each_channel(s, s.input(1), form.rank));
  ISOBIT_TRY(const ValueId bias, of_each_channel(s, s.input(2), form.rank));
  ISOBIT_TRY(const ValueId out, scaled(s, y, scale, bias, form.in.rest));
  return Values{out};
}

Expected<Values> group_normalization_by_group(Graph& graph, const Values& inputs, const Attributes& attributes,
                                              const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_TRY(const GroupForm form, group_form(s));
  ISOBIT_TRY(const ValueId rows, normalised_groups(s, form));
  ISOBIT_TRY(const ValueId at_rest, s.converted(rows, form.in.rest));
  Values parameters;
  for (int i = 1; i < 3; ++i) {
    ISOBIT_TRY(const ValueId of_group, of_each_channel(s, s.input(i), 3));
    ISOBIT_TRY(const ValueId there, s.converted(of_group, form.in.rest));
    parameters.push_back(there);
  }
  ISOBIT_TRY(const ValueId product, s.add("Mul", {at_rest, parameters[0]}));
  ISOBIT_TRY(const ValueId sum, s.add("Add", {product, parameters[1]}));
  if (s.value(sum).dims.size() != 3 || s.value(sum).dims[1] != form.groups) {
    return unreadable(text_of("the scale or the bias has not one number for each of ", form.groups, " groups"));
  }
  ISOBIT_TRY(const ValueId there, s.converted(sum, s.value_of(0).dtype));
  ISOBIT_TRY(const ValueId out, s.reshaped_like(there, s.input(0), true, true));
  return Values{out};
}

Expected<Values> instance_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                        const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_RETURN_IF_ERROR(s.expect(3, 3, 1, {{"epsilon", kReal}}));
  ISOBIT_TRY(const Precision in, precision_of(s));
  ISOBIT_TRY(const int rank, s.rank_of(0));
  if (rank < 3) return unreadable("the source needs rank 3 or more ([N, C, D, ...])");
  for (int i = 1; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(check_vector(s, i));
  ISOBIT_TRY(const Values rows, normalised(s, "LayerNormalization", 3, s.input(0), 2, in.rest));
  ISOBIT_TRY(const ValueId scale, of_each_channel(s, s.input(1), rank));
  ISOBIT_TRY(const ValueId bias, of_each_channel(s, s.input(2), rank));
  ISOBIT_TRY(const ValueId y, scaled(s, rows[0], scale, bias, in.rest));
  return Values{y};
}

Expected<Values> mean_variance_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                             const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_RETURN_IF_ERROR(s.expect(1, 1, 1, {{"axes", kInts}}));
  const Attributes over = {{"axes", attributes.integers("axes", {0, 2, 3})}, {"keepdims", int64_t{1}}};
  const ValueId x = s.input(0);
  ISOBIT_TRY(const ValueId mean, s.add("ReduceMean", {x}, over));
  ISOBIT_TRY(const ValueId d, s.add("Sub", {x, mean}));
  ISOBIT_TRY(const ValueId squares, s.add("Mul", {d, d}));
  ISOBIT_TRY(const ValueId var, s.add("ReduceMean", {squares}, over));
  ISOBIT_TRY(const ValueId deviation, s.add("Sqrt", {var}));
  ISOBIT_TRY(const ValueId divisor, s.add("Add", {deviation, s.constant(x, 1e-9)}));
  ISOBIT_TRY(const ValueId y, s.add_output(0, "Div", {d, divisor}));
  return Values{y};
}

Expected<Values> lp_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                  const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_RETURN_IF_ERROR(s.expect(1, 1, 1, {{"axis", kInt}, {"p", kInt}}));
  const int64_t p = attributes.integer("p", 2);
  if (p != 1 && p != 2) return unreadable(text_of("p is ", p, ", expected 1 or 2"));
  const Attributes over = {{"axes", Dims{attributes.integer("axis", -1)}}, {"keepdims", int64_t{1}}};
  const ValueId x = s.input(0);
  ISOBIT_TRY(const ValueId terms, p == 1 ? s.add("Abs", {x}) : s.converted(x, s.value(x).dtype));
  ISOBIT_TRY(const ValueId norm, s.add(p == 1 ? "ReduceSum" : "ReduceL2", {terms}, over));
  // 1 where the norm is 0, which leaves those zeros as they are; 0 elsewhere.
  ISOBIT_TRY(const ValueId truth, s.converted(norm, DType::kBool));
  ISOBIT_TRY(const ValueId is_some, s.converted(truth, s.value(x).dtype));
  ISOBIT_TRY(const ValueId is_none, s.add("Sub", {s.constant(x, 1), is_some}));
  ISOBIT_TRY(const ValueId divisor, s.add("Add", {norm, is_none}));
  ISOBIT_TRY(const ValueId y, s.add_output(0, "Div", {x, divisor}));
  return Values{y};
}

Expected<Values> batch_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                     const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_RETURN_IF_ERROR(s.expect(5, 5, 3, {{"epsilon", kReal}, {"momentum", kReal}, {"training_mode", kInt}}));
  const Attributes epsilon = {{"epsilon", attributes.real("epsilon", 1e-5)}};
  Values out(outputs.size(), kNoValue);
  if (attributes.integer("training_mode", 0) == 0) {
    if (s.has_output(1) || s.has_output(2)) {
      return unreadable("running statistics are outputs only where training_mode is 1");
    }
    ISOBIT_TRY(out[0], s.add_output(0, "BatchNormalization", inputs, epsilon));
    return out;
  }
  ISOBIT_TRY(const Values now, s.add_all("isobit.BatchStatistics", {inputs[0]}, {}, 2, false));
  const Values applied = {inputs[0], inputs[1], inputs[2], now[0], now[1]};
  ISOBIT_TRY(out[0], s.add_output(0, "isobit.BatchNormApply", applied, epsilon));
  const Attributes momentum = {{"momentum", attributes.real("momentum", 0.9)}};
  for (int o = 1; o < 3; ++o) {
    if (!s.has_output(o)) continue;
    const size_t i = static_cast<size_t>(o);
    ISOBIT_TRY(out[i], s.add_output(o, "isobit.RunningUpdate", {inputs[i + 2], now[i - 1]}, momentum));
  }
  return out;
}

}  // namespace isobit::graph::expansions
