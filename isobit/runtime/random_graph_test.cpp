// Random graphs through the planned executor and through one without any plan: every value the same, to the bit, and
// nothing of the caller's changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "isobit/graph/passes/rebuild.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/naive_executor_for_test.h"
#include "isobit/runtime/plan.h"
#include "isobit/runtime/prepared_run.h"
#include "isobit/runtime/random_graph_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;
using testing::RandomGraph;

constexpr uint64_t kGraphs = 300;

// What the tests below have seen, so that none passes by looking at nothing.
struct Seen {
  int64_t inputs = 0, hidden = 0, absent = 0, empty = 0;
  std::map<std::string, int64_t> operators;
};

// Every output and every input that a kernel has not written over is what the other executor has. Ends the run with an
// error after node `last`.
class Compare final : public Observer {
 public:
  Compare(const std::map<ValueId, Tensor>& expected, Seen& seen, size_t last = SIZE_MAX)
      : expected_(expected), seen_(seen), last_(last) {}
  Status after_stage(const NodeRun& n) override {
    ++seen_.operators[n.node.op];
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      const ValueId id = n.node.outputs[o];
      EXPECT_EQ(n.outputs[o].defined(), id != graph::kNoValue);
      if (id == graph::kNoValue) {
        ++seen_.absent;
        continue;
      }
      if (n.outputs[o].elements() == 0) ++seen_.empty;
      EXPECT_TRUE(identical(n.outputs[o], expected_.at(id))) << n.node.op << " " << n.index;
    }
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const Tensor* input = n.input(i);
      ++(input == nullptr ? seen_.hidden : seen_.inputs);
      EXPECT_TRUE(input == nullptr || identical(*input, expected_.at(n.node.inputs[i]))) << n.node.op << " " << n.index;
    }
    if (n.index == last_) return rejected("enough");
    return {};
  }

 private:
  const std::map<ValueId, Tensor>& expected_;
  Seen& seen_;
  const size_t last_;
};

// Changes what it sees, as rounding does.
class Incrementing final : public Stage {
 public:
  Status apply(size_t index, KernelCall& call) override {
    for (Tensor& t : call.outputs) {
      if (!t.defined() || t.dtype() != DType::kFloat32) continue;
      for (float& x : t.span<float>()) x += static_cast<float>(index);
    }
    return {};
  }
  Status apply_again(size_t index, KernelCall& call) override { return apply(index, call); }
};

// What the caller holds of feeds and of outputs that were handed out, and what it must still be.
struct Held {
  std::vector<std::pair<Tensor, Tensor>> all;

  void hold(const Tensor& tensor) { all.emplace_back(tensor, tensor.clone()); }
  void check() const {
    for (const auto& [now, before] : all) EXPECT_TRUE(identical(now, before));
  }
};

Executor::Feeds random_feeds(RandomGraph& random, Held& held) {
  Executor::Feeds feeds;
  for (const ValueId i : random.g.inputs()) {
    const graph::Value& value = random.g.value(i);
    feeds.emplace_back(i, random.tensor(value.dtype, value.shape()));
    // The memory of another feed; or held by us.
    for (const auto& [other, tensor] : feeds) {
      if (other != i && tensor.has_type(value.dtype, value.dims) && random.below(3) == 0) feeds.back().second = tensor;
    }
    if (random.below(2) == 0) held.hold(feeds.back().second);
  }
  return feeds;
}

std::vector<Ints> input_dims(const Graph& g) {
  std::vector<Ints> dims;
  for (const ValueId i : g.inputs()) dims.push_back(g.value(i).dims);
  return dims;
}

// The same nodes over inputs of other dimensions, -1 for open ones; nothing where an operator does not take them.
std::optional<Graph> with_inputs(const Graph& g, const std::vector<Ints>& dims) {
  graph::Rebuilding rule;
  rule.input = [&](size_t i) -> Expected<graph::InferContext::Type> {
    return graph::InferContext::Type{g.value(g.inputs()[i]).dtype, dims[i]};
  };
  auto found = graph::rebuild(g, rule);
  return found ? std::optional<Graph>(*std::move(found)) : std::nullopt;
}

