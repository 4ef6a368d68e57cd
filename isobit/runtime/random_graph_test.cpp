// Random graphs through the planned executor and through one without any plan: every value the same, to the bit, and
// nothing of the caller's changed.
#include <gtest/gtest.h>

#include <random>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/naive_executor_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {
    for (uint64_t i = 0; i < 1 + below(3); ++i) {
      known_.push_back(g.add_input("in", DType::kFloat32, shapes_[below(shapes_.size())]));
    }
    for (uint64_t i = 0; i < below(3); ++i) {
      known_.push_back(g.add_initializer("constant", tensor(Shape(shapes_[below(shapes_.size())]))));
    }
    for (uint64_t i = 0; i < 3 + below(25); ++i) add_node();
    // Of any kind: inputs, constants, views, the same one twice.
    for (uint64_t i = 0; i < 1 + below(4); ++i) g.add_output(any());
  }

  Tensor tensor(Shape shape) {
    Tensor t(DType::kFloat32, std::move(shape));
    for (float& x : t.span<float>()) x = static_cast<float>(static_cast<int64_t>(below(2001)) - 1000) / 256;
    return t;
  }
  uint64_t below(uint64_t n) { return random_() % n; }

  Graph g;

 private:
  ValueId any() { return known_[below(known_.size())]; }

  void add(const std::string& op, Ints inputs, graph::Attributes attributes = {}, size_t outputs = 1) {
    std::vector<std::string> names(outputs, "v");
    std::vector<ValueId> ids(inputs.begin(), inputs.end());
    // Operands whose shapes do not fit are left out.
    const auto added = g.add_node(op, ids, std::move(attributes), names);
    if (added) known_.insert(known_.end(), added->begin(), added->end());
  }

  void add_node() {
    const ValueId x = any(), y = any();
    const auto rank = static_cast<int64_t>(g.value(x).dims.size());
    switch (below(11)) {
      case 0:
        return add("Relu", {x});
      case 1:
        return add("Neg", {x});
      case 2:
        return add(below(2) == 0 ? "Add" : "Sub", {x, y});
      case 3:
        return add("Mul", {x, x});
      case 4:
        return add("Reshape", {x}, {{"shape", Ints{-1}}});
      case 5:
        return add("Reshape", {x}, {{"shape", Ints{4, -1}}});
      case 6:
        return rank == 2 ? add("Transpose", {x}, {{"perm", Ints{1, 0}}}) : add("Identity", {x});
      case 7:
        return add("Softmax", {x});
      case 8:
        return add("Concat", {x, y, x}, {{"axis", int64_t{0}}});
      case 9:
        return rank == 2 ? add("isobit.ReluGrad", {x, y}) : add("Identity", {x});
      default:
        return add("MatMul", {x, y});
    }
  }

  std::mt19937_64 random_;
  std::vector<ValueId> known_;
  const std::vector<Ints> shapes_ = {{4, 4}, {4, 6}, {6, 4}, {24}, {4}, {1, 4}};
};

class Compare final : public Observer {
 public:
  explicit Compare(const std::map<ValueId, Tensor>& expected) : expected_(expected) {}
  Status after_stage(const NodeRun& n) override {
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      EXPECT_TRUE(identical(n.outputs[o], expected_.at(n.node.outputs[o]))) << n.node.op << " " << n.index;
    }
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (const Tensor* input = n.input(i)) EXPECT_TRUE(identical(*input, expected_.at(n.node.inputs[i])));
    }
    return {};
  }

 private:
  const std::map<ValueId, Tensor>& expected_;
};

TEST(RandomGraphs, ThePlanChangesNoValue) {
  ThreadPool pool(1);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraph random(seed);
    const Graph& g = random.g;
    Executor executor(g);
    std::vector<Tensor> outputs(g.outputs().size());
    std::vector<Tensor> earlier, copies;
    for (int round = 0; round < 3; ++round) {
      Executor::Feeds feeds;
      std::vector<std::pair<Tensor, Tensor>> held;  // what we hold of a feed, and what it must still be
      for (const ValueId i : g.inputs()) {
        feeds.emplace_back(i, random.tensor(g.value(i).shape()));
        if (random.below(2) == 0) held.emplace_back(feeds.back().second, feeds.back().second.clone());
      }
      const auto expected = testing::run_naively(g, ctx, feeds).value();
      Compare compare(expected);
      ASSERT_TRUE(executor.run_into(ctx, feeds, outputs, {.observer = &compare})) << seed;
      for (size_t o = 0; o < outputs.size(); ++o) {
        ASSERT_TRUE(identical(outputs[o], expected.at(g.outputs()[o]))) << "seed " << seed << ", output " << o;
      }
      for (const auto& [now, before] : held) ASSERT_TRUE(identical(now, before)) << "seed " << seed;
      // What was handed out earlier belongs to whoever has it.
      for (size_t e = 0; e < earlier.size(); ++e) ASSERT_TRUE(identical(earlier[e], copies[e])) << "seed " << seed;
      for (const Tensor& o : outputs) {
        if (random.below(2) == 0) continue;
        earlier.push_back(o);
        copies.push_back(o.clone());
      }
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
