#include <algorithm>

#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

ValueId number(GradContext& c, double value, const std::string& name) {
  return constant_like(c.graph, c.input(0), value, name);
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
  const ValueId half = emit(c, "Mul", {c.diff(), number(c, 0.5, "half")});
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
  const ValueId scale = number(c, 1.1283791670955126, "two_over_sqrt_pi");
  return {emit(c, "Mul", {emit(c, "Mul", {bell, scale}), c.diff()})};
}

// y = x0 + x1 + ..., or that divided by their number.
Values sum_of_all(GradContext& c, bool mean) {
  const auto n = c.node.inputs.size();
  const ValueId diff =
      mean && n > 1 ? emit(c, "Div", {c.diff(), number(c, static_cast<double>(n), "count")}) : c.diff();
  Values out(n, kNoValue);
  for (size_t k = 0; k < n; ++k) {
    const int i = static_cast<int>(k);
    if (c.wants(i)) out[k] = sum_to_shape_of(c.graph, diff, c.input(i), c.diff_name(i));
  }
  return out;
}

// y = x0 op x1 op ... from the left, op the larger or the smaller of two: the gradient goes to the winner, and half of
// it to each of two that are equal.
Values extremum(GradContext& c, const std::string& op) {
  const auto n = c.node.inputs.size();
  const auto less = [&](ValueId a, ValueId b) {
    return op == "Max" ? emit(c, "Less", {a, b}) : emit(c, "Less", {b, a});
  };
  Values before = {c.input(0)};  // what x1, x2 ... meet
  for (size_t k = 1; k + 1 < n; ++k) before.push_back(emit(c, op, {before.back(), c.input(static_cast<int>(k))}));
  Values out(n, kNoValue);
  ValueId diff = c.diff();
  for (size_t k = n - 1; k > 0; --k) {
    const int i = static_cast<int>(k);
    const ValueId a = before[k - 1], b = c.input(i);
    const ValueId half = emit(c, "Mul", {diff, number(c, 0.5, "half")});
    const ValueId shared = where(c, emit(c, "Equal", {a, b}), half, diff);
    if (c.wants(i)) {
      out[k] = sum_to_shape_of(c.graph, where(c, less(b, a), kNoValue, shared), b, c.diff_name(i));
    }
    if (std::count(c.wanted.begin(), c.wanted.begin() + i, true) == 0) return out;
    diff = sum_to_shape_of(c.graph, where(c, less(a, b), kNoValue, shared), a, c.diff_name(0));
  }
  out[0] = diff;
  return out;
}

// y = min(max, max(x, min)): x where neither limit counts, the limits themselves included.
Values clip(GradContext& c) {
  const ValueId x = c.input(0), low = c.input(1), high = c.input(2);
  Values out(c.node.inputs.size(), kNoValue);
  if (c.wants(0)) out[0] = where(c, emit(c, "Equal", {x, c.output(0)}), c.diff(), kNoValue);
  if (c.wants(1)) {
    ValueId diff = where(c, emit(c, "Less", {x, low}), c.diff(), kNoValue);
    if (high != kNoValue) diff = where(c, emit(c, "Less", {high, low}), kNoValue, diff);
    out[1] = sum_to_shape_of(c.graph, diff, low, c.diff_name(1));
  }
  if (c.wants(2)) {
    const ValueId raised = low == kNoValue ? x : emit(c, "Max", {x, low});
    const ValueId diff = where(c, emit(c, "Less", {high, raised}), c.diff(), kNoValue);
    out[2] = sum_to_shape_of(c.graph, diff, high, c.diff_name(2));
  }
  return out;
}

Values where_rule(GradContext& c) {
  Values out(3, kNoValue);
  if (c.wants(1)) {
    out[1] = sum_to_shape_of(c.graph, where(c, c.input(0), c.diff(), kNoValue), c.input(1), c.diff_name(1));
  }
  if (c.wants(2)) {
    out[2] = sum_to_shape_of(c.graph, where(c, c.input(0), kNoValue, c.diff()), c.input(2), c.diff_name(2));
  }
  return out;
}

ValueId as_type(GradContext& c, ValueId id, DType dtype) {
  if (c.graph.value(id).dtype == dtype) return id;
  return emit(c, "Cast", {id}, {{"to", static_cast<int64_t>(dtype)}});
}

Values cast(GradContext& c) { return {as_type(c, c.diff(), *gradient_type(c.graph.value(c.input(0)).dtype))}; }

// y = a - n b with a whole number n of the sign of a / b: da = dy, db = -(dy n).
Values mod(GradContext& c) {
  const ValueId a = c.input(0), b = c.input(1);
  Values out(2, kNoValue);
  if (c.wants(0)) out[0] = sum_to_shape_of(c.graph, c.diff(), a, c.diff_name(0));
  if (c.wants(1)) {
    const ValueId n = emit(c, "Round", {emit(c, "Div", {emit(c, "Sub", {a, c.output(0)}), b})});
    const ValueId negated = emit(c, "Neg", {emit(c, "Mul", {c.diff(), n})});
    out[1] = sum_to_shape_of(c.graph, negated, b, c.diff_name(1));
  }
  return out;
}

