#include <algorithm>

#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/windows.h"

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
// diff_mean = -(sum of diff_src); diff_var = sum of diff_src * (x - mean), times -r^2 / 2
Values batch_norm_by_given_statistics(GradContext& c) {
  Values out(5, kNoValue);
  Dims per_channel(c.dims(c.input(0)).size(), 1);
  per_channel[1] = c.dims(c.input(1))[0];
  const auto spread = [&](ValueId id) { return emit(c, "Reshape", {id}, {{"shape", per_channel}}); };
  const auto summed = [&](ValueId id, int input) {
    const ValueId sums = emit_for(c, input, "isobit.SumTo", {id}, {{"shape", per_channel}});
    return emit_for(c, input, "Reshape", {sums}, {{"shape", Dims{per_channel[1]}}});
  };
  const ValueId epsilon = constant_like(c.graph, c.input(0), c.node.attributes.real("epsilon", 1e-5), "epsilon");
  const ValueId r = emit(c, "Reciprocal", {emit(c, "Sqrt", {emit(c, "Add", {c.input(4), epsilon})})});
  const bool needs_src = c.wants(0) || c.wants(3) || c.wants(4);
  if (needs_src) out[0] = emit(c, "Mul", {c.diff(), spread(emit(c, "Mul", {c.input(1), r}))});
  if (c.wants(1)) {
    const ValueId t = emit(c, "Sub", {c.input(0), spread(c.input(3))});
    const ValueId h = emit(c, "Mul", {t, spread(r)});
    out[1] = summed(emit(c, "Mul", {c.diff(), h}), 1);
  }
  if (c.wants(2)) out[2] = summed(c.diff(), 2);
  if (c.wants(3)) out[3] = emit_for(c, 3, "Neg", {summed(out[0], 3)}, {});
  if (c.wants(4)) {
    const ValueId t = emit(c, "Sub", {c.input(0), spread(c.input(3))});
    const ValueId sum = summed(emit(c, "Mul", {out[0], t}), 4);
    const ValueId half = emit(c, "Mul", {emit(c, "Mul", {r, r}), constant_like(c.graph, c.input(0), -0.5, "half")});
    out[4] = emit_for(c, 4, "Mul", {sum, half}, {});
  }
  return out;
}

