#include "isobit/runtime/recompute.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "isobit/base/text.h"
#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/plan.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;

// A chain of layers on [rows, width] and its gradients: a product, an activation of two nodes, another input added.
struct Chain {
  Graph g;
  ValueId x = 0, loss = 0;
  std::vector<ValueId> weights, products;

  explicit Chain(int layers, int64_t rows = 64, int64_t width = 16) {
    x = g.add_input("x", DType::kFloat32, {rows, width});
    ValueId h = x;
    for (int i = 0; i < layers; ++i) {
      weights.push_back(g.add_input(text_of("w", i), DType::kFloat32, {width, width}));
      products.push_back(g.emit("MatMul", {h, weights.back()}, {}, text_of("product", i)));
      const ValueId sigmoid = g.emit("Sigmoid", {products.back()}, {}, text_of("sigmoid", i));
      h = g.emit("Mul", {sigmoid, products.back()}, {}, text_of("swish", i));
    }
    loss = g.emit("ReduceMean", {h}, {{"keepdims", int64_t{0}}}, "loss");
    g.add_output(loss);
    const std::vector<ValueId> grads = graph::append_gradients(g, loss, weights).value();
    for (const ValueId grad : grads) g.add_output(grad);
  }

  Plan plan(Recompute what, size_t parts = 0) const {
    return make_plan(g, kernel_table(), {what, {loss}, parts}).value();
  }
  Executor::Feeds feeds() const {
    Executor::Feeds feeds;
    for (const ValueId i : g.inputs()) {
      Tensor t(DType::kFloat32, g.value(i).shape());
      float next = 0.3f;
      for (float& v : t.span<float>()) v = next = 3.7f * next * (1 - next);
      for (float& v : t.span<float>()) v -= 0.5f;
      feeds.emplace_back(i, std::move(t));
    }
    return feeds;
  }
};

std::map<std::string, int> again(const Plan& plan, const Graph& g) {
  std::map<std::string, int> runs;
  for (const PlanStep& s : plan.steps) {
    if (s.again) ++runs[g.nodes()[s.node].op];
  }
  return runs;
}

// The bits of everything that is seen, and how often.
struct Seen final : Observer {
  std::map<size_t, Tensor> outputs;
  std::vector<size_t> order, ran_again_at;
  Status after_stage(const NodeRun& run) override {
    order.push_back(run.index);
    outputs[run.index] = run.outputs[0].clone();
    return {};
  }
  void ran_again(size_t index) override { ran_again_at.push_back(index); }
};

class Recomputed : public ::testing::Test {
 protected:
  Expected<std::vector<Tensor>> run(const Chain& net, Recompute what, Observer* seen, MemoryUse* use = nullptr,
                                    Stage* stage = nullptr) {
    Limits limits;
    limits.recomputation = {what, {net.loss}};
    return Executor(net.g, kernel_table(), limits)
        .run({kernels::best_isa(), &pool_}, net.feeds(), {.observer = seen, .stage = stage, .memory = use});
  }
  ThreadPool pool_{2};
};

TEST_F(Recomputed, EveryBitIsTheSameAndEveryNodeIsSeenOnce) {
  const Chain net(12);
  Seen plain;
  MemoryUse before;
  const auto expected = run(net, Recompute::kNothing, &plain, &before).value();
  EXPECT_TRUE(plain.ran_again_at.empty());
  for (const Recompute what : {Recompute::kCheap, Recompute::kEverything}) {
    Seen seen;
    MemoryUse use;
    const auto found = run(net, what, &seen, &use).value();
    for (size_t o = 0; o < found.size(); ++o) EXPECT_TRUE(identical(found[o], expected[o])) << o;
    EXPECT_EQ(seen.order, plain.order);
    for (const auto& [node, tensor] : plain.outputs) EXPECT_TRUE(identical(seen.outputs[node], tensor)) << node;
    EXPECT_FALSE(seen.ran_again_at.empty());
    EXPECT_EQ(use.peak_bytes, net.plan(what).peak_bytes);
    EXPECT_LT(use.peak_bytes, before.peak_bytes);
  }
}

