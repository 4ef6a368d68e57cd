// What a plan computes once: values that are only moved from initializers.
#include <gtest/gtest.h>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/plan.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;

// What a table's Transpose does, counted.
KernelTable counting_transposes(int& runs) {
  KernelTable table = kernel_table();
  table["Transpose"].bind = [&runs, bind = kernel_table().at("Transpose").bind](const KernelSite& site) -> RunKernel {
    return [&runs, run = bind(site)](KernelCall& call) {
      ++runs;
      return run(call);
    };
  };
  return table;
}

struct Doubling final : Stage {
  Status apply(size_t, KernelCall& call) override {
    float* values = call.out().data<float>();
    for (int64_t i = 0; i < call.out().elements(); ++i) values[i] *= 2;
    return {};
  }
  Status apply_again(size_t index, KernelCall& call) override { return apply(index, call); }
};

TEST(Standing, WhatIsMovedFromInitializersAloneStaysFromRunToRun) {
  Graph g;
  const ValueId w = g.add_initializer("w", Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  const ValueId x = g.add_input("x", DType::kFloat32, {4, 2}),
                first = g.emit("Transpose", {w}, {{"perm", Ints{1, 0}}}, "first");
  const ValueId again =
      g.emit("Transpose", {g.emit("Reshape", {first}, {{"shape", Ints{-1}}}, "flat")}, {{"perm", Ints{0}}}, "again");
  const ValueId moved = g.emit("Transpose", {x}, {{"perm", Ints{1, 0}}}, "moved");
  const ValueId square = g.emit("MatMul", {first, moved}, {}, "square");
  g.add_output(g.emit("Add", {square, square}, {}, "sum"));
  g.add_output(again);
  const Plan plan = make_plan(g, kernel_table()).value();
  EXPECT_TRUE(plan.steps[0].once);
  const PlanBlock& block = plan.blocks[static_cast<size_t>(plan.block_of[static_cast<size_t>(first)])];
  EXPECT_EQ(block.begin, -1);
  EXPECT_EQ(block.end, PlanBlock::kForever);
  EXPECT_FALSE(plan.steps[2].once) << "an output is made anew for the caller";
  EXPECT_FALSE(plan.steps[3].once);

  int runs = 0;
  const KernelTable table = counting_transposes(runs);
  Executor executor(g, table);
  ThreadPool pool(1);
  const kernels::KernelContext ctx{kernels::Isa::kPortable, &pool};
  Doubling stage;
  struct Nothing final : Observer {
  } observer;
  auto run = [&](RunOptions options) {
    const Tensor y =
        executor.run(ctx, {{x, Tensor::of<float>({4, 2}, std::vector<float>{1, 0, 0, 1, 1, 1, 2, 3})}}, options)
            .value()[0];
    return std::vector<float>(y.data<float>(), y.data<float>() + y.elements());
  };
  const std::vector<float> wanted = run({});
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(run({}), wanted);
  EXPECT_EQ(runs, 5) << "the first one is not run again";
  EXPECT_EQ(run({.observer = &observer}), wanted);
  EXPECT_EQ(runs, 8) << "an observer sees every node";
  EXPECT_NE(run({.stage = &stage}), wanted);
  EXPECT_EQ(run({}), wanted) << "nothing of the stage is left";
  executor.release_memory();
  EXPECT_EQ(run({}), wanted);
  EXPECT_EQ(run({}), wanted);
}

TEST(Standing, WhatIsMadeLargerThanItsInitializersDoesNotStay) {
  Graph g;
  const ValueId w = g.add_initializer("w", Tensor::zeros(DType::kFloat32, {4}));
  const ValueId wide = g.emit("Concat", {w, w, w}, {{"axis", int64_t{0}}}, "wide"),
                x = g.add_input("x", DType::kFloat32, {12});
  g.add_output(g.emit("Add", {x, wide}, {}, "sum"));
  EXPECT_FALSE(make_plan(g, kernel_table()).value().steps[0].once);
  EXPECT_TRUE(least_peak_bytes(g, {list_steps(g, kernel_table()).value()}).has_value());
}

}  // namespace
}  // namespace isobit::runtime
