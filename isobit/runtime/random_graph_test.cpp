// Random graphs through the planned executor and through one without any plan: every value the same, to the bit, and
// nothing of the caller's changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
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
      const Tensor* input = n.input(i);
      EXPECT_TRUE(input == nullptr || identical(*input, expected_.at(n.node.inputs[i]))) << n.node.op << " " << n.index;
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

// The same nodes over inputs of other dimensions, -1 for open ones; nothing where an operator does not take them.
std::optional<Graph> with_inputs(const Graph& g, const std::vector<Ints>& dims) {
  Graph other;
  std::vector<ValueId> same(static_cast<size_t>(g.value_count()));
  for (size_t n = 0; n < dims.size(); ++n) {
    same[static_cast<size_t>(g.inputs()[n])] = other.add_input("in", DType::kFloat32, dims[n]);
  }
  for (const graph::Initializer& i : g.initializers()) {
    same[static_cast<size_t>(i.value)] = other.add_initializer("constant", i.tensor);
  }
  for (const graph::Node& node : g.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId i : node.inputs) inputs.push_back(same[static_cast<size_t>(i)]);
    const auto outputs = other.add_node(node.op, inputs, node.attributes, std::vector<std::string>{"v"});
    if (!outputs) return std::nullopt;
    same[static_cast<size_t>(node.outputs[0])] = (*outputs)[0];
  }
  for (const ValueId o : g.outputs()) other.add_output(same[static_cast<size_t>(o)]);
  return other;
}

std::vector<Ints> input_dims(const Graph& g) {
  std::vector<Ints> dims;
  for (const ValueId i : g.inputs()) dims.push_back(g.value(i).dims);
  return dims;
}

// Inputs of other dimensions than those that the graph was made with, where its nodes take them: one executor plans
// again for each, and the shapes of the first come back last.
TEST(RandomGraphs, ShapesOfTheRunChangeNoValue) {
  ThreadPool pool(1);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  int runs = 0, refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraph random(seed);
    std::vector<Ints> dims = input_dims(random.g);
    for (Ints& d : dims) std::fill_n(d.begin(), seed % 2 == 0 ? d.size() : 1, -1);
    const auto open = with_inputs(random.g, dims);
    if (!open) continue;
    Executor executor(*open);
    for (const int64_t factor : {1, 2, 1}) {
      dims = input_dims(random.g);
      Executor::Feeds feeds;
      for (Ints& d : dims) {
        d[0] *= factor;
        feeds.emplace_back(open->inputs()[feeds.size()], random.tensor(Shape(d)));
      }
      const auto fixed = with_inputs(random.g, dims);
      if (!fixed) {
        ++refused;
        EXPECT_FALSE(executor.run(ctx, feeds)) << seed;
        continue;
      }
      const auto expected = testing::run_naively(*fixed, ctx, feeds).value();
      Compare compare(expected);
      const auto outputs = executor.run(ctx, feeds, {.observer = &compare});
      ASSERT_TRUE(outputs) << seed << ": " << outputs.error().message;
      for (size_t o = 0; o < outputs->size(); ++o) {
        ASSERT_TRUE(identical((*outputs)[o], expected.at(open->outputs()[o]))) << "seed " << seed << ", output " << o;
      }
      ++runs;
    }
  }
  EXPECT_GT(runs, 100);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace isobit::runtime