TEST_F(Recomputed, CheapValuesComeFromProductsThatAreKept) {
  const Chain net(12);
  const uint64_t layer = 64 * 16 * 4;
  const Plan plain = net.plan(Recompute::kNothing), cheap = net.plan(Recompute::kCheap);
  EXPECT_EQ(again(cheap, net.g).count("MatMul"), 0u);
  EXPECT_GT(again(cheap, net.g)["Sigmoid"], 6);
  EXPECT_LT(cheap.peak_bytes, plain.peak_bytes - 12 * layer) << "of three values of a layer, one stays";
}

TEST_F(Recomputed, EverythingTakesAboutTheSquareRoot) {
  const Chain net(36);
  const uint64_t layer = 64 * 16 * 4;
  uint64_t fixed = 0;
  const Plan plain = net.plan(Recompute::kNothing), all = net.plan(Recompute::kEverything);
  for (const PlanBlock& b : plain.blocks) {
    if (b.place != PlanBlock::Place::kArena) fixed += b.bytes;
  }
  EXPECT_GT(plain.peak_bytes - fixed, 36 * 2 * layer);
  EXPECT_LT(all.peak_bytes - fixed, 28 * layer) << "6 parts of 6 layers: 6 ends, and 18 values of a part";
  EXPECT_GT(again(all, net.g)["MatMul"], 20);
}

TEST_F(Recomputed, NoNodeRunsMoreThanTwice) {
  const Chain net(20);
  for (size_t parts = 1; parts < 12; ++parts) {
    std::map<size_t, int> runs;
    const Plan plan = net.plan(Recompute::kEverything, parts);
    for (const PlanStep& s : plan.steps) ++runs[s.node];
    for (const auto& [node, count] : runs) EXPECT_LE(count, 2) << node;
    EXPECT_EQ(runs.size(), net.g.nodes().size());
  }
}

// In whatever parts: the block of an operand holds it, and no other one that is in use lies there.
TEST_F(Recomputed, EveryOperandIsThereWhenItIsRead) {
  const Chain net(9);
  for (const Recompute what : {Recompute::kCheap, Recompute::kEverything}) {
    for (size_t parts = 0; parts < 14; ++parts) {
      const Plan plan = net.plan(what, parts);
      std::vector<ValueId> root(plan.block_of.size()), holds(plan.blocks.size(), graph::kNoValue);
      const auto put = [&](ValueId id) { holds[static_cast<size_t>(plan.block_of[static_cast<size_t>(id)])] = id; };
      for (size_t v = 0; v < root.size(); ++v) root[v] = static_cast<ValueId>(v);
      for (const ValueId i : net.g.inputs()) put(i);
      for (const graph::Initializer& i : net.g.initializers()) put(i.value);
      for (const PlanStep& s : plan.steps) {
        for (const ValueId i : s.inputs) {
          if (i == graph::kNoValue) continue;
          ASSERT_EQ(holds[static_cast<size_t>(plan.block_of[static_cast<size_t>(i)])], root[static_cast<size_t>(i)]);
        }
        for (const ValueId o : s.outputs) {
          if (s.kernel->is_view) {
            root[static_cast<size_t>(o)] = root[static_cast<size_t>(s.inputs[0])];
          } else if (o != graph::kNoValue) {
            put(o);
          }
        }
      }
      for (const PlanBlock& a : plan.blocks) {
        for (const PlanBlock& b : plan.blocks) {
          const bool both_in_arena = a.place == PlanBlock::Place::kArena && b.place == PlanBlock::Place::kArena;
          if (&a == &b || !both_in_arena || a.begin > b.end || b.begin > a.end) continue;
          ASSERT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << parts;
        }
      }
    }
  }
}

TEST_F(Recomputed, NothingIsComputedAgainForNothing) {
  int gained = 0;
  for (int layers = 1; layers < 20; ++layers) {
    for (const int64_t rows : {1, 8, 64}) {
      const Chain net(layers, rows);
      const uint64_t plain = net.plan(Recompute::kNothing).peak_bytes;
      for (const Recompute what : {Recompute::kCheap, Recompute::kEverything}) {
        const Plan plan = net.plan(what);
        if (again(plan, net.g).empty()) {
          EXPECT_EQ(plan.peak_bytes, plain);
        } else {
          EXPECT_LT(plan.peak_bytes, plain) << layers << " layers, " << rows << " rows";
          ++gained;
        }
      }
    }
  }
  EXPECT_GT(gained, 30);
  Graph inference;
  const ValueId x = inference.add_input("x", DType::kFloat32, {64});
  inference.add_output(inference.emit("Relu", {inference.emit("Exp", {x}, {}, "a")}, {}, "b"));
  EXPECT_TRUE(again(make_plan(inference, kernel_table(), {Recompute::kEverything, {}}).value(), inference).empty());
}

