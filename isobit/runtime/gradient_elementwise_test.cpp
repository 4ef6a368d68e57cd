// Gradients of arithmetic, functions and activations.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "isobit/runtime/gradient_check_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::ValueId;
using Ints = std::vector<int64_t>;

TEST(Gradient, FunctionsOfOneOperand) {
  const std::vector<std::tuple<const char*, double, double>> ops = {
      {"Neg", -1, 1},         {"Sqrt", 0.5, 2},     {"Exp", -1, 1},       {"Log", 0.5, 2}, {"Erf", -2, 2},
      {"Reciprocal", 0.5, 2}, {"Relu", -1, 1},      {"Sigmoid", -3, 3},   {"Tanh", -2, 2}, {"Identity", -1, 1},
      {"Abs", -1, 1},         {"Sin", -4, 4},       {"Cos", -4, 4},       {"Tan", -1, 1},  {"Asin", -0.9, 0.9},
      {"Acos", -0.9, 0.9},    {"Atan", -3, 3},      {"Sinh", -2, 2},      {"Cosh", -2, 2}, {"Asinh", -3, 3},
      {"Acosh", 1.2, 3},      {"Atanh", -0.9, 0.9}, {"HardSwish", -5, 5}, {"Mish", -5, 5}, {"Softplus", -5, 5},
      {"Softsign", -3, 3}};
  for (const auto& [op, low, high] : ops) {
    SCOPED_TRACE(op);
    GradientCheck c;
    c.check(c.emit(op, {c.input({3, 15}, low, high)}));
  }
}

TEST(Gradient, ActivationsWithParameters) {
  const std::vector<std::pair<const char*, Attributes>> ops = {{"Elu", {}},
                                                               {"Elu", {{"alpha", 0.3}}},
                                                               {"Celu", {{"alpha", 2.5}}},
                                                               {"Selu", {}},
                                                               {"Selu", {{"alpha", 0.7}, {"gamma", 1.3}}},
                                                               {"HardSigmoid", {}},
                                                               {"HardSigmoid", {{"alpha", 0.6}, {"beta", 0.2}}},
                                                               {"Swish", {}},
                                                               {"Swish", {{"alpha", -1.5}}},
                                                               {"ThresholdedRelu", {{"alpha", 0.4}}},
                                                               {"Shrink", {{"lambd", 0.4}, {"bias", 0.2}}}};
  for (const auto& [op, attributes] : ops) {
    SCOPED_TRACE(op);
    GradientCheck c;
    c.check(c.emit(op, {c.input({50}, -4, 4)}, attributes));
  }
}

TEST(Gradient, SlopesOfPRelu) {
  for (const auto& [a, b] :
       std::vector<std::pair<Ints, Ints>>{{{3, 4}, {3, 4}}, {{2, 3, 4}, {3, 1}}, {{5}, {}}, {{2, 3}, {1, 3}}}) {
    GradientCheck c;
    const ValueId x = c.input(a), slope = c.input(b);
    c.check(c.emit("PRelu", {x, slope}));
  }
}

TEST(Gradient, SeveralOperandsThatBroadcast) {
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    for (const std::vector<Ints>& shapes :
         std::vector<std::vector<Ints>>{{{4}}, {{3, 4}, {4}}, {{3, 1}, {4}, {}}, {{4}, {1}, {2, 1, 4}, {3, 1}}}) {
      SCOPED_TRACE(op);
      GradientCheck c;
      std::vector<ValueId> inputs;
      for (const Ints& dims : shapes) inputs.push_back(c.input(dims));
      c.check(c.emit(op, inputs));
    }
  }
}

// 0 wherever there is a slope: what they are multiplied by has a gradient.
TEST(Gradient, FunctionsThatAreConstantBetweenSteps) {
  for (const char* op : {"Floor", "Ceil", "Round", "Sign"}) {
    SCOPED_TRACE(op);
    GradientCheck c;
    const ValueId x = c.input({3, 15}, -4, 4);
    c.check(c.emit("Mul", {x, c.emit(op, {x})}));
  }
}

TEST(Gradient, Remainders) {
  GradientCheck c;
  const ValueId a = c.input({2, 3, 4}, -9, 9), b = c.input({3, 1}, 0.7, 2);
  c.check(c.emit("Mod", {a, b}, {{"fmod", int64_t{1}}}));
}