void expect_same(const std::vector<Tensor>& outputs, const Graph& g, const std::map<ValueId, Tensor>& expected) {
  for (size_t o = 0; o < outputs.size(); ++o) ASSERT_TRUE(identical(outputs[o], expected.at(g.outputs()[o]))) << o;
}

// Once, with feeds of its own.
void run_and_compare(Executor& executor, RandomGraph& random, const kernels::KernelContext& ctx, Stage* stage,
                     std::vector<Tensor>& outputs, Seen& seen) {
  Held held;
  Executor::Feeds feeds = random_feeds(random, held);
  const auto expected = testing::run_naively(random.g, ctx, feeds, stage).value();
  Compare compare(expected, seen);
  const Status done = executor.run_into(ctx, feeds, outputs, {.observer = &compare, .stage = stage});
  ASSERT_TRUE(done) << done.error().message;
  expect_same(outputs, random.g, expected);
  held.check();
}

TEST(RandomGraphs, ThePlanChangesNoValue) {
  ThreadPool one(1), two(2);
  Seen seen;
  Incrementing incrementing;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(seed);
    const Graph& g = random.g;
    const kernels::KernelContext ctx{kernels::best_isa(), seed % 2 == 0 ? &one : &two};
    Stage* const stage = seed % 3 == 0 ? &incrementing : nullptr;
    Executor executor(g);
    std::vector<Tensor> outputs(g.outputs().size());
    Held earlier;  // what was handed out belongs to whoever has it
    for (int round = 0; round < 3; ++round) {
      run_and_compare(executor, random, ctx, stage, outputs, seen);
      earlier.check();
      for (const Tensor& o : outputs) {
        if (random.below(2) == 0) earlier.hold(o);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(seen.inputs, 5'000);
  EXPECT_GT(seen.hidden, 300) << "operands written over";
  EXPECT_GT(seen.absent, 50);
  EXPECT_GT(seen.empty, 200);
  for (const char* op :
       {"isobit.Sgd", "isobit.Adam", "isobit.BatchNormGrad", "isobit.CrossEntropy", "Cast", "Gather"}) {
    EXPECT_GT(seen.operators[op], 50) << op;
  }
}

// Whatever is taken for a loss and however many parts there are, values that are computed again are what they were.
TEST(RandomGraphs, WhatIsComputedAgainIsTheSame) {
  ThreadPool pool(2);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  Seen seen;
  Incrementing incrementing;
  size_t again = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(seed);
    const Graph& g = random.g;
    if (g.nodes().size() < 3) continue;
    Stage* const stage = seed % 3 == 0 ? &incrementing : nullptr;
    Limits limits;
    limits.recomputation = {seed % 2 == 0 ? Recompute::kEverything : Recompute::kCheap, {}, 1 + seed % 3};
    for (int i = 0; i < 2; ++i) {
      const graph::Node& node = g.nodes()[random.below((g.nodes().size() + 1) / 2)];
      limits.recomputation.losses.push_back(node.outputs[0]);
    }
    const Plan plan = make_plan(g, kernel_table(), limits.recomputation).value();
    again += static_cast<size_t>(std::ranges::count_if(plan.steps, &PlanStep::again));
    Executor executor(g, kernel_table(), limits);
    std::vector<Tensor> outputs(g.outputs().size());
    for (int round = 0; round < 2; ++round) {
      run_and_compare(executor, random, ctx, stage, outputs, seen);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(again, 100u);
}

// The other way to run a graph, which is there for shapes that follow from data.
TEST(RandomGraphs, NodeByNodeEveryValueIsTheSame) {
  ThreadPool pool(2);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  Seen seen;
  Incrementing incrementing;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(seed);
    const Graph& g = random.g;
    Stage* const stage = seed % 3 == 0 ? &incrementing : nullptr;
    Ledger ledger{Limits{}};
    const auto stepwise = make_stepwise_run(g, std::nullopt, {kernel_table(), ledger}).value();
    std::vector<Tensor> outputs(g.outputs().size());
    Held earlier;
    for (int round = 0; round < 2; ++round) {
      Held held;
      Executor::Feeds feeds = random_feeds(random, held);
      const auto expected = testing::run_naively(g, ctx, feeds, stage).value();
      Compare compare(expected, seen);
      const Status done = stepwise->run(ctx, feeds, outputs, {.observer = &compare, .stage = stage});
      ASSERT_TRUE(done) << done.error().message;
      expect_same(outputs, g, expected);
      held.check();
      earlier.check();
      for (const Tensor& o : outputs) earlier.hold(o);
      EXPECT_EQ(ledger.held_bytes(), 0u);
    }
  }
  EXPECT_GT(seen.hidden, 100) << "operands written over";
  EXPECT_GT(seen.absent, 30);
  EXPECT_GT(seen.empty, 100);
}

// Inputs of other dimensions than those that the graph was made with, where its nodes take them: one executor plans
// again for each, and the shapes of the first come back last.
TEST(RandomGraphs, ShapesOfTheRunChangeNoValue) {
  ThreadPool pool(1);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  Seen seen;
  int runs = 0, refused = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(seed);
    std::vector<Ints> dims = input_dims(random.g);
    for (Ints& d : dims) std::fill_n(d.begin(), seed % 2 == 0 ? d.size() : 1, -1);
    const auto open = with_inputs(random.g, dims);
    if (!open) continue;
    Executor executor(*open);
    for (const int64_t factor : {1, 2, 1}) {
      dims = input_dims(random.g);
      for (Ints& d : dims) d[0] *= factor;
      Held held;
      Executor::Feeds feeds;
      for (size_t i = 0; i < dims.size(); ++i) {
        const ValueId id = open->inputs()[i];
        feeds.emplace_back(id, random.tensor(open->value(id).dtype, Shape(dims[i])));
        if (random.below(2) == 0) held.hold(feeds.back().second);
      }
      const auto fixed = with_inputs(random.g, dims);
      if (!fixed) {
        ++refused;
        EXPECT_FALSE(executor.run(ctx, feeds));
        continue;
      }
      const auto expected = testing::run_naively(*fixed, ctx, feeds).value();
      Compare compare(expected, seen);
      const auto outputs = executor.run(ctx, std::move(feeds), {.observer = &compare});
      ASSERT_TRUE(outputs) << outputs.error().message;
      expect_same(*outputs, *fixed, expected);
      held.check();
      ++runs;
    }
  }
  EXPECT_GT(runs, 100);
  EXPECT_GT(refused, 10);
}

// An error in the middle of a run, wherever it comes: every feed and every place has its memory again, nothing that
// others hold has changed, and the next run is as the first.
TEST(RandomGraphs, AnErrorLeavesTheMemoryWhereItWas) {
  ThreadPool pool(1);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  Seen seen;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(seed);
    const Graph& g = random.g;
    if (g.nodes().empty()) continue;
    Executor executor(g);
    std::vector<Tensor> outputs(g.outputs().size());
    for (int round = 0; round < 4; ++round) {
      Held held;
      Executor::Feeds feeds = random_feeds(random, held);
      std::vector<const void*> memory;
      for (const auto& [id, tensor] : feeds) memory.push_back(tensor.raw());
      const size_t places = static_cast<size_t>(std::ranges::count_if(outputs, &Tensor::defined));
      const auto expected = testing::run_naively(g, ctx, feeds).value();
      const size_t last = round % 2 == 0 ? random.below(g.nodes().size()) : SIZE_MAX;
      Compare compare(expected, seen, last);
      const Status done = executor.run_into(ctx, feeds, outputs, {.observer = &compare});
      held.check();
      ASSERT_EQ(done.has_value(), last == SIZE_MAX);
      if (done) {
        expect_same(outputs, g, expected);
        continue;
      }
      for (size_t i = 0; i < feeds.size(); ++i) ASSERT_EQ(std::as_const(feeds[i].second).raw(), memory[i]) << i;
      ASSERT_EQ(static_cast<size_t>(std::ranges::count_if(outputs, &Tensor::defined)), places);
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