// Of the mean and the variance of each channel: over the n elements of it, diff_mean / n and 2 (x - mean) diff_var / n.
// What uses them other than through isobit.BatchNormApply, whose rule already goes through them, gets here.
Values batch_statistics(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  Dims per_channel(src.size(), 1);
  per_channel[1] = src[1];
  const int64_t n = c.graph.value(c.input(0)).shape().elements() / std::max<int64_t>(src[1], 1);
  const auto share = [&](int output, double factor) {
    const ValueId number = constant_like(c.graph, c.input(0), factor / static_cast<double>(n), "share");
    const ValueId of_channel = emit(c, "Mul", {c.diff_outputs[static_cast<size_t>(output)], number});
    return reshaped(c, of_channel, per_channel);
  };
  ValueId diff = kNoValue;
  if (c.flows(0)) diff = emit(c, "Expand", {share(0, 1)}, {{"shape", src}});
  if (c.flows(1)) {
    const ValueId t = emit(c, "Sub", {c.input(0), reshaped(c, c.output(0), per_channel)});
    const ValueId by_var = emit(c, "Mul", {t, share(1, 2)});
    diff = diff == kNoValue ? by_var : emit(c, "Add", {diff, by_var});
  }
  return {diff};
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

// What reaches src through the mean and the inverse deviation s of its rows of n elements, added to `diff`:
// diff_mean / n, and -(diff_s s^3 / n) (x - mean).
ValueId through_statistics(GradContext& c, ValueId diff) {
  if (!c.flows(1) && !c.flows(2)) return diff;
  const Dims src = c.dims(c.input(0)), rows = c.dims(c.output(1));
  Dims kept = rows;
  kept.resize(src.size(), 1);
  const int64_t n = Shape(src).elements(static_cast<int>(rows.size()), static_cast<int>(src.size()));
  const ValueId count = constant_like(c.graph, c.input(0), static_cast<double>(n), "count");
  const auto add = [&](ValueId more) { diff = diff == kNoValue ? more : emit(c, "Add", {diff, more}); };
  const auto spread = [&](ValueId of_rows) { return reshaped(c, of_rows, kept); };
  if (c.flows(1)) add(emit(c, "Expand", {spread(emit(c, "Div", {c.diff_outputs[1], count}))}, {{"shape", src}}));
  if (c.flows(2)) {
    const ValueId s = c.output(2);
    const ValueId cube = emit(c, "Mul", {emit(c, "Mul", {s, s}), s});
    const ValueId share = emit(c, "Div", {emit(c, "Mul", {emit(c, "Neg", {c.diff_outputs[2]}), cube}), count});
    add(emit(c, "Mul", {emit(c, "Sub", {c.input(0), spread(c.output(1))}), spread(share)}));
  }
  return diff;
}

Values layer_norm(GradContext& c) {
  Values out(c.node.inputs.size(), kNoValue);
  if (!c.flows(0)) {
    out[0] = through_statistics(c, kNoValue);
    return out;
  }
  const bool biased = c.input(2) != kNoValue;
  const Values grads =
      c.graph.emit_all("isobit.LayerNormGrad", {c.input(0), c.output(1), c.output(2), scale_of_row(c), c.diff()},
                       axis_of(c), {c.diff_name(0), c.diff_name(1), biased ? c.diff_name(2) : "diff_bias"});
  out[0] = through_statistics(c, grads[0]);
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

// y = x s^-beta with s = bias + (alpha / size) q, q the sum of the squares of a window of channels:
// diff_src = dy s^-beta - x (2 beta alpha / size) (the sum of dy x s^-beta / s over the windows that x is in).
// A window's sum is the mean of its `taps` times their number. Channels are rows of an image, places its columns.
Values response_norm(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  const Attributes& a = c.node.attributes;
  const Shape shape(src);
  if (shape.elements() == 0) return {c.diff()};
  const int64_t size = a.integer("size", 1), channels = src[1];
  const int64_t before = std::min((size - 1) / 2, channels - 1), behind = std::min(size / 2, channels - 1);
  const int64_t taps = before + 1 + behind;
  const Dims rows = {src[0], 1, channels, shape.elements(2, shape.rank())};
  const Attributes window = {
      {"kernel_shape", Dims{taps, 1}}, {"pads", Dims{before, 0, behind, 0}}, {"count_include_pad", int64_t{1}}};
  const bool fits = ops::check_plane(ops::image_of(rows)) && ops::read_windows(window, ops::image_of(rows), {});
  if (!fits) return c.refuse("no gradient for planes of so many places and channels");
  const double share = a.real("alpha", 1e-4) * static_cast<double>(taps) / static_cast<double>(size);
  const double beta = a.real("beta", 0.75);
  const auto times = [&](ValueId x, double factor) {
    return emit(c, "Mul", {x, constant_like(c.graph, c.input(0), factor, "factor")});
  };
  const ValueId x = c.input(0), squares = reshaped(c, emit(c, "Mul", {x, x}), rows);
  const ValueId means = reshaped(c, emit(c, "AveragePool", {squares}, window), src);
  const ValueId bias = constant_like(c.graph, x, a.real("bias", 1), "bias");
  const ValueId s = emit(c, "Add", {bias, times(means, share)});
  const ValueId power = emit(c, "Pow", {s, constant_like(c.graph, x, -beta, "power")});
  const ValueId direct = emit(c, "Mul", {c.diff(), power});
  const ValueId terms = reshaped(c, emit(c, "Div", {emit(c, "Mul", {direct, x}), s}), rows);
  const ValueId sums = emit(c, "isobit.AveragePoolGrad", {terms}, with(window, "src_shape", rows));
  const ValueId indirect = emit(c, "Mul", {x, times(reshaped(c, sums, src), 2 * beta * share)});
  return {emit(c, "Sub", {direct, indirect})};
}

}  // namespace

void add_norm(Rules& rules) {
  rules["BatchNormalization"] = batch_norm_by_given_statistics;
  rules["isobit.BatchNormApply"] = batch_norm;
  rules["LayerNormalization"] = layer_norm;
  rules["RMSNormalization"] = rms_norm;
  rules["isobit.BatchStatistics"] = batch_statistics;
  rules["LRN"] = response_norm;
  rules.none({"isobit.RunningUpdate"}, "it is the state of the next step");
  rules.none({"isobit.BatchNormGrad", "isobit.LayerNormGrad", "isobit.RmsNormGrad"}, kIsGradient);
}

}  // namespace isobit::graph::autograd
