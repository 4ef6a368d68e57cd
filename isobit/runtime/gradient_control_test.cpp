// Gradients through graphs that nodes run.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isobit/graph/inner_graph_for_test.h"
#include "isobit/runtime/gradient_check_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::boolean;
using graph::f64;
using graph::Graph;
using graph::i64;
using graph::Ids;
using graph::inner_graph;
using graph::kNoValue;
using graph::truth;
using graph::ValueId;
using Ints = std::vector<int64_t>;

ValueId node(Graph& g, const char* op, Ids inputs, Attributes attributes = {}) {
  return g.emit(op, std::move(inputs), std::move(attributes), "v");
}

// Of x [3], y [3] and a weight [2, 3], which only one of the branches uses.
Attributes branches() {
  const std::vector<graph::Type> inputs = {f64({3}), f64({3}), f64({2, 3})};
  const auto then_branch = inner_graph(inputs, [](Graph& g, const Ids& in) {
    return Ids{node(g, "Mul", {node(g, "Exp", {in[0]}), in[1]}), node(g, "Tanh", {in[0]})};
  });
  const auto else_branch = inner_graph(inputs, [](Graph& g, const Ids& in) {
    const ValueId sums =
        node(g, "ReduceSum", {node(g, "Mul", {in[2], in[2]})}, {{"axes", Ints{0}}, {"keepdims", int64_t{0}}});
    return Ids{node(g, "Sub", {sums, in[0]}), in[1]};
  });
  return {{"then_branch", then_branch}, {"else_branch", else_branch}};
}

TEST(GradientOfControl, IfGoesThroughTheBranchThatIsTaken) {
  for (bool condition : {false, true}) {
    for (bool known : {false, true}) {
      for (int output : {0, 1, 2}) {
        GradientCheck c;
        const ValueId x = c.input({3}), y = c.input({3}), w = c.input({2, 3});
        const ValueId decides = known ? c.constant(truth(condition)) : c.fed(truth(condition));
        const auto outputs = c.emit_all("If", {decides, x, y, w}, branches(), 2);
        // What neither branch may use is used behind, so that every operand has a gradient.
        const ValueId chosen = output == 2 ? c.sum(outputs) : outputs[static_cast<size_t>(output)];
        c.check(c.sum({chosen, x, y, w}));
      }
    }
  }
}

TEST(GradientOfControl, AnOperandThatIsCapturedTwiceCountsTwice) {
  for (bool known : {false, true}) {
    GradientCheck c;
    const ValueId x = c.input({3}), w = c.input({2, 3});
    const ValueId decides = known ? c.constant(truth(true)) : c.fed(truth(true));
    c.check(c.sum({c.emit("If", {decides, x, x, w}, branches(), 1), w}));
  }
}

TEST(GradientOfControl, IfWithinIfAndConstantsThatItCaptures) {
  const auto inner_then = inner_graph({f64({4}), i64({2})}, [](Graph& g, const Ids& in) {
    return Ids{node(g, "Reshape",
                    {node(g, "Reshape", {node(g, "Sin", {in[0]}), in[1]}),
                     g.add_initializer("flat", Tensor::of<int64_t>({1}, Ints{4}))})};
  });
  const auto inner_else =
      inner_graph({f64({4}), i64({2})}, [](Graph& g, const Ids& in) { return Ids{node(g, "Cos", {in[0]})}; });
  const auto both = inner_graph({boolean(), f64({4}), i64({2})}, [&](Graph& g, const Ids& in) {
    const ValueId y = node(g, "If", in, {{"then_branch", inner_then}, {"else_branch", inner_else}});
    return Ids{node(g, "Mul", {y, in[1]})};
  });
  const auto plain = inner_graph({boolean(), f64({4}), i64({2})},
                                 [](Graph& g, const Ids& in) { return Ids{node(g, "Exp", {in[1]})}; });
  for (bool outer : {false, true}) {
    for (bool inner : {false, true}) {
      GradientCheck c;
      const ValueId shape = c.constant(Tensor::of<int64_t>({2}, Ints{2, 2}));
      c.check(c.emit("If", {c.fed(truth(outer)), c.fed(truth(inner)), c.input({4}), shape},
                     {{"then_branch", both}, {"else_branch", plain}}));
    }
  }
}

// h' = tanh(x w + h); the steps are stacked along an axis of their own.
std::shared_ptr<const Graph> cell(bool with_trips) {
  std::vector<graph::Type> inputs = {f64({2, 3}), f64({2, 4}), f64({4, 3})};
  if (with_trips) inputs.insert(inputs.begin(), {i64({}), boolean()});
  return inner_graph(inputs, [with_trips](Graph& g, const Ids& in) {
    const size_t first = with_trips ? 2 : 0;
    const ValueId sum = node(g, "Add", {node(g, "MatMul", {in[first + 1], in[first + 2]}), in[first]});
    const ValueId h = node(g, "Tanh", {sum});
    Ids outputs = {h, node(g, "Mul", {h, in[first]})};
    if (with_trips) outputs.insert(outputs.begin(), node(g, "Identity", {in[1]}));
    return outputs;
  });
}

