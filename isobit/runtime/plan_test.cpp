#include "isobit/runtime/plan.h"

#include <gtest/gtest.h>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;
using Place = PlanBlock::Place;

Plan plan_of(const Graph& g) { return make_plan(g, kernel_table()).value(); }
// As if no kernel could write over its operand.
Plan plan_without_in_place(const Graph& g) {
  KernelTable table = kernel_table();
  for (auto& [op, kernel] : table) kernel.in_place.clear();
  return make_plan(g, table).value();
}
const PlanBlock& block(const Plan& plan, ValueId id) {
  return plan.blocks[static_cast<size_t>(plan.block_of[static_cast<size_t>(id)])];
}
bool same_block(const Plan& plan, ValueId a, ValueId b) { return &block(plan, a) == &block(plan, b); }

class Planned : public ::testing::Test {
 protected:
  ValueId input(Ints dims = {16}) { return g.add_input("x", DType::kFloat32, std::move(dims)); }
  ValueId relu(ValueId x) { return g.emit("Relu", {x}, {}, "relu"); }
  ValueId flat(ValueId x) { return g.emit("Reshape", {x}, {{"shape", Ints{-1}}}, "flat"); }
  ValueId sum(ValueId a, ValueId b) { return g.emit("Add", {a, b}, {}, "sum"); }
  Graph g;
};

TEST_F(Planned, AnOutputTakesAnOperandThatNothingReadsAfterwards) {
  const ValueId x = input(), a = relu(x), b = relu(a), c = sum(b, b);
  g.add_output(c);
  const Plan plan = plan_of(g);
  EXPECT_TRUE(same_block(plan, x, a));
  EXPECT_TRUE(same_block(plan, a, b));
  EXPECT_FALSE(same_block(plan, b, c)) << "an operand read twice by the same node";
  EXPECT_TRUE(block(plan, x).written_over);
  EXPECT_EQ(block(plan, c).place, Place::kOutput);
  EXPECT_EQ(plan.arena_bytes, 0u);
  EXPECT_EQ(plan.peak_bytes, 2u * 64);
}

TEST_F(Planned, AnOperandThatIsReadLaterStays) {
  const ValueId x = input(), a = relu(x), b = relu(a);
  g.add_output(sum(a, b));
  EXPECT_FALSE(same_block(plan_of(g), a, b));
}

TEST_F(Planned, AGraphOutputIsReadAfterEverything) {
  const ValueId x = input(), a = relu(x), b = relu(a);
  g.add_output(a);
  g.add_output(b);
  EXPECT_FALSE(same_block(plan_of(g), a, b));
}

TEST_F(Planned, AViewHasTheBlockOfItsOperandAndKeepsItFromBeingWrittenOver) {
  const ValueId x = input({4, 4}), v = flat(x), a = relu(x), b = sum(v, flat(a));
  g.add_output(b);
  const Plan plan = plan_of(g);
  EXPECT_TRUE(same_block(plan, x, v));
  EXPECT_FALSE(same_block(plan, x, a)) << "the view is read after the relu";
  EXPECT_TRUE(same_block(plan, v, b)) << "nothing else reads that block by then";
}

TEST_F(Planned, AViewIsNotWrittenOverByComingAbout) {
  const ValueId x = input({4, 4});
  g.add_output(flat(flat(x)));
  const Plan plan = plan_of(g);
  EXPECT_FALSE(block(plan, x).written_over) << "whoever else holds the feed needs no copy of it";
  EXPECT_EQ(block(plan, x).end, PlanBlock::kForever);
  EXPECT_EQ(plan.peak_bytes, 64u);
}

TEST_F(Planned, AViewIsInUseAfterItsOperandIs) {
  const ValueId x = input({4, 4}), a = g.emit("Exp", {x}, {}, "a"), v = flat(a);
  ValueId b = x;
  for (int i = 0; i < 4; ++i) b = g.emit("Exp", {b}, {}, "b");
  g.add_output(g.emit("Concat", {v, flat(b)}, {{"axis", int64_t{0}}}, "both"));
  const Plan plan = plan_without_in_place(g);
  EXPECT_EQ(block(plan, a).begin, 0);
  EXPECT_EQ(block(plan, a).end, static_cast<int64_t>(plan.steps.size()) - 1);
  EXPECT_EQ(plan.arena_bytes, 3u * 64) << "a, and two of b at a time";
}