// Where operands are equal the slopes on both sides differ; half of each is their mean.
TEST(Gradient, EqualOperandsShareTheGradient) {
  for (const char* op : {"Max", "Min"}) {
    graph::Graph g;
    const ValueId a = g.add_input("a", DType::kFloat64, {3}), b = g.add_input("b", DType::kFloat64, {3});
    const ValueId y = g.emit(op, {a, b}, {}, "y");
    const ValueId loss = g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "loss");
    const ValueId targets[] = {a, b};
    const auto made = graph::append_gradients(g, loss, targets).value();
    for (ValueId grad : made) g.add_output(grad);
    ThreadPool pool(1);
    const double x[] = {1, 2, 3}, z[] = {1, 5, 2};
    const auto grads =
        Executor(g)
            .run({kernels::best_isa(), &pool}, {{a, Tensor::of<double>({3}, x)}, {b, Tensor::of<double>({3}, z)}})
            .value();
    const bool max = std::string(op) == "Max";
    const double first[] = {0.5, max ? 0.0 : 1.0, max ? 1.0 : 0.0}, second[] = {0.5, max ? 1.0 : 0.0, max ? 0.0 : 1.0};
    EXPECT_TRUE(identical(grads[0], Tensor::of<double>({3}, first))) << op;
    EXPECT_TRUE(identical(grads[1], Tensor::of<double>({3}, second))) << op;
  }
}

TEST(Gradient, ClipAndItsLimits) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{{-0.5, 0.4}, {0.4, -0.5}}) {
    GradientCheck c;
    const ValueId x = c.input({40}), min = c.input({}, low, low + 1e-3), max = c.input({}, high, high + 1e-3);
    c.check(c.emit("Clip", {x, min, max}));
  }
  GradientCheck above;
  const ValueId x = above.input({40}), max = above.input({}, 0.3, 0.301);
  above.check(above.emit("Clip", {x, graph::kNoValue, max}));
  GradientCheck below;
  const ValueId y = below.input({40}), min = below.input({}, 0.3, 0.301);
  below.check(below.emit("Clip", {y, min}));
  GradientCheck unlimited;
  unlimited.check(unlimited.emit("Clip", {unlimited.input({4})}));
}

TEST(Gradient, WhereBothSidesBroadcast) {
  GradientCheck c;
  Tensor condition(DType::kBool, {2, 1, 4});
  for (int i = 0; i < 8; ++i) static_cast<uint8_t*>(condition.raw())[i] = i % 3 == 0 ? 1 : 0;
  const ValueId x = c.input({3, 4}), y = c.input({3, 1});
  c.check(c.emit("Where", {c.constant(condition), x, y}));
}

TEST(Gradient, PowersAndExponents) {
  for (const auto& [a, b] : std::vector<std::pair<Ints, Ints>>{{{3, 4}, {3, 4}}, {{2, 3, 4}, {3, 1}}, {{5}, {}}}) {
    GradientCheck c;
    const ValueId x = c.input(a, 0.5, 2), p = c.input(b, -2, 3);
    c.check(c.emit("Pow", {x, p}));
  }
  for (double p : {2.0, 3.0, 1.0, 0.0, -1.0}) {
    GradientCheck c;
    c.check(c.emit("Pow", {c.input({20}, -2, -0.5), c.constant(Tensor::scalar(p))}));
  }
  GradientCheck c;
  const int64_t exponents[] = {2, -1, 0, 3};
  c.check(c.emit("Pow", {c.input({5, 4}, 0.5, 2), c.constant(Tensor::of<int64_t>({4}, exponents))}));
}

// An operand that is 0, to an exponent that is 0: the power is 1 whatever the operand.
TEST(Gradient, OfAConstantPowerIsZero) {
  graph::Graph g;
  const ValueId x = g.add_input("x", DType::kFloat64, {2});
  const ValueId y = g.emit("Pow", {x, g.add_initializer("p", Tensor::scalar(0.0))}, {}, "y");
  const ValueId loss = g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "loss");
  const ValueId targets[] = {x};
  g.add_output(graph::append_gradients(g, loss, targets).value()[0]);
  ThreadPool pool(1);
  const double values[] = {0, 3};
  const auto grads = Executor(g).run({kernels::best_isa(), &pool}, {{x, Tensor::of<double>({2}, values)}}).value();
  EXPECT_TRUE(identical(grads[0], Tensor::zeros(DType::kFloat64, {2})));
}

TEST(Gradient, CastBetweenRealTypes) {
  GradientCheck c;
  c.check(c.emit("Cast", {c.input({6})}, {{"to", static_cast<int64_t>(DType::kFloat64)}}));
  graph::Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {2});
  const ValueId wide = g.emit("Cast", {x}, {{"to", static_cast<int64_t>(DType::kFloat64)}}, "wide");
  const ValueId loss = g.emit("ReduceSum", {wide}, {{"keepdims", int64_t{0}}}, "loss");
  const ValueId targets[] = {x};
  const ValueId grad = graph::append_gradients(g, loss, targets).value()[0];
  EXPECT_EQ(g.value(grad).dtype, DType::kFloat32);
}

}  // namespace
}  // namespace isobit::runtime
