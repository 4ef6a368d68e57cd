#include "isobit/graph/expansions/normalisation.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
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

Expected<Precision> precision_of(const NodeArguments& a) {
  const DType dtype = a.value(0).dtype;
  if (!RealTypes::contains(dtype)) {
    return unreadable(text_of("'", a.value(0).name, "' is ", name_of(dtype), ", expected floating-point numbers"));
  }
  const DType rest = dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const int64_t stash = a.attributes.integer("stash_type", 1);
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
ValueId scaled(Builder& b, ValueId x, ValueId y, ValueId scale, ValueId bias, DType rest) {
  const Dims before = b.dims(y);
  const bool ends = b.dtype(x) == rest;
  const ValueId at_rest = b.cast(y, rest, "Cast");
  ValueId out = b.mul(at_rest, b.cast(scale, rest, "Cast"), ends && bias == kNoValue ? kResult : "Mul");
  if (bias != kNoValue) out = b.add(out, b.cast(bias, rest, "Cast"), ends ? kResult : "Add");
  b.require(b.dims(out).size() == before.size(), "the scale or the bias has more dimensions than the source");
  for (size_t d = 0; d < before.size(); ++d) {
    b.require(before[d] < 0 || b.dim(out, static_cast<int>(d)) == before[d],
              text_of("the scale or the bias is wider than axis ", d, " of the source"));
  }
  return b.cast(out, b.dtype(x), kResult);
}

Attributes row_attributes(const NodeArguments& a, int64_t axis) {
  Attributes attributes = {{"epsilon", a.attributes.real("epsilon", 1e-5)}};
  if (axis != -1) attributes.set("axis", axis);
  return attributes;
}

// The rows of x from `axis` on, normalised by `op` (LayerNormalization or RMSNormalization) in the first stage's type,
// without a scale. All outputs of the operator.
Values normalised(Builder& b, const NodeArguments& a, const char* op, int outputs, ValueId x, int64_t axis,
                  DType stage) {
  const ValueId there = b.cast(x, stage, "Cast");
  const std::vector<std::string> names(static_cast<size_t>(outputs), op);
  return b.nodes(op, {there, b.scalar(stage, 1)}, row_attributes(a, axis), names);
}

// The normalisation of rows by one node where that is what it is, else with scale and bias behind it.
Expected<Values> over_rows(Builder& b, const NodeArguments& a, const Precision& in, const char* op, int op_outputs) {
  const int64_t axis = a.attributes.integer("axis", -1);
  const Value& x = a.value(0);
  if (x.has_rank()) ISOBIT_RETURN_IF_ERROR(normalized_axis(axis, static_cast<int>(x.dims.size())));
  bool one = x.dtype == in.stage && in.stage == in.rest;
  for (size_t i = 1; i < a.inputs.size(); ++i) {
    one = one && (a.input(i) == kNoValue || fits_row(a.value(i), x, axis));
  }
  if (one) {
    std::vector<std::string> names(static_cast<size_t>(op_outputs), op);
    names[0] = kResult;
    return b.nodes(op, a.inputs, row_attributes(a, axis), names);
  }
  Values out = normalised(b, a, op, op_outputs, a.input(0), axis, in.stage);
  out[0] = scaled(b, a.input(0), out[0], a.input(1), a.input(2), in.rest);
  return out;
}

// Output o: a value of each row, with 1 for the axes of the rows.
ValueId of_each_row(Builder& b, const NodeArguments& a, size_t o, ValueId v, DType stash) {
  if (a.output(o).empty()) return kNoValue;
  const auto rank = a.rank(0);
  if (!rank) return b.fail(rank.error().message);
  const int64_t axis = a.attributes.integer("axis", -1);
  Dims shape(static_cast<size_t>(*rank), 1);
  std::fill_n(shape.begin(), axis < 0 ? axis + *rank : axis, 0);  // as they are
  b.set_result(a.output(o));
  return b.cast(b.reshape_as_written(v, shape, b.dtype(v) == stash ? kResult : "Reshape"), stash, kResult);
}

// A value [C] under [C, 1, ...], as broadcasting over [N, C, ...] of this rank asks for.
ValueId of_each_channel(Builder& b, ValueId v, int rank) {
  Dims shape(static_cast<size_t>(rank - 1), 1);
  shape[0] = -1;
  return b.reshape_as_written(v, shape, "Reshape");
}

Status check_vector(const NodeArguments& a, size_t i) {
  if (!a.value(i).has_rank() || a.value(i).dims.size() == 1) return {};
  return unreadable(text_of("'", a.value(i).name, "' has shape ", Shape(a.value(i).dims).text(),
                            ", expected one number a channel or group"));
}

struct GroupForm {
  int rank;
  int64_t groups;
  Precision in;
};

Expected<GroupForm> group_form(const NodeArguments& a) {
  ISOBIT_RETURN_IF_ERROR(a.expect(3, 3, 1, {{"num_groups", kInt}, {"epsilon", kReal}, {"stash_type", kInt}}));
  ISOBIT_TRY(const Precision in, precision_of(a));
  ISOBIT_TRY(const int rank, a.rank(0));
  if (rank < 2) return unreadable("the source needs rank 2 or more ([N, C, ...])");
  for (size_t i : {1, 2}) ISOBIT_RETURN_IF_ERROR(check_vector(a, i));
  const int64_t groups = a.attributes.integer("num_groups", 0), channels = a.value(0).dims[1];
  if (groups < 1 || (channels >= 0 && channels % groups != 0)) {
    return unreadable(text_of("num_groups ", groups, " does not divide ", channels, " channels"));
  }
  return GroupForm{rank, groups, in};
}

// The groups of the source as rows of [N, groups, ...], normalised.
ValueId normalised_groups(Builder& b, const NodeArguments& a, const GroupForm& form) {
  const ValueId grouped = b.reshape_as_written(a.input(0), {0, form.groups, -1}, "Reshape");
  return normalised(b, a, "LayerNormalization", 3, grouped, -1, form.in.stage)[0];
}

// A constant of the real type of `like`.
ValueId real(Builder& b, ValueId like, double x) {
  return b.scalar(b.dtype(like) == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64, x);
}

}  // namespace