TEST_F(Planned, AViewThatANodeReadsTwiceIsOneReader) {
  const ValueId x = input({4, 4}), v = flat(x), w = flat(x), twice = sum(v, v), a = relu(w);
  g.add_output(sum(sum(twice, a), flat(x)));
  const Plan plan = plan_of(g);
  EXPECT_FALSE(same_block(plan, w, a)) << "x is read after the relu";
}

TEST_F(Planned, AViewThatNothingReadsKeepsNothing) {
  const ValueId x = input({4, 4});
  flat(x);
  const ValueId a = relu(x);
  g.add_output(a);
  EXPECT_TRUE(same_block(plan_of(g), x, a));
}

TEST_F(Planned, AViewOfAnotherSizeOrTypeIsAnError) {
  for (const char* op : {"Concat", "Cast"}) {
    Graph h;
    const ValueId x = h.add_input("x", DType::kFloat32, {4});
    const bool cast = op[1] == 'a';
    h.add_output(cast ? h.emit(op, {x}, {{"to", static_cast<int64_t>(DType::kFloat64)}}, "y")
                      : h.emit(op, {x, x}, {{"axis", int64_t{0}}}, "y"));
    KernelTable table = kernel_table();
    table[op] = {nullptr, {}, true};
    const auto plan = make_plan(h, table);
    ASSERT_FALSE(plan) << op;
    EXPECT_EQ(plan.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(plan.error().message.find("'y' is a view of 'x'"), std::string::npos) << plan.error().message;
  }
}

TEST_F(Planned, AnOperandOfAnotherSizeIsNotTaken) {
  const ValueId small = input({4}), large = input({4, 4});
  const ValueId a = sum(small, large), b = sum(large, input({4}));
  g.add_output(a);
  g.add_output(b);
  const Plan plan = plan_of(g);
  EXPECT_FALSE(same_block(plan, small, a));
  EXPECT_TRUE(same_block(plan, large, b));
}

TEST_F(Planned, AnOutputTakesTheOperandOfItsRule) {
  KernelTable table = kernel_table();
  table["Add"].in_place = {{0, 1}};
  const ValueId x = input({8}), y = input({8});
  const ValueId s = sum(x, y);
  g.add_output(s);
  g.add_output(sum(relu(x), s));
  const Plan plan = make_plan(g, table).value();
  EXPECT_TRUE(same_block(plan, y, s)) << "the second operand, by the rule";
  EXPECT_EQ(plan.steps[0].over, std::vector<int>{1});
  EXPECT_EQ(plan.steps[2].over, std::vector<int>{-1}) << "s is an output";
}

TEST_F(Planned, LargeBlocksComeFirst) {
  // In the order of the graph b would lie behind a, and the larger c would find no room where a was.
  const ValueId x = input({16}), a = g.emit("Exp", {x}, {}, "a"), b = g.emit("Exp", {a}, {}, "b");
  const ValueId c = g.emit("Concat", {x, x}, {{"axis", int64_t{0}}}, "c");
  g.add_output(g.emit("Concat", {c, b}, {{"axis", int64_t{0}}}, "d"));
  EXPECT_EQ(plan_without_in_place(g).arena_bytes, 192u) << "b and c";
}

TEST_F(Planned, ConstantsAreNeverWrittenOver) {
  const ValueId x = input(), one = g.add_initializer("one", Tensor::zeros(DType::kFloat32, {16})), a = relu(one),
                b = relu(flat(one));
  g.add_output(sum(x, sum(a, b)));
  const Plan plan = plan_of(g);
  EXPECT_FALSE(same_block(plan, one, a));
  EXPECT_FALSE(same_block(plan, one, b));
  EXPECT_EQ(block(plan, one).place, Place::kInitializer);
  EXPECT_FALSE(block(plan, one).written_over);
}

TEST_F(Planned, ADeadValueHasItsMemoryForItsOwnStep) {
  const ValueId x = input(), dead = g.emit("Exp", {x}, {}, "dead");
  const ValueId a = g.emit("Exp", {x}, {}, "a"), b = sum(x, a);
  g.add_output(sum(b, a));
  const Plan plan = plan_of(g);
  EXPECT_EQ(block(plan, dead).begin, 0);
  EXPECT_EQ(block(plan, dead).end, 0);
  EXPECT_EQ(block(plan, dead).offset, block(plan, a).offset) << "the memory serves again";
  EXPECT_EQ(plan.arena_bytes, 64u);
}

TEST_F(Planned, BlocksInUseTogetherDoNotOverlap) {
  const ValueId x = input({32, 8});
  std::vector<ValueId> values = {x};
  for (int i = 0; i < 40; ++i) {
    const ValueId from = values[static_cast<size_t>(i * 7 % 5) % values.size()];
    values.push_back(i % 3 == 0 ? g.emit("Concat", {from, values.back()}, {{"axis", int64_t{0}}}, "v")
                                : g.emit("Exp", {values.back()}, {}, "v"));
    if (i % 9 == 0)
      values.push_back(g.emit("isobit.Block", {values.back()}, {{"starts", Ints{0, 0}}, {"counts", Ints{3, 8}}}, "v"));
  }
  g.add_output(values.back());
  const Plan plan = plan_of(g);
  uint64_t most = 0, arena_blocks = 0;
  for (const PlanBlock& a : plan.blocks) {
    if (a.place != Place::kArena) continue;
    ++arena_blocks;
    EXPECT_EQ(a.offset % 64, 0u);
    EXPECT_LE(a.offset + a.bytes, plan.arena_bytes);
    uint64_t together = 0;
    for (const PlanBlock& b : plan.blocks) {
      if (b.place != Place::kArena || b.begin > a.begin || b.end < a.begin) continue;
      together += b.bytes;
      EXPECT_TRUE(&a == &b || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
    }
    most = std::max(most, together);
  }
  EXPECT_GT(arena_blocks, 10u);
  EXPECT_GE(plan.arena_bytes, most);
  EXPECT_LE(plan.arena_bytes, most + most / 2) << "little is lost between blocks";
}

TEST_F(Planned, SizesBeyondCountingAreAnError) {
  const ValueId x = input({int64_t{1} << 40, int64_t{1} << 40});
  g.add_output(relu(x));
  const auto plan = make_plan(g, kernel_table());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kUnavailable);
  ThreadPool pool(1);
  const auto out = Executor(g).run({kernels::best_isa(), &pool}, {{x, Tensor::scalar(1.0f)}});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kUnavailable);
}

