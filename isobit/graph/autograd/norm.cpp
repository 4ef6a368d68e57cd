#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

// As emit, for the gradient of input i.
ValueId emit_for(GradContext& c, int i, const std::string& op, Values inputs, Attributes attributes) {
  return c.graph.emit(op, std::move(inputs), std::move(attributes), c.diff_name(i));
}

Attributes epsilon_of(GradContext& c) { return {{"epsilon", c.node.attributes.real("epsilon", 1e-5)}}; }

// By statistics that follow from other data than src: (src, scale, bias, mean, var).
// r = 1 / sqrt(var + epsilon); diff_src = dy * (scale * r); diff_scale = sum of dy * ((x - mean) * r)
Values batch_norm_by_given_statistics(GradContext& c) {
  Values out(5, kNoValue);
  if (c.wants(3) || c.wants(4)) {
    c.refusal = "no gradient reaches the mean and the variance that it is given";
    return out;
  }
  Dims per_channel(c.dims(c.input(0)).size(), 1);
  per_channel[1] = c.dims(c.input(1))[0];
  const auto spread = [&](ValueId id) { return emit(c, "Reshape", {id}, {{"shape", per_channel}}); };
  const auto summed = [&](ValueId id, int input) {
    const ValueId sums = emit_for(c, input, "isobit.SumTo", {id}, {{"shape", per_channel}});
    return emit_for(c, input, "Reshape", {sums}, {{"shape", Dims{per_channel[1]}}});
  };
  const ValueId epsilon = constant_like(c.graph, c.input(0), c.node.attributes.real("epsilon", 1e-5), "epsilon");
  const ValueId r = emit(c, "Reciprocal", {emit(c, "Sqrt", {emit(c, "Add", {c.input(4), epsilon})})});
  if (c.wants(0)) out[0] = emit(c, "Mul", {c.diff(), spread(emit(c, "Mul", {c.input(1), r}))});
  if (c.wants(1)) {
    const ValueId t = emit(c, "Sub", {c.input(0), spread(c.input(3))});
    const ValueId h = emit(c, "Mul", {t, spread(r)});
    out[1] = summed(emit(c, "Mul", {c.diff(), h}), 1);
  }
  if (c.wants(2)) out[2] = summed(c.diff(), 2);
  return out;
}

// Through the batch's own statistics as well: the whole gradient is credited to src, none to mean and var.
Values batch_norm(GradContext& c) {
  const Values grads =
      c.graph.emit_all("isobit.BatchNormGrad", {c.input(0), c.input(3), c.input(4), c.input(1), c.diff()},
                       epsilon_of(c), {c.diff_name(0), c.diff_name(1), c.diff_name(2)});
  return {grads[0], grads[1], grads[2], kNoValue, kNoValue};
}

// The scale of a norm over rows, with an element for each of a row.
ValueId scale_of_row(GradContext& c) {
  const Dims& src = c.dims(c.input(0));
  const int64_t axis = c.node.attributes.integer("axis", -1);
  const Dims row = {(axis < 0 ? src.end() : src.begin()) + axis, src.end()};
  return c.dims(c.input(1)) == row ? c.input(1) : emit_for(c, 1, "Expand", {c.input(1)}, {{"shape", row}});
}

// Attribute axis, where the node has it.
Attributes axis_of(GradContext& c) {
  return c.node.attributes.has("axis") ? Attributes{{"axis", c.node.attributes.integer("axis", -1)}} : Attributes{};
}

Values layer_norm(GradContext& c) {
  Values out(c.node.inputs.size(), kNoValue);
  if (c.diff() == kNoValue || c.diff_outputs[1] != kNoValue || c.diff_outputs[2] != kNoValue) {
    c.refusal = "no gradient goes through its mean and its inverse deviation";
    return out;
  }
  const bool biased = c.input(2) != kNoValue;
  const Values grads =
      c.graph.emit_all("isobit.LayerNormGrad", {c.input(0), c.output(1), c.output(2), scale_of_row(c), c.diff()},
                       axis_of(c), {c.diff_name(0), c.diff_name(1), biased ? c.diff_name(2) : "diff_bias"});
  out[0] = grads[0];
  out[1] = sum_to_shape_of(c.graph, grads[1], c.input(1), c.diff_name(1));
  if (biased) out[2] = sum_to_shape_of(c.graph, grads[2], c.input(2), c.diff_name(2));
  return out;
}

Values rms_norm(GradContext& c) {
  const Attributes attributes = with(axis_of(c), "epsilon", c.node.attributes.real("epsilon", 1e-5));
  const Values grads = c.graph.emit_all("isobit.RmsNormGrad", {c.input(0), scale_of_row(c), c.diff()}, attributes,
                                        {c.diff_name(0), c.diff_name(1)});
  return {grads[0], sum_to_shape_of(c.graph, grads[1], c.input(1), c.diff_name(1))};
}

}  // namespace

void add_norm(Rules& rules) {
  rules["BatchNormalization"] = batch_norm_by_given_statistics;
  rules["isobit.BatchNormApply"] = batch_norm;
  rules["LayerNormalization"] = layer_norm;
  rules["RMSNormalization"] = rms_norm;
  // BatchNormApply's rule already goes through them.
  rules["isobit.BatchStatistics"] = [](GradContext&) { return Values{kNoValue}; };
}

}  // namespace isobit::graph::autograd