Expected<Values> layer_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                     const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_RETURN_IF_ERROR(a.expect(2, 3, 3, {{"axis", kInt}, {"epsilon", kReal}, {"stash_type", kInt}}));
  ISOBIT_TRY(const Precision in, precision_of(a));
  Builder b(a);
  ISOBIT_TRY(Values out, over_rows(b, a, in, "LayerNormalization", 3));
  for (size_t o : {1, 2}) out[o] = of_each_row(b, a, o, out[o], in.stash);
  out.resize(outputs.size());
  return b.finish(std::move(out));
}

Expected<Values> rms_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                   const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_RETURN_IF_ERROR(a.expect(2, 2, 1, {{"axis", kInt}, {"epsilon", kReal}, {"stash_type", kInt}}));
  ISOBIT_TRY(const Precision in, precision_of(a));
  Builder b(a);
  ISOBIT_TRY(Values out, over_rows(b, a, in, "RMSNormalization", 1));
  return b.finish(std::move(out));
}

Expected<Values> group_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                     const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_TRY(const GroupForm form, group_form(a));
  Builder b(a);
  const ValueId y = b.reshape_like(normalised_groups(b, a, form), inputs[0], true, "Reshape");
  const ValueId scale = of_each_channel(b, inputs[1], form.rank), bias = of_each_channel(b, inputs[2], form.rank);
  return b.finish({scaled(b, inputs[0], y, scale, bias, form.in.rest)});
}

Expected<Values> group_normalization_by_group(Graph& graph, const Values& inputs, const Attributes& attributes,
                                              const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_TRY(const GroupForm form, group_form(a));
  Builder b(a);
  const auto at_rest = [&](ValueId v) { return b.cast(v, form.in.rest, "Cast"); };
  const ValueId rows = at_rest(normalised_groups(b, a, form));
  const ValueId scale = at_rest(of_each_channel(b, inputs[1], 3)), bias = at_rest(of_each_channel(b, inputs[2], 3));
  const ValueId sum = b.add(b.mul(rows, scale, "Mul"), bias, "Add");
  b.require(b.rank(sum) == 3 && b.dim(sum, 1) == form.groups,
            text_of("the scale or the bias has not one number for each of ", form.groups, " groups"));
  const ValueId there = b.cast(sum, b.dtype(inputs[0]), "Cast");
  return b.finish({b.reshape_like(there, inputs[0], true, kResult)});
}