// Counted in 64 bits without a sign, these fit.
TEST_F(Planned, ValuesThatTogetherAreMoreThanCanBeCountedAreAnError) {
  const ValueId small = input({1});
  const ValueId a = g.emit("Expand", {small}, {{"shape", Ints{int64_t{1} << 60}}}, "a");
  g.add_output(sum(a, g.emit("Expand", {small}, {{"shape", Ints{int64_t{1} << 60}}}, "b")));
  const auto two = make_plan(g, kernel_table());
  ASSERT_FALSE(two) << "two values of 2^62 bytes";
  EXPECT_EQ(two.error().code, ErrorCode::kUnavailable);
}

// Whoever walks the dimensions multiplies some of them: no order of them may overflow.
TEST_F(Planned, AnEmptyValueOfUncountableDimensionsIsAnError) {
  for (const Ints& dims : {Ints{0, int64_t{1} << 40, int64_t{1} << 40}, Ints{int64_t{1} << 40, int64_t{1} << 40, 0}}) {
    g = Graph();
    g.add_output(relu(input(dims)));
    const auto plan = make_plan(g, kernel_table());
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::kUnavailable);
  }
}

TEST_F(Planned, SeveralOutputsOverOneOperandDoNotMeet) {
  const ValueId p = input({4}), grad = input({4}), m = input({4}),
                rate = g.add_initializer("rate", Tensor::scalar(0.5));
  const ValueId flat_m = flat(m);
  const auto made = g.emit_all("isobit.Adam", {p, grad, m, flat_m, rate, rate, rate}, {}, {"p", "m", "v"});
  for (const ValueId id : made) g.add_output(id);
  const Plan plan = plan_of(g);
  EXPECT_TRUE(same_block(plan, p, made[0]));
  EXPECT_TRUE(same_block(plan, m, flat_m));
  for (const ValueId id : {made[1], made[2]}) EXPECT_FALSE(same_block(plan, m, id)) << "m and v are one block";
  EXPECT_FALSE(same_block(plan, made[1], made[2]));
}