// One product in front of many cheap values: a cut that may go through it holds more at once than one that may not.
TEST(Recompute, EverythingHoldsNoMoreThanCheap) {
  for (const int64_t rows : {5, 16, 64}) {
    for (const int64_t width : {2, 4, 16}) {
      Graph g;
      const ValueId x = g.add_input("x", DType::kFloat32, {rows, width}),
                    w = g.add_input("w", DType::kFloat32, {width, width}),
                    b = g.add_input("b", DType::kFloat32, {width});
      const ValueId product = g.emit("MatMul", {g.emit("Mul", {x, x}, {}, "square"), w}, {}, "product");
      const ValueId relu = g.emit("Relu", {g.emit("Add", {product, b}, {}, "sum")}, {}, "relu");
      const ValueId gelu = g.emit("Gelu", {g.emit("Mul", {relu, relu}, {}, "square")}, {}, "gelu");
      const ValueId loss =
          g.emit("ReduceMean", {g.emit("Sigmoid", {gelu}, {}, "sigmoid")}, {{"keepdims", int64_t{0}}}, "loss");
      g.add_output(loss);
      const std::vector<ValueId> wanted = {w, b}, grads = graph::append_gradients(g, loss, wanted).value();
      for (const ValueId grad : grads) g.add_output(grad);
      const auto held = [&](Recompute what) {
        Plan plan = make_plan(g, kernel_table(), {what, {loss}}).value();
        return least_peak_bytes(g, {std::move(plan.steps), std::move(plan.copies)}).value();
      };
      EXPECT_LE(held(Recompute::kEverything), held(Recompute::kCheap)) << rows << " x " << width;
    }
  }
}

// What a stage made of a value the first time, it makes of it again.
TEST_F(Recomputed, AStageIsAskedAgain) {
  struct Halving final : Stage {
    std::map<size_t, int> first, more;
    static Status halve(KernelCall& call) {
      for (float& v : call.outputs[0].span<float>()) v /= 2;
      return {};
    }
    Status apply(size_t index, KernelCall& call) override {
      ++first[index];
      return halve(call);
    }
    Status apply_again(size_t index, KernelCall& call) override {
      ++more[index];
      return halve(call);
    }
  };
  const Chain net(12);
  Halving plain, stage;
  const auto expected = run(net, Recompute::kNothing, nullptr, nullptr, &plain).value();
  const auto found = run(net, Recompute::kCheap, nullptr, nullptr, &stage).value();
  for (size_t o = 0; o < found.size(); ++o) EXPECT_TRUE(identical(found[o], expected[o])) << o;
  EXPECT_EQ(stage.first, plain.first);
  EXPECT_TRUE(plain.more.empty());
  EXPECT_FALSE(stage.more.empty());
}

TEST(Recompute, HasNames) {
  for (const Recompute what : {Recompute::kNothing, Recompute::kCheap, Recompute::kEverything}) {
    EXPECT_EQ(recompute_named(name_of(what)).value(), what);
  }
  const auto refused = recompute_named("some");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_EQ(refused.error().message, "'some': expected none, cheap or all");
}

TEST(Recompute, AsksForPromisesWhereProductsAreComputedAgain) {
  for (const platform::Arithmetic& arithmetic : platform::arithmetics()) {
    EXPECT_TRUE(check_recompute(Recompute::kCheap, arithmetic)) << arithmetic.name;
    const bool alone = arithmetic.name == "ordered-1" || arithmetic.name == "correct-1";
    EXPECT_EQ(check_recompute(Recompute::kEverything, arithmetic).has_value(), alone) << arithmetic.name;
  }
  const Status logged = check_recompute(Recompute::kEverything, platform::arithmetic_of("logged-1"));
  EXPECT_NE(logged.error().message.find("what their log decides is decided once"), std::string::npos);
}

TEST(Recompute, ShapesThatFollowFromDataAreRefused) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {4});
  g.add_output(g.emit("NonZero", {x}, {}, "places"));
  Limits limits;
  limits.recomputation.what = Recompute::kCheap;
  const Status refused = Executor(g, kernel_table(), limits).status();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("follow from data"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace isobit::runtime
