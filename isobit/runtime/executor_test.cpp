#include "isobit/runtime/executor.h"

#include <gtest/gtest.h>

#include <map>

#include "isobit/base/fp_env_for_test.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;

TEST(KernelTable, EveryOperatorHasAKernelAndEveryKernelAnOperator) {
  for (const std::string& op : graph::op_names()) EXPECT_TRUE(kernel_table().contains(op)) << op;
  for (const auto& [op, kernel] : kernel_table()) EXPECT_NE(graph::find_op(op), nullptr) << op;
}

class Recorder : public Observer {
 public:
  Status after_stage(const NodeRun& n) override {
    for (size_t o = 0; o < n.outputs.size(); ++o) seen[n.graph.value(n.node.outputs[o]).name] = n.outputs[o].clone();
    return {};
  }
  std::map<std::string, Tensor> seen;
};

// relu(x + 1) * 2, with an intermediate that is used twice.
struct Example {
  Example() {
    x = g.add_input("x", DType::kFloat32, {4});
    const ValueId one = g.add_initializer("one", Tensor::scalar(1.0f));
    const ValueId sum = g.emit("Add", {x, one}, {}, "sum");
    const ValueId relu = g.emit("Relu", {sum}, {}, "relu");
    const ValueId twice = g.emit("Add", {relu, relu}, {}, "twice");
    g.add_output(g.emit("Mul", {twice, sum}, {}, "y"));
  }
  Graph g;
  ValueId x;
};

TEST(Executor, RunsInPlaceWithoutTouchingWhatOthersHold) {
  const Example example;
  Executor executor(example.g);
  ThreadPool pool(1);
  const float values[] = {-3, -1, 0, 2};
  const Tensor x = Tensor::of<float>({4}, values);
  Recorder recorder;
  for (kernels::Isa isa : kernels::available_isas()) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto out = executor.run({isa, &pool}, {{example.x, x}}, {.observer = &recorder}).value();
      const float expected[] = {-0.0f, 0, 2, 18};
      EXPECT_TRUE(identical(out[0], Tensor::of<float>({4}, expected)));
    }
  }
  EXPECT_TRUE(identical(x, Tensor::of<float>({4}, values)));
  const float sum[] = {-2, 0, 1, 3}, twice[] = {0, 0, 2, 6};
  EXPECT_TRUE(identical(recorder.seen["sum"], Tensor::of<float>({4}, sum)));
  EXPECT_TRUE(identical(recorder.seen["twice"], Tensor::of<float>({4}, twice)));
}

TEST(Executor, ChainOfElementwiseOperatorsNeedsOneBuffer) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {1 << 16});
  ValueId y = x;
  for (int i = 0; i < 10; ++i) y = g.emit("Relu", {y}, {}, "y");
  g.add_output(y);
  ThreadPool pool(2);
  MemoryUse memory;
  Executor::Feeds feeds;  // not a braced list, whose copy would hold on to the tensor
  feeds.emplace_back(x, Tensor::zeros(DType::kFloat32, {1 << 16}));
  const auto out = Executor(g).run({kernels::best_isa(), &pool}, std::move(feeds), {.memory = &memory});
  ASSERT_TRUE(out);
  EXPECT_EQ(memory.peak_bytes, size_t{4} << 16);
}

TEST(Executor, LabelsAndIndicesOutOfRangeAreErrors) {
  ThreadPool pool(1);
  const kernels::KernelContext ctx{kernels::Isa::kPortable, &pool};
  Graph g;
  const ValueId logits = g.add_input("logits", DType::kFloat32, {2, 3});
  const ValueId labels = g.add_input("labels", DType::kInt64, {2});
  g.add_output(
      g.emit_all("isobit.CrossEntropy", {logits, labels}, {}, {"loss", "row_loss", "row_max", "row_log_sum"})[0]);
  const int64_t bad[] = {0, 3};
  EXPECT_FALSE(Executor(g).run(
      ctx, {{logits, Tensor::zeros(DType::kFloat32, {2, 3})}, {labels, Tensor::of<int64_t>({2}, bad)}}));

  Graph h;
  const ValueId table = h.add_input("table", DType::kFloat32, {3, 2});
  const ValueId indices = h.add_input("indices", DType::kInt64, {2});
  h.add_output(h.emit("Gather", {table, indices}, {}, "rows"));
  EXPECT_FALSE(Executor(h).run(
      ctx, {{table, Tensor::zeros(DType::kFloat32, {3, 2})}, {indices, Tensor::of<int64_t>({2}, bad)}}));
}

// Sets something on its thread when it sees an output.
class Disturbing final : public Observer {
 public:
  explicit Disturbing(void (*set)()) : set_(set) {}
  Status after_stage(const NodeRun&) override {
    set_();
    return {};
  }

 private:
  void (*set_)();
};

TEST(Executor, RefusesAStepOnThreadsWithAnotherFloatingPointEnvironment) {
  const Example example;
  Executor executor(example.g);
  ThreadPool pool(3);
  const float values[] = {-3, -1, 0, 2};
  const auto run = [&](Observer* observer = nullptr) {
    return executor.run({kernels::best_isa(), &pool}, {{example.x, Tensor::of<float>({4}, values)}},
                        {.observer = observer});
  };
  ASSERT_TRUE(run());
  for (const auto& d : isobit::testing::fp_disturbances()) {
    for (int which : {0, 1, 2}) {
      const auto on_thread = [&](void (*set)()) {
        pool.on_every_thread([&](int thread) {
          if (thread == which) set();
        });
      };
      on_thread(d.set);
      const auto refused = run();
      on_thread(pin_fp_environment);
      ASSERT_FALSE(refused) << d.what << " on thread " << which;
      EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
      EXPECT_NE(refused.error().message.find(d.what), std::string::npos) << refused.error().message;
    }
    Disturbing observer(d.set);
    const auto during = run(&observer);
    pin_fp_environment();
    ASSERT_FALSE(during) << d.what << " during a step";
    EXPECT_EQ(during.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(run());
  }
}

}  // namespace
}  // namespace isobit::runtime
