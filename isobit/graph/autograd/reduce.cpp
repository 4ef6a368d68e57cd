#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

// Axes that are given as an operand have no gradient.
Values of_data(GradContext& c, ValueId diff) {
  Values out(c.node.inputs.size(), kNoValue);
  out[0] = diff;
  return out;
}

// The source's dimensions, with 1 for those that were reduced.
Dims kept_dims(GradContext& c) {
  const Dims &src = c.dims(c.input(0)), &dst = c.dims(c.output(0));
  if (dst.size() == src.size()) return dst;
  const ValueId operand = c.input(1);
  const auto axes =
      ops::parameter_numbers(c.node.attributes, "axes", operand == kNoValue ? nullptr : c.graph.initializer(operand));
  // Without any, all were reduced, or the output would have the source's rank.
  if (!axes || axes->empty()) return Dims(src.size(), 1);
  Dims kept = src;
  for (int64_t axis : *axes) kept[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(src.size()) : axis)] = 1;
  return kept;
}

// A value of the output's shape, ready to be broadcast over the source.
ValueId with_kept_dims(GradContext& c, ValueId value) {
  const Dims kept = kept_dims(c);
  return c.dims(value) == kept ? value : emit(c, "Reshape", {value}, {{"shape", kept}});
}

Attributes reduced_axes(GradContext& c) {
  const Dims kept = kept_dims(c), &src = c.dims(c.input(0));
  Dims axes;
  for (size_t i = 0; i < src.size(); ++i) {
    if (kept[i] != src[i]) axes.push_back(static_cast<int64_t>(i));
  }
  return {{"axes", axes}};
}

// rule(c) for a source that has elements; one without has a gradient without.
GradRule of_elements(ValueId (*rule)(GradContext&)) {
  return [rule](GradContext& c) {
    const Value& src = c.graph.value(c.input(0));
    if (src.shape().elements() > 0) return of_data(c, rule(c));
    return of_data(c, c.graph.add_initializer(c.diff_name(0), Tensor::zeros(src.dtype, src.shape())));
  };
}

// diff_dst spread over the source's shape again.
ValueId sum(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  return emit(c, "Expand", {with_kept_dims(c, c.diff())}, {{"shape", src}});
}

ValueId mean(GradContext& c) {
  const ValueId wide = sum(c);
  const auto count = static_cast<double>(c.graph.value(c.input(0)).shape().elements()) /
                     static_cast<double>(c.graph.value(c.output(0)).shape().elements());
  return emit(c, "Div", {wide, constant_like(c.graph, c.input(0), count, "count")});
}

// Equal elements share it: isobit.ReduceMaxGrad.
template <int64_t kLargest>
ValueId extreme(GradContext& c) {
  const Attributes attributes = with(reduced_axes(c), "largest", kLargest);
  return emit(c, "isobit.ReduceMaxGrad", {c.input(0), with_kept_dims(c, c.diff())}, attributes);
}

ValueId product(GradContext& c) {
  const Attributes axes = reduced_axes(c);
  return emit(c, "isobit.ReduceProdGrad", {c.input(0), with_kept_dims(c, c.diff())}, axes);
}

// x * (2 dy)
ValueId sum_of_squares(GradContext& c) {
  const ValueId twice = emit(c, "Mul", {c.diff(), constant_like(c.graph, c.input(0), 2, "two")});
  return emit(c, "Mul", {c.input(0), with_kept_dims(c, twice)});
}

// x * (dy / y); 0 where the norm y is 0.
ValueId norm(GradContext& c) {
  const ValueId quotient = emit(c, "Div", {c.diff(), c.output(0)});
  const ValueId defined = emit(c, "isobit.ReluGrad", {c.output(0), quotient});
  return emit(c, "Mul", {c.input(0), with_kept_dims(c, defined)});
}

// exp(x - y) * dy
ValueId log_sum_exp(GradContext& c) {
  const ValueId share = emit(c, "Exp", {emit(c, "Sub", {c.input(0), with_kept_dims(c, c.output(0))})});
  return emit(c, "Mul", {share, with_kept_dims(c, c.diff())});
}

// The same sum from the other end.
Values cumulative_sum(GradContext& c) {
  Values inputs = c.node.inputs;
  inputs[0] = c.diff();
  const int64_t reverse = c.node.attributes.integer("reverse", 0) != 0 ? 0 : 1;
  return of_data(c, emit(c, "CumSum", inputs, with(c.node.attributes, "reverse", reverse)));
}

}  // namespace

void add_reduce(Rules& rules) {
  rules["ReduceSum"] = of_elements(sum);
  rules["ReduceMean"] = of_elements(mean);
  rules["ReduceMax"] = of_elements(extreme<1>);
  rules["ReduceMin"] = of_elements(extreme<0>);
  rules["ReduceProd"] = of_elements(product);
  rules["ReduceSumSquare"] = of_elements(sum_of_squares);
  rules["ReduceL2"] = of_elements(norm);
  rules["ReduceLogSumExp"] = of_elements(log_sum_exp);
  rules["CumSum"] = cumulative_sum;
  rules.none({"isobit.ReduceMaxGrad", "isobit.ReduceProdGrad"}, kIsGradient);
  rules.none({"isobit.GlobalNorm"}, "it is a norm of gradients");
  rules["isobit.SumTo"] = [](GradContext& c) {
    const Dims src = c.dims(c.input(0));
    return Values{c.graph.emit("Expand", {c.diff()}, {{"shape", src}}, c.diff_name(0))};
  };
}

}  // namespace isobit::graph::autograd