// y = x^p: dx = dy * (p * x^(p - 1)), 0 where p is 0; dp = dy * (y * log x), 0 where x is 0.
Values pow_rule(GradContext& c) {
  const ValueId x = c.input(0), y = c.output(0);
  const DType real = c.graph.value(x).dtype, exponents = c.graph.value(c.input(1)).dtype;
  const ValueId p = as_type(c, c.input(1), real), zero = number(c, 0, "zero");
  Values out(2, kNoValue);
  if (c.wants(0)) {
    const ValueId lower = emit(c, "Pow", {x, emit(c, "Sub", {p, number(c, 1, "one")})});
    const ValueId diff = emit(c, "Mul", {c.diff(), emit(c, "Mul", {p, lower})});
    out[0] = sum_to_shape_of(c.graph, where(c, emit(c, "Equal", {p, zero}), kNoValue, diff), x, c.diff_name(0));
  }
  if (c.wants(1) && FloatTypes::contains(exponents)) {
    const ValueId diff = emit(c, "Mul", {c.diff(), emit(c, "Mul", {y, emit(c, "Log", {x})})});
    const ValueId masked = where(c, emit(c, "Equal", {x, zero}), kNoValue, diff);
    out[1] = as_type(c, sum_to_shape_of(c.graph, masked, c.input(1), c.diff_name(1)), exponents);
  }
  return out;
}

// dy / f(x), and its parts.
ValueId over(GradContext& c, ValueId divisor) { return emit(c, "Div", {c.diff(), divisor}); }
ValueId root(GradContext& c, ValueId x) { return emit(c, "Sqrt", {x}); }
ValueId one_plus_square(GradContext& c, ValueId x) {
  return emit(c, "Add", {emit(c, "Mul", {x, x}), number(c, 1, "one")});
}
// (1 - x) (1 + x), which keeps its digits where x is near 1, or the negative of it.
ValueId one_minus_square(GradContext& c, bool negative = false) {
  const ValueId x = c.input(0), one = number(c, 1, "one");
  const ValueId below = negative ? emit(c, "Sub", {x, one}) : emit(c, "Sub", {one, x});
  return emit(c, "Mul", {below, emit(c, "Add", {x, one})});
}
ValueId times(GradContext& c, const std::string& function) {
  return emit(c, "Mul", {c.diff(), emit(c, function, {c.input(0)})});
}

void add_functions(Rules& rules) {
  rules["Abs"] = [](GradContext& c) { return Values{times(c, "Sign")}; };
  rules["Sin"] = [](GradContext& c) { return Values{times(c, "Cos")}; };
  rules["Cos"] = [](GradContext& c) { return Values{emit(c, "Neg", {times(c, "Sin")})}; };
  rules["Tan"] = [](GradContext& c) { return Values{emit(c, "Mul", {c.diff(), one_plus_square(c, c.output(0))})}; };
  rules["Asin"] = [](GradContext& c) { return Values{over(c, root(c, one_minus_square(c)))}; };
  rules["Acos"] = [](GradContext& c) { return Values{emit(c, "Neg", {over(c, root(c, one_minus_square(c)))})}; };
  rules["Atan"] = [](GradContext& c) { return Values{over(c, one_plus_square(c, c.input(0)))}; };
  rules["Sinh"] = [](GradContext& c) { return Values{times(c, "Cosh")}; };
  rules["Cosh"] = [](GradContext& c) { return Values{times(c, "Sinh")}; };
  rules["Asinh"] = [](GradContext& c) { return Values{over(c, root(c, one_plus_square(c, c.input(0))))}; };
  rules["Acosh"] = [](GradContext& c) { return Values{over(c, root(c, one_minus_square(c, true)))}; };
  rules["Atanh"] = [](GradContext& c) { return Values{over(c, one_minus_square(c))}; };
  for (const char* op : {"Floor", "Ceil", "Round", "Sign"}) rules[op] = constant_between_steps;
}

}  // namespace

void add_elementwise(Rules& rules) {
  add_functions(rules);
  rules["Add"] = add;
  rules["Sub"] = sub;
  rules["Mul"] = mul;
  rules["Div"] = div;
  rules["Neg"] = [](GradContext& c) { return Values{emit(c, "Neg", {c.diff()})}; };
  rules["Identity"] = [](GradContext& c) { return Values{c.diff()}; };
  rules["Exp"] = [](GradContext& c) { return Values{emit(c, "Mul", {c.diff(), c.output(0)})}; };
  rules["Log"] = [](GradContext& c) { return Values{emit(c, "Div", {c.diff(), c.input(0)})}; };
  rules["Sqrt"] = sqrt_rule;
  rules["Reciprocal"] = reciprocal;
  rules["Erf"] = erf_rule;
  rules["Pow"] = pow_rule;
  rules["Sum"] = [](GradContext& c) { return sum_of_all(c, false); };
  rules["Mean"] = [](GradContext& c) { return sum_of_all(c, true); };
  rules["Max"] = [](GradContext& c) { return extremum(c, "Max"); };
  rules["Min"] = [](GradContext& c) { return extremum(c, "Min"); };
  rules["Clip"] = clip;
  rules["Where"] = where_rule;
  rules["Cast"] = cast;
  rules["Mod"] = mod;
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
  rules.none({"isobit.GeluGrad", "isobit.LeakyReluGrad", "isobit.ReluGrad", "isobit.SigmoidGrad", "isobit.TanhGrad"},
             kIsGradient);
}

}  // namespace isobit::graph::autograd
