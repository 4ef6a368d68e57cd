// Graphs whose shapes follow from data. If is where such shapes come from here: its branches give different ones.
#include <algorithm>

#include "isobit/runtime/control_for_test.h"

namespace isobit::runtime {
namespace {

using namespace testing;

using Inner = std::shared_ptr<const Graph>;

Inner as_it_is() {
  return inner_graph({f32({4})}, [](Graph&, const Ids& in) { return in; });
}
Inner twice() {
  return inner_graph({f32({4})}, [](Graph& h, const Ids& in) {
    return Ids{h.emit("Concat", {in[0], in[0]}, {{"axis", int64_t{0}}}, "twice")};
  });
}

class Stepwise : public Runs {
 protected:
  Stepwise() {
    cond_ = in(boolean());
    x_ = in(f32({4}));
    y_ = g.emit("If", {cond_, x_}, {{"then_branch", as_it_is()}, {"else_branch", twice()}}, "y");
  }
  std::vector<Tensor> given(bool as_it_is) const { return {truth(as_it_is), row({1, -2, 3, -4})}; }
  ValueId cond_, x_, y_;
};

// A kernel for If that is none of its own: the positive numbers of the operand.
Kernel positive_numbers(bool lies = false) {
  return {.run = [](KernelCall& call) -> Status {
            float* out = call.out().data<float>();
            for (const float v : call.in(1).span<float>()) {
              if (v > 0) *out++ = v;
            }
            return {};
          },
          .measure = [lies](const KernelCall& call) -> Expected<std::vector<Shape>> {
            const auto values = call.in(1).span<float>();
            const auto count = std::count_if(values.begin(), values.end(), [](float v) { return v > 0; });
            return std::vector<Shape>{lies ? Shape{count, 1} : Shape{count}};
          }};
}

TEST_F(Stepwise, AKernelMeasuresItsOutputs) {
  g.add_output(g.emit("Neg", {y_}, {}, "minus"));
  KernelTable table = kernel_table();
  table["If"] = positive_numbers();
  Executor executor(g, table);
  const auto out = executor.run(ctx, feeds(given(true)));
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_TRUE(identical((*out)[0], row({-1, -3})));
  const auto none = executor.run(ctx, feeds({truth(true), row({-1, -1, 0, 0})}));
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ((*none)[0].shape(), Shape{0});
}

TEST_F(Stepwise, WhatAKernelMeasuresIsWhatInferenceAllows) {
  g.add_output(y_);
  KernelTable table = kernel_table();
  table["If"] = positive_numbers(true);
  const auto out = Executor(g, table).run(ctx, feeds(given(true)));
  ASSERT_FALSE(out);
  expect_says(out.error().message, "node 'y' (If): output 'y' has shape [2, 1], expected [-1]");
}

TEST_F(Stepwise, AKernelThatCannotMeasureIsAnError) {
  g.add_output(y_);
  KernelTable table = kernel_table();
  table["If"] = {.run = [](KernelCall&) -> Status { return {}; }};
  const auto out = Executor(g, table).run(ctx, feeds(given(true)));
  ASSERT_FALSE(out);
  expect_says(out.error().message, "node 'y' (If): the shape of output 'y' follows from data");
}

TEST_F(Stepwise, ShapesThatDoNotFitNameTheNode) {
  g.add_output(g.emit("Add", {y_, x_}, {}, "sum"));
  EXPECT_TRUE(identical(run(given(true))[0], row({2, -4, 6, -8})));
  expect_says(error(given(false)), "node 'sum' (Add): shapes [8] and [4] do not broadcast");
}

TEST_F(Stepwise, AnOperatorWithoutAKernelIsAnErrorBeforeTheRun) {
  g.add_output(g.emit("Neg", {y_}, {}, "minus"));
  KernelTable table = kernel_table();
  table.erase("Neg");
  const Executor executor(g, table);
  ASSERT_FALSE(executor.status());
  expect_says(executor.status().error().message, "operator 'Neg' has no kernel");
}

TEST_F(Stepwise, AnOperandThatNothingReadsAfterwardsIsWrittenOver) {
  struct Hidden final : Observer {
    Status after_stage(const NodeRun& n) override {
      if (n.input(0) == nullptr) nodes.push_back(n.node.name);
      return {};
    }
    std::vector<std::string> nodes;
  } hidden;
  const ValueId a = g.emit("Relu", {y_}, {}, "over_y"), b = g.emit("Neg", {a}, {}, "beside_a"),
                c = g.emit("Abs", {x_}, {}, "beside_the_feed");
  g.add_output(g.emit("Concat", {a, b, c}, {{"axis", int64_t{0}}}, "all"));
  const Tensor all = run(given(false), {.observer = &hidden})[0];
  EXPECT_TRUE(identical(all, row({1, 0, 3, 0, 1, 0, 3, 0, -1, -0.0f, -3, -0.0f, -1, -0.0f, -3, -0.0f, 1, 2, 3, 4})));
  EXPECT_EQ(hidden.nodes, std::vector<std::string>{"over_y"});
}

TEST_F(Stepwise, ValuesAreFreedAfterTheirLastUse) {
  ValueId v = g.emit("Reshape", {y_}, {{"shape", Ints{-1, 1}}}, "column");
  for (int i = 0; i < 20; ++i) v = g.emit("Add", {v, v}, {}, "v");
  g.add_output(g.emit("ReduceSum", {v}, {{"keepdims", int64_t{0}}}, "sum"));
  MemoryUse memory;
  run(given(true), {.memory = &memory});
  EXPECT_GE(memory.peak_bytes, 3u * 16);
  EXPECT_LE(memory.peak_bytes, 5u * 16) << "a feed, its copy within, and two values at a time";
}

TEST_F(Stepwise, ANodeIsBoundAgainOnlyForOtherShapes) {
  int bound = 0;
  KernelTable table = kernel_table();
  table["Neg"].bind = [&count = bound, kernel = table["Neg"]](const KernelSite& site) {
    ++count;
    return runtime::bound(kernel, site);
  };
  g.add_output(g.emit("Neg", {y_}, {}, "minus"));
  Executor executor(g, table);
  for (const auto& [branch, expected] : {std::pair<bool, int>{true, 1}, {true, 1}, {false, 2}, {false, 2}, {true, 3}}) {
    ASSERT_TRUE(executor.run(ctx, feeds(given(branch))));
    EXPECT_EQ(bound, expected);
  }
}

TEST_F(Stepwise, ObserversSeeEveryNodeInOrder) {
  struct Indices final : Observer {
    Status before_stage(const NodeRun& n) override {
      before.push_back(n.index);
      return {};
    }
    Status after_stage(const NodeRun& n) override {
      EXPECT_EQ(&n.graph.nodes()[n.index], &n.node);
      after.push_back(n.index);
      return {};
    }
    std::vector<size_t> before, after;
  } indices;
  const ValueId flat = g.emit("Reshape", {y_}, {{"shape", Ints{-1}}}, "flat");
  g.add_output(g.emit("Neg", {flat}, {}, "minus"));
  run(given(false), {.observer = &indices});
  EXPECT_EQ(indices.before, (std::vector<size_t>{0, 2})) << "a view computes nothing";
  EXPECT_EQ(indices.after, (std::vector<size_t>{0, 1, 2}));
}

TEST_F(Stepwise, FeedsStayUnlessAnOutputHasThem) {
  g.add_output(y_);
  g.add_output(x_);
  Executor executor(g);
  Executor::Feeds fed = feeds(given(false));
  std::vector<Tensor> outputs(2);
  ASSERT_TRUE(executor.run_into(ctx, fed, outputs));
  EXPECT_TRUE(fed[0].second.defined() && fed[0].second.sole_owner());
  EXPECT_FALSE(fed[1].second.defined());
  EXPECT_TRUE(outputs[1].sole_owner());
  const Tensor first = outputs[0].clone();
  fed[1].second = row({5, 6, 7, 8});
  ASSERT_TRUE(executor.run_into(ctx, fed, outputs));
  EXPECT_TRUE(identical(first, row({1, -2, 3, -4, 1, -2, 3, -4})));
  EXPECT_TRUE(identical(outputs[0], row({5, 6, 7, 8, 5, 6, 7, 8})));
}

TEST_F(Stepwise, FeedsThatDoNotFitAreErrorsThatNameThem) {
  g.add_output(y_);
  Executor executor(g);
  const auto message = [&](Executor::Feeds fed) {
    const auto out = executor.run(ctx, std::move(fed));
    return out ? std::string("accepted") : out.error().message;
  };
  EXPECT_EQ(message(feeds(given(true))), "accepted");
  expect_says(message({{cond_, truth(true)}}), "input 'in.1' is not fed");
  expect_says(message({{cond_, truth(true)}, {cond_, truth(true)}, {x_, row({1, 2, 3, 4})}}), "'in' is fed twice");
  expect_says(message({{cond_, truth(true)}, {x_, row({1, 2})}}), "'in.1': found float32 [2], expected float32 [4]");
  expect_says(message({{cond_, truth(true)}, {x_, row({1, 2, 3, 4})}, {y_, row({1})}}), "no input of the graph");
  EXPECT_EQ(message(feeds(given(true))), "accepted") << "an error leaves nothing behind";
}

TEST_F(Stepwise, ATensorOverTheLimitNamesTheNode) {
  g.add_output(g.emit("Concat", {y_, y_, y_}, {{"axis", int64_t{0}}}, "thrice"));
  limits.tensor_bytes = 3 * 16;
  EXPECT_EQ(error(given(true)), "");
  const std::string message = error(given(false));
  expect_says(message, "node 'thrice' (Concat): output 'thrice' of shape [24] has ");
  expect_says(message, "for one tensor: raise that limit");
}

TEST_F(Stepwise, MemoryOverTheLimitNamesTheNode) {
  g.add_output(g.emit("Concat", {y_, y_, y_}, {{"axis", int64_t{0}}}, "thrice"));
  limits.total_bytes = 140;
  EXPECT_EQ(error(given(true)), "");
  const std::string message = error(given(false));
  expect_says(message, "node 'thrice' (Concat) needs 96 B beside 49 B");
  expect_says(message, "for a run: raise that limit");
}

TEST_F(Runs, LimitsHoldForPlannedGraphs) {
  const ValueId x = in(f32({4}));
  g.add_output(g.emit("Expand", {x}, {{"shape", Ints{1 << 20, 4}}}, "large"));
  limits.tensor_bytes = 1 << 20;
  expect_says(error({row({1, 2, 3, 4})}), "node 'large' (Expand): output 'large' of shape [1048576, 4] has ");
  limits = {.total_bytes = 1 << 20};
  expect_says(error({row({1, 2, 3, 4})}), "node 'large' (Expand) needs 16.8 MB beside 0 B");
  limits = {.total_bytes = 16 << 20};  // the value, not the value and its operand
  const std::string message = error({row({1, 2, 3, 4})});
  expect_says(message, "the graph needs ");
  expect_says(message, "its largest value: 'large' of shape [1048576, 4], of node 'large' (Expand)");
  limits = {};
  EXPECT_EQ(error({row({1, 2, 3, 4})}), "");
}

// Shapes that multiply past what can be counted are refused before anything is held.
TEST_F(Runs, SizesThatCannotBeCountedNameTheNode) {
  const ValueId x = in(f32({-1})), wide = g.emit("Reshape", {x}, {{"shape", Ints{-1, 1}}}, "wide");
  g.add_output(g.emit("Expand", {wide}, {{"shape", Ints{1, int64_t{1} << 61}}}, "huge"));
  limits.tensor_bytes = 1 << 20;
  expect_says(error({row({1, 2, 3, 4})}), "node 'huge' (Expand): ");
}

TEST_F(Runs, AnInputOfUnknownRankTakesWhatIsFed) {
  const ValueId x = g.add_input("x", DType::kFloat32, graph::kUnknownRank);
  g.add_output(g.emit("Neg", {x}, {}, "minus"));
  Executor executor(g);
  for (const Shape& shape : {Shape{4}, Shape{2, 2}, Shape{1, 1, 1, 4}, Shape{4}}) {
    const auto out = executor.run(ctx, feeds({row({1, 2, 3, 4}).reshaped(shape)}));
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_TRUE(identical((*out)[0], row({-1, -2, -3, -4}).reshaped(shape)));
  }
}

}  // namespace
}  // namespace isobit::runtime