// What a pass that rewrites the steps relies on: values are placed by the list as it stands.
TEST_F(Planned, PlacesFollowTheListOfSteps) {
  const ValueId x = input({4, 4}), a = g.emit("Exp", {x}, {}, "a"), dead = g.emit("Exp", {x}, {}, "dead");
  g.add_output(relu(a));
  EXPECT_FALSE(same_block(plan_of(g), x, a)) << "x is read again";
  std::vector<PlanStep> steps = list_steps(g, kernel_table()).value();
  ASSERT_EQ(steps.size(), 3u);
  steps.erase(steps.begin() + 1);
  const Plan plan = place_values(g, {steps}).value();
  EXPECT_EQ(plan.block_of[static_cast<size_t>(dead)], -1);
  EXPECT_TRUE(same_block(plan, x, a));
}

TEST_F(Planned, AnOperatorWithoutAKernelIsAnError) {
  const ValueId x = input();
  g.add_output(relu(x));
  ThreadPool pool(1);
  const KernelTable empty;
  const auto out = Executor(g, empty).run({kernels::best_isa(), &pool}, {{x, Tensor::zeros(DType::kFloat32, {16})}});
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("Relu"), std::string::npos);
}

TEST_F(Planned, ShapesKnownOnlyAtRunTime) {
  const ValueId x = input({-1, 3}), w = g.add_initializer("w", Tensor::zeros(DType::kFloat32, {3}));
  const ValueId a = sum(x, w);
  g.add_output(relu(flat(a)));
  const auto plan = make_plan(g, kernel_table());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kUnreadable);
  EXPECT_FALSE(Executor(g).planned_peak_bytes());

  ThreadPool pool(1);
  Executor executor(g);
  for (int64_t n : {2, 2, 5, 1}) {
    Tensor fed(DType::kFloat32, {n, 3});
    for (int64_t i = 0; i < 3 * n; ++i) fed.data<float>()[i] = static_cast<float>(i - 2);
    MemoryUse memory;
    const auto out = executor.run({kernels::best_isa(), &pool}, {{x, fed}}, {.memory = &memory}).value();
    ASSERT_EQ(out[0].shape(), Shape({3 * n}));
    for (int64_t i = 0; i < 3 * n; ++i) EXPECT_EQ(out[0].data<float>()[i], std::max(0.0f, static_cast<float>(i - 2)));
    EXPECT_GE(memory.peak_bytes, static_cast<size_t>(12 * n));
  }
  for (const Shape& wrong : {Shape{2, 4}, Shape{6}, Shape{}, Shape{2, 3, 1}}) {
    const auto out = executor.run({kernels::best_isa(), &pool}, {{x, Tensor::zeros(DType::kFloat32, wrong)}});
    ASSERT_FALSE(out);
    EXPECT_NE(out.error().message.find("'x'"), std::string::npos) << out.error().message;
  }
}

TEST_F(Planned, APlanIsKeptUntilOtherShapesCome) {
  int plans = 0;
  KernelTable table = kernel_table();
  table["Relu"].bind = [&plans, kernel = table["Relu"]](const KernelSite& site) {
    ++plans;
    return runtime::bound(kernel, site);
  };
  const ValueId x = input({-1});
  g.add_output(relu(x));
  ThreadPool pool(1);
  Executor executor(g, table);
  for (const auto& [n, expected] : {std::pair<int64_t, int>{2, 1}, {2, 1}, {5, 2}, {5, 2}, {2, 3}}) {
    ASSERT_TRUE(executor.run({kernels::best_isa(), &pool}, {{x, Tensor::zeros(DType::kFloat32, {n})}}));
    EXPECT_EQ(plans, expected) << n;
  }
}

