#include "isobit/graph/ops/activation.h"

#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

double attribute(GradContext& c, const char* name, double fallback) { return c.node.attributes.real(name, fallback); }

ValueId number(GradContext& c, double value, const std::string& name) {
  return constant_like(c.graph, c.input(0), value, name);
}
ValueId mul(GradContext& c, ValueId a, ValueId b) { return emit(c, "Mul", {a, b}); }
ValueId add(GradContext& c, ValueId a, ValueId b) { return emit(c, "Add", {a, b}); }
ValueId less(GradContext& c, ValueId a, ValueId b) { return emit(c, "Less", {a, b}); }

ValueId is_negative(GradContext& c) { return less(c, c.input(0), number(c, 0, "zero")); }

// scale * e^x, of which nothing is used where it overflows.
ValueId scaled_exp(GradContext& c, double scale) {
  return mul(c, emit(c, "Exp", {c.input(0)}), number(c, scale, "scale"));
}

Values elu(GradContext& c) {
  return {where(c, is_negative(c), mul(c, c.diff(), scaled_exp(c, attribute(c, "alpha", ops::kEluAlpha))), c.diff())};
}

Values selu(GradContext& c) {
  const double alpha = attribute(c, "alpha", ops::kSeluAlpha), gamma = attribute(c, "gamma", ops::kSeluGamma);
  const ValueId below = mul(c, c.diff(), scaled_exp(c, gamma * alpha));
  return {where(c, is_negative(c), below, mul(c, c.diff(), number(c, gamma, "gamma")))};
}

Values celu(GradContext& c) {
  const ValueId q = emit(c, "Div", {c.input(0), number(c, attribute(c, "alpha", ops::kCeluAlpha), "alpha")});
  return {where(c, is_negative(c), mul(c, c.diff(), emit(c, "Exp", {q})), c.diff())};
}

// alpha where the output is neither 0 nor 1.
Values hard_sigmoid(GradContext& c) {
  const ValueId y = c.output(0);
  const ValueId inside = emit(c, "And", {less(c, number(c, 0, "zero"), y), less(c, y, number(c, 1, "one"))});
  return {
      where(c, inside, mul(c, c.diff(), number(c, attribute(c, "alpha", ops::kHardSigmoidAlpha), "alpha")), kNoValue)};
}

// 0 below -3, 1 above 3, between them x / 3 + 1 / 2.
Values hard_swish(GradContext& c) {
  const ValueId x = c.input(0), three = number(c, 3, "three");
  const ValueId slope = add(c, emit(c, "Div", {x, three}), number(c, 0.5, "half"));
  const ValueId inside = where(c, less(c, three, x), c.diff(), mul(c, c.diff(), slope));
  return {where(c, less(c, x, number(c, -3, "minus_three")), kNoValue, inside)};
}

// t + x s (1 - t) (1 + t) with s = sigmoid(x) and t = tanh(softplus(x)).
Values mish(GradContext& c) {
  const ValueId x = c.input(0);
  const ValueId t = emit(c, "Tanh", {emit(c, "Softplus", {x})});
  const ValueId rest = emit(c, "isobit.TanhGrad", {t, mul(c, x, emit(c, "Sigmoid", {x}))});
  return {mul(c, c.diff(), add(c, t, rest))};
}

// s + t s (1 - s) with t = alpha x and s = sigmoid(t).
Values swish(GradContext& c) {
  const ValueId t = mul(c, c.input(0), number(c, attribute(c, "alpha", ops::kSwishAlpha), "alpha"));
  const ValueId s = emit(c, "Sigmoid", {t});
  return {mul(c, c.diff(), add(c, s, emit(c, "isobit.SigmoidGrad", {s, t})))};
}

Values softplus(GradContext& c) { return {mul(c, c.diff(), emit(c, "Sigmoid", {c.input(0)}))}; }

// 1 / (1 + |x|)^2
Values softsign(GradContext& c) {
  const ValueId d = add(c, emit(c, "Abs", {c.input(0)}), number(c, 1, "one"));
  return {emit(c, "Div", {c.diff(), mul(c, d, d)})};
}

Values thresholded_relu(GradContext& c) {
  const ValueId alpha = number(c, attribute(c, "alpha", ops::kThresholdedReluAlpha), "alpha");
  return {where(c, less(c, alpha, c.input(0)), c.diff(), kNoValue)};
}

Values shrink(GradContext& c) {
  const ValueId lambda = number(c, attribute(c, "lambd", ops::kShrinkLambda), "lambda");
  return {where(c, less(c, lambda, emit(c, "Abs", {c.input(0)})), c.diff(), kNoValue)};
}

Values prelu(GradContext& c) {
  const ValueId x = c.input(0), slope = c.input(1), negative = is_negative(c);
  Values out(2, kNoValue);
  if (c.wants(0)) out[0] = where(c, negative, mul(c, c.diff(), slope), c.diff());
  if (c.wants(1)) {
    out[1] = sum_to_shape_of(c.graph, where(c, negative, mul(c, c.diff(), x), kNoValue), slope, c.diff_name(1));
  }
  return out;
}

}  // namespace

void add_activation(Rules& rules) {
  rules["Elu"] = elu;
  rules["Selu"] = selu;
  rules["Celu"] = celu;
  rules["HardSigmoid"] = hard_sigmoid;
  rules["HardSwish"] = hard_swish;
  rules["Mish"] = mish;
  rules["Swish"] = swish;
  rules["Softplus"] = softplus;
  rules["Softsign"] = softsign;
  rules["ThresholdedRelu"] = thresholded_relu;
  rules["Shrink"] = shrink;
  rules["PRelu"] = prelu;
}

}  // namespace isobit::graph::autograd