Expected<Values> instance_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                        const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_RETURN_IF_ERROR(a.expect(3, 3, 1, {{"epsilon", kReal}}));
  ISOBIT_TRY(const Precision in, precision_of(a));
  ISOBIT_TRY(const int rank, a.rank(0));
  if (rank < 3) return unreadable("the source needs rank 3 or more ([N, C, D, ...])");
  for (size_t i : {1, 2}) ISOBIT_RETURN_IF_ERROR(check_vector(a, i));
  Builder b(a);
  const ValueId rows = normalised(b, a, "LayerNormalization", 3, inputs[0], 2, in.rest)[0];
  const ValueId scale = of_each_channel(b, inputs[1], rank), bias = of_each_channel(b, inputs[2], rank);
  return b.finish({scaled(b, inputs[0], rows, scale, bias, in.rest)});
}

Expected<Values> mean_variance_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                             const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_RETURN_IF_ERROR(a.expect(1, 1, 1, {{"axes", kInts}}));
  const Dims axes = attributes.integers("axes", {0, 2, 3});
  const ValueId x = inputs[0];
  Builder b(a);
  const ValueId d = b.sub(x, b.reduce("ReduceMean", x, axes, true, "ReduceMean"), "Sub");
  const ValueId var = b.reduce("ReduceMean", b.mul(d, d, "Mul"), axes, true, "ReduceMean");
  const ValueId deviation = b.unary("Sqrt", var, "Sqrt");
  return b.finish({b.div(d, b.add(deviation, real(b, x, 1e-9), "Add"), kResult)});
}

Expected<Values> lp_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                  const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_RETURN_IF_ERROR(a.expect(1, 1, 1, {{"axis", kInt}, {"p", kInt}}));
  const int64_t p = attributes.integer("p", 2);
  if (p != 1 && p != 2) return unreadable(text_of("p is ", p, ", expected 1 or 2"));
  const ValueId x = inputs[0];
  Builder b(a);
  const ValueId terms = p == 1 ? b.unary("Abs", x, "Abs") : x;
  const char* const op = p == 1 ? "ReduceSum" : "ReduceL2";
  const ValueId norm = b.reduce(op, terms, {attributes.integer("axis", -1)}, true, op);
  // 1 where the norm is 0, which leaves those zeros as they are; 0 elsewhere.
  const ValueId is_some = b.cast(b.cast(norm, DType::kBool, "Cast"), b.dtype(x), "Cast");
  const ValueId is_none = b.sub(real(b, x, 1), is_some, "Sub");
  return b.finish({b.div(x, b.add(norm, is_none, "Add"), kResult)});
}

Expected<Values> batch_normalization(Graph& graph, const Values& inputs, const Attributes& attributes,
                                     const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_RETURN_IF_ERROR(a.expect(5, 5, 3, {{"epsilon", kReal}, {"momentum", kReal}, {"training_mode", kInt}}));
  const Attributes epsilon = {{"epsilon", attributes.real("epsilon", 1e-5)}};
  Builder b(a);
  Values out(outputs.size(), kNoValue);
  if (attributes.integer("training_mode", 0) == 0) {
    if (!a.output(1).empty() || !a.output(2).empty()) {
      return unreadable("running statistics are outputs only where training_mode is 1");
    }
    out[0] = b.node("BatchNormalization", inputs, epsilon, kResult);
    return b.finish(std::move(out));
  }
  const Values now = b.nodes("isobit.BatchStatistics", {inputs[0]}, {}, {"BatchStatistics", "BatchStatistics"});
  out[0] = b.node("isobit.BatchNormApply", {inputs[0], inputs[1], inputs[2], now[0], now[1]}, epsilon, kResult);
  const Attributes momentum = {{"momentum", attributes.real("momentum", 0.9)}};
  for (size_t o = 1; o < outputs.size(); ++o) {
    if (outputs[o].empty()) continue;
    b.set_result(outputs[o]);
    out[o] = b.node("isobit.RunningUpdate", {inputs[o + 2], now[o - 1]}, momentum, kResult);
  }
  return b.finish(std::move(out));
}

}  // namespace isobit::graph::expansions