TEST_F(Planned, FeedsThatDoNotFitAreErrorsThatNameThem) {
  const ValueId x = input(), y = g.add_input("y", DType::kFloat32, {16});
  const ValueId s = sum(x, y);
  g.add_output(s);
  ThreadPool pool(1);
  Executor executor(g);
  const Tensor good = Tensor::zeros(DType::kFloat32, {16});
  const auto error = [&](Executor::Feeds feeds) {
    const auto out = executor.run({kernels::best_isa(), &pool}, std::move(feeds));
    return out ? std::string("accepted") : out.error().message;
  };
  EXPECT_EQ(error({{x, good}, {y, good}}), "accepted");
  EXPECT_NE(error({{x, good}}).find("'y' is not fed"), std::string::npos);
  EXPECT_NE(error({{x, good}, {y, good}, {x, good}}).find("'x' is fed twice"), std::string::npos);
  EXPECT_NE(error({{x, good}, {y, Tensor()}}).find("undefined"), std::string::npos);
  EXPECT_NE(error({{x, good}, {y, Tensor::zeros(DType::kFloat64, {16})}}).find("float64"), std::string::npos);
  EXPECT_NE(error({{x, good}, {y, Tensor::zeros(DType::kFloat32, {4, 4})}}).find("[4, 4]"), std::string::npos);
  EXPECT_NE(error({{x, good}, {y, good}, {s, good}}).find("no input"), std::string::npos);
  EXPECT_NE(error({{x, good}, {y, good}, {99, good}}).find("no input"), std::string::npos);
  EXPECT_EQ(error({{x, good}, {y, good}}), "accepted") << "an error leaves nothing behind";
}

TEST_F(Planned, MemoryThatRunsOutIsAnError) {
  const ValueId x = input({int64_t{1} << 20});
  ValueId y = g.emit("Expand", {x}, {{"shape", Ints{int64_t{1} << 24, int64_t{1} << 20}}}, "y");
  g.add_output(g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "sum"));
  ThreadPool pool(1);
  const auto out =
      Executor(g).run({kernels::best_isa(), &pool}, {{x, Tensor::zeros(DType::kFloat32, {int64_t{1} << 20})}});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(out.error().message.find("memory"), std::string::npos);
}

TEST_F(Planned, ASharedFeedIsCountedWhenItHasToBeCopied) {
  const ValueId x = input({1 << 10});
  g.add_output(relu(x));
  ThreadPool pool(1);
  Executor executor(g);
  const Tensor held = Tensor::zeros(DType::kFloat32, {1 << 10});
  MemoryUse memory;
  ASSERT_TRUE(executor.run({kernels::best_isa(), &pool}, {{x, held}}, {.memory = &memory}));
  EXPECT_EQ(memory.peak_bytes, 2u * 4096);
  EXPECT_EQ(executor.planned_peak_bytes().value(), 4096u);
}

TEST_F(Planned, ASharedFeedThatNothingWritesOverIsNotCopied) {
  const ValueId x = input({1 << 10});
  g.add_output(g.emit("Concat", {x, x}, {{"axis", int64_t{0}}}, "twice"));
  ThreadPool pool(1);
  Executor executor(g);
  const Tensor held = Tensor::zeros(DType::kFloat32, {1 << 10});
  MemoryUse memory;
  ASSERT_TRUE(executor.run({kernels::best_isa(), &pool}, {{x, held}}, {.memory = &memory}));
  EXPECT_EQ(memory.peak_bytes, executor.planned_peak_bytes().value());
}

// For a caller who keeps feeds and outputs from run to run.
TEST_F(Planned, FeedsAreThereAgainUnlessAnOutputHasThem) {
  const ValueId x = input(), y = input(), z = input();
  g.add_output(relu(x));
  g.add_output(sum(y, z));
  ThreadPool pool(1);
  Executor executor(g);
  std::vector<Executor::Feed> feeds;
  for (const ValueId id : {x, y, z}) feeds.emplace_back(id, Tensor::zeros(DType::kFloat32, {16}));
  const void* memory[] = {feeds[0].second.raw(), feeds[1].second.raw(), feeds[2].second.raw()};
  std::vector<Tensor> outputs(2);
  ASSERT_TRUE(executor.run_into({kernels::best_isa(), &pool}, feeds, outputs));
  EXPECT_EQ(outputs[0].raw(), memory[0]);
  EXPECT_EQ(outputs[1].raw(), memory[1]);
  EXPECT_FALSE(feeds[0].second.defined() || feeds[1].second.defined());
  ASSERT_TRUE(feeds[2].second.defined());
  EXPECT_EQ(feeds[2].second.raw(), memory[2]);
  EXPECT_TRUE(feeds[2].second.sole_owner());
}

}  // namespace
}  // namespace isobit::runtime
