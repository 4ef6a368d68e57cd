#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

ValueId emit(GradContext& c, const std::string& op, Values inputs, Attributes attributes = {}) {
  return c.graph.emit(op, std::move(inputs), std::move(attributes), c.diff_name(0));
}

Values add(GradContext& c) {
  Values out = {kNoValue, kNoValue};
  for (int i : {0, 1}) {
    if (c.wants(i)) out[static_cast<size_t>(i)] = sum_to_shape_of(c.graph, c.diff(), c.input(i), c.diff_name(i));
  }
  return out;
}

Values sub(GradContext& c) {
  Values out = {kNoValue, kNoValue};
  if (c.wants(0)) out[0] = sum_to_shape_of(c.graph, c.diff(), c.input(0), c.diff_name(0));
  if (c.wants(1)) {
    const ValueId negated = c.graph.emit("Neg", {c.diff()}, {}, c.diff_name(1));
    out[1] = sum_to_shape_of(c.graph, negated, c.input(1), c.diff_name(1));
  }
  return out;
}

Values mul(GradContext& c) {
  Values out = {kNoValue, kNoValue};
  for (int i : {0, 1}) {
    if (!c.wants(i)) continue;
    const ValueId product = c.graph.emit("Mul", {c.diff(), c.input(1 - i)}, {}, c.diff_name(i));
    out[static_cast<size_t>(i)] = sum_to_shape_of(c.graph, product, c.input(i), c.diff_name(i));
  }
  return out;
}

// y = a / b: da = dy / b, db = -(da * y)
Values div(GradContext& c) {
  Values out = {kNoValue, kNoValue};
  const ValueId quotient = c.graph.emit("Div", {c.diff(), c.input(1)}, {}, c.diff_name(0));
  if (c.wants(0)) out[0] = sum_to_shape_of(c.graph, quotient, c.input(0), c.diff_name(0));
  if (c.wants(1)) {
    const ValueId product = c.graph.emit("Mul", {quotient, c.output(0)}, {}, c.diff_name(1));
    const ValueId negated = c.graph.emit("Neg", {product}, {}, c.diff_name(1));
    out[1] = sum_to_shape_of(c.graph, negated, c.input(1), c.diff_name(1));
  }
  return out;
}

// 1 / (2 sqrt(x)) = 0.5 / y
Values sqrt_rule(GradContext& c) {
  const ValueId half = emit(c, "Mul", {c.diff(), constant_like(c.graph, c.input(0), 0.5, "half")});
  return {emit(c, "Div", {half, c.output(0)})};
}

// -(dy * y) * y with y = 1 / x
Values reciprocal(GradContext& c) {
  const ValueId once = emit(c, "Mul", {c.diff(), c.output(0)});
  return {emit(c, "Neg", {emit(c, "Mul", {once, c.output(0)})})};
}

// 2 / sqrt(pi) * exp(-x^2), the constant rounded to the operand's type
Values erf_rule(GradContext& c) {
  const ValueId square = emit(c, "Mul", {c.input(0), c.input(0)});
  const ValueId bell = emit(c, "Exp", {emit(c, "Neg", {square})});
  const ValueId scale = constant_like(c.graph, c.input(0), 1.1283791670955126, "two_over_sqrt_pi");
  return {emit(c, "Mul", {emit(c, "Mul", {bell, scale}), c.diff()})};
}

}  // namespace

void add_elementwise(Rules& rules) {
  rules["Add"] = add;
  rules["Sub"] = sub;
  rules["Mul"] = mul;
  rules["Div"] = div;
  rules["Neg"] = [](GradContext& c) { return Values{emit(c, "Neg", {c.diff()})}; };
  rules["Identity"] = [](GradContext& c) { return Values{c.diff()}; };
  // Where x > 0 the gradient, where x < 0 its negative, 0 where x is 0.
  rules["Abs"] = [](GradContext& c) {
    const ValueId above = emit(c, "isobit.ReluGrad", {c.input(0), c.diff()});
    const ValueId below = emit(c, "isobit.ReluGrad", {emit(c, "Neg", {c.input(0)}), c.diff()});
    return Values{emit(c, "Sub", {above, below})};
  };
  rules["Exp"] = [](GradContext& c) { return Values{emit(c, "Mul", {c.diff(), c.output(0)})}; };
  rules["Log"] = [](GradContext& c) { return Values{emit(c, "Div", {c.diff(), c.input(0)})}; };
  rules["Sqrt"] = sqrt_rule;
  rules["Reciprocal"] = reciprocal;
  rules["Erf"] = erf_rule;
  rules["Sin"] = [](GradContext& c) { return Values{emit(c, "Mul", {c.diff(), emit(c, "Cos", {c.input(0)})})}; };
  rules["Cos"] = [](GradContext& c) {
    return Values{emit(c, "Neg", {emit(c, "Mul", {c.diff(), emit(c, "Sin", {c.input(0)})})})};
  };
  // These need only the output, so that the activation may overwrite its input.
  rules["Relu"] = [](GradContext& c) { return Values{emit(c, "isobit.ReluGrad", {c.output(0), c.diff()})}; };
  rules["Sigmoid"] = [](GradContext& c) { return Values{emit(c, "isobit.SigmoidGrad", {c.output(0), c.diff()})}; };
  rules["Tanh"] = [](GradContext& c) { return Values{emit(c, "isobit.TanhGrad", {c.output(0), c.diff()})}; };
  rules["Gelu"] = [](GradContext& c) {
    return Values{emit(c, "isobit.GeluGrad", {c.input(0), c.diff()}, c.node.attributes)};
  };
  rules["LeakyRelu"] = [](GradContext& c) {
    return Values{emit(c, "isobit.LeakyReluGrad", {c.input(0), c.diff()}, c.node.attributes)};
  };
  // The mask is a function of (seed, step, node, element): the same operator applied to the gradient.
  rules["isobit.Dropout"] = [](GradContext& c) {
    return Values{emit(c, "isobit.Dropout", {c.diff(), c.input(1)}, c.node.attributes), kNoValue};
  };
}

}  // namespace isobit::graph::autograd