TEST(GradientOfControl, ScanIsWrittenOutStepByStep) {
  for (int64_t direction : {0, 1}) {
    for (int output : {0, 1, 2}) {
      GradientCheck c;
      const ValueId h = c.input({2, 3}), x = c.input({2, 5, 4}), w = c.input({4, 3});
      const auto outputs = c.emit_all("Scan", {h, x, w},
                                      {{"body", cell(false)},
                                       {"carried", int64_t{1}},
                                       {"num_scan_inputs", int64_t{1}},
                                       {"scan_input_axes", Ints{-2}},
                                       {"scan_input_directions", Ints{direction}},
                                       {"scan_output_axes", Ints{-1}},
                                       {"scan_output_directions", Ints{1 - direction}}},
                                      2);
      if (output < 2) {
        c.check(outputs[static_cast<size_t>(output)]);
        continue;
      }
      const ValueId wide = c.graph_so_far().emit("Unsqueeze", {outputs[0]}, {{"axes", Ints{2}}}, "wide");
      c.check(c.sum({outputs[1], wide}));
    }
  }
}

// A body of two sequences of which one wants no gradient, and no state.
TEST(GradientOfControl, ScanOfConstantsBesideWhatIsLearnt) {
  const auto body = inner_graph({f64({2}), f64({2})}, [](Graph& g, const Ids& in) {
    return Ids{node(g, "Mul", {in[0], in[1]})};
  });
  GradientCheck c;
  const double numbers[] = {1, 2, 3, 4, 5, 6};
  const ValueId given = c.constant(Tensor::of<double>({3, 2}, numbers)), x = c.input({3, 2});
  c.check(c.emit("Scan", {given, x}, {{"body", body}, {"num_scan_inputs", int64_t{2}}}));
}

TEST(GradientOfControl, LoopsThatMakeAKnownNumberOfTrips) {
  for (bool condition : {false, true}) {
    GradientCheck c;
    const ValueId h = c.input({2, 3}), x = c.input({2, 4}), w = c.input({4, 3});
    const ValueId goes_on = condition ? c.constant(truth(true)) : kNoValue;
    const auto outputs = c.emit_all("Loop", {c.constant(Tensor::scalar(int64_t{3})), goes_on, h, x, w},
                                    {{"body", cell(true)}, {"carried", int64_t{1}}}, 2);
    c.check(c.sum(outputs));
  }
  // Without a trip the carried value stays what it was.
  GradientCheck none;
  const ValueId h = none.input({2, 3}), x = none.input({2, 4}), w = none.input({4, 3});
  const ValueId kept = none.emit("Loop", {none.constant(Tensor::scalar(int64_t{0})), kNoValue, h, x, w},
                                 {{"body", cell(true)}, {"carried", int64_t{1}}});
  const auto total = [&](ValueId v) { return none.graph_so_far().emit("ReduceSum", {v}, {}, "total"); };
  none.check(none.sum({kept, total(x), total(w)}));
}

std::string refusal(Graph& g, ValueId y, ValueId target) {
  const ValueId loss = g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "loss");
  const ValueId targets[] = {target};
  const auto found = graph::append_gradients(g, loss, targets);
  return found ? "" : found.error().message;
}

TEST(GradientOfControl, WhatFollowsFromDataIsRefused) {
  const auto halves = inner_graph({i64({}), boolean(), f64({3})}, [](Graph& g, const Ids& in) {
    const ValueId half = node(g, "Mul", {in[2], g.add_initializer("half", Tensor::scalar(0.5))});
    const ValueId sum = node(g, "ReduceSum", {half}, {{"keepdims", int64_t{0}}});
    return Ids{node(g, "Less", {g.add_initializer("one", Tensor::scalar(1.0)), sum}), half};
  });
  const Attributes attributes = {{"body", halves}, {"carried", int64_t{1}}};
  {
    Graph g;
    const ValueId x = g.add_input("x", DType::kFloat64, {3}), count = g.add_input("n", DType::kInt64, {});
    EXPECT_NE(refusal(g, g.emit("Loop", {count, kNoValue, x}, attributes, "y"), x)
                  .find("node 'y' (Loop): how many trips it makes follows from data"),
              std::string::npos);
  }
  {
    Graph g;
    const ValueId x = g.add_input("x", DType::kFloat64, {3});
    const ValueId most = g.add_initializer("n", Tensor::scalar(int64_t{9}));
    const ValueId goes_on = g.add_initializer("c", truth(true));
    EXPECT_NE(refusal(g, g.emit("Loop", {most, goes_on, x}, attributes, "y"), x).find("follows from data"),
              std::string::npos);
  }
  {
    Graph g;
    const ValueId x = g.add_input("x", DType::kFloat64, {3});
    const ValueId most = g.add_initializer("n", Tensor::scalar(int64_t{1} << 40));
    EXPECT_NE(refusal(g, g.emit("Loop", {most, kNoValue, x}, attributes, "y"), x).find("no gradient of 1099511627776"),
              std::string::npos);
  }
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat64, {3}), c = g.add_input("c", DType::kBool, {});
  const auto step = inner_graph({f64({3})}, [](Graph& inner, const Ids& in) {
    return Ids{node(inner, "isobit.ReluGrad", {in[0], in[0]})};
  });
  const auto same = inner_graph({f64({3})}, [](Graph& inner, const Ids& in) { return Ids{node(inner, "Neg", in)}; });
  const ValueId y = g.emit("If", {c, x}, {{"then_branch", step}, {"else_branch", same}}, "y");
  EXPECT_NE(refusal(g, y, x).find("node 'y' (If): then_branch: node 'v': operator isobit.ReluGrad has no gradient"),
            std::string::npos);
}

}  // namespace
}  // namespace isobit::runtime
