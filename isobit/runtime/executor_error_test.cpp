// What is left behind by a run that ends with an error, and what of a caller's the executor holds between runs.
#include <gtest/gtest.h>

#include <map>
#include <new>
#include <stdexcept>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;

Tensor filled(int64_t n, float x) {
  Tensor t(DType::kFloat32, {n});
  for (float& e : t.span<float>()) e = x;
  return t;
}
const void* memory_of(const Tensor& t) { return t.raw(); }

class OneRun : public ::testing::Test {
 protected:
  ThreadPool pool_{1};
  kernels::KernelContext ctx_{kernels::best_isa(), &pool_};
};

// A state that each step writes over, and what it is stepped by.
class Step : public OneRun {
 protected:
  Step() {
    state_ = g_.add_input("state", DType::kFloat32, {16});
    change_ = g_.add_input("change", DType::kFloat32, {16});
    g_.add_output(g_.emit("Add", {state_, change_}, {}, "next"));
  }
  Graph g_;
  ValueId state_, change_;
};

TEST_F(Step, AFeedThatDoesNotFitTakesNoOtherFeedAway) {
  Executor executor(g_);
  Executor::Feeds feeds;
  feeds.emplace_back(state_, filled(16, 1));
  feeds.emplace_back(change_, filled(8, 2));
  const void* const memory = memory_of(feeds[0].second);
  std::vector<Tensor> outputs(1);
  ASSERT_FALSE(executor.run_into(ctx_, feeds, outputs));
  ASSERT_TRUE(feeds[0].second.defined());
  EXPECT_EQ(memory_of(feeds[0].second), memory);
  EXPECT_TRUE(identical(feeds[0].second, filled(16, 1)));
  feeds[1].second = filled(16, 2);
  ASSERT_TRUE(executor.run_into(ctx_, feeds, outputs));
  EXPECT_TRUE(identical(outputs[0], filled(16, 3)));
  EXPECT_EQ(memory_of(outputs[0]), memory) << "nothing was copied";
}

class Throwing final : public Observer {
 public:
  Status after_stage(const NodeRun&) override { throw std::runtime_error("an observer's own"); }
};

TEST_F(Step, WhatAnObserverThrowsLeavesTheExecutorAsItWas) {
  Executor executor(g_);
  Executor::Feeds feeds;
  feeds.emplace_back(state_, filled(16, 1));
  feeds.emplace_back(change_, filled(16, 2));
  std::vector<Tensor> outputs(1);
  Throwing throwing;
  EXPECT_THROW((void)executor.run_into(ctx_, feeds, outputs, {.observer = &throwing}), std::runtime_error);
  ASSERT_TRUE(feeds[0].second.defined());
  EXPECT_TRUE(feeds[0].second.sole_owner());
  feeds[0].second = filled(16, 5);
  const Status again = executor.run_into(ctx_, feeds, outputs);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(identical(outputs[0], filled(16, 7)));
}

class Nesting final : public Observer {
 public:
  Nesting(Executor& executor, const Executor::Feeds& feeds) : executor_(executor), feeds_(feeds) {}
  Status after_stage(const NodeRun& n) override {
    const auto inner = executor_.run(n.ctx, feeds_);
    EXPECT_FALSE(inner);
    EXPECT_TRUE(inner || inner.error().code == ErrorCode::kUsage);
    ++runs;
    return {};
  }
  int runs = 0;

 private:
  Executor& executor_;
  const Executor::Feeds& feeds_;
};

TEST_F(Step, ARunInTheMiddleOfAnotherIsRefusedAndChangesNothing) {
  Executor executor(g_);
  const Executor::Feeds inner = {{state_, filled(16, 10)}, {change_, filled(16, 20)}};
  Nesting nesting(executor, inner);
  for (int round = 0; round < 2; ++round) {
    const auto out = executor.run(ctx_, {{state_, filled(16, 1)}, {change_, filled(16, 2)}}, {.observer = &nesting});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_TRUE(identical(out->at(0), filled(16, 3)));
  }
  EXPECT_EQ(nesting.runs, 2);
}

TEST_F(Step, MemoryThatRunsOutWhileARunIsPlannedIsAnError) {
  KernelTable table = kernel_table();
  table["Add"].bind = [](const KernelSite&) -> RunKernel { throw std::bad_alloc(); };
  const Executor executor(g_, table);
  ASSERT_FALSE(executor.status());
  EXPECT_EQ(executor.status().error().code, ErrorCode::kUnavailable);
  Graph open;  // planned by its first run
  const ValueId x = open.add_input("x", DType::kFloat32, {-1});
  open.add_output(open.emit("Add", {x, x}, {}, "y"));
  const auto out = Executor(open, table).run(ctx_, {{x, filled(3, 1)}});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kUnavailable);
}

// Its memory is the host's, upside down.
class Elsewhere final : public Device {
 public:
  std::string name() const override { return "elsewhere"; }
  std::shared_ptr<uint8_t[]> allocate(size_t bytes) override { return host().allocate(bytes); }
  void copy_in(uint8_t* to, ByteView from) override {
    for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<uint8_t>(~from[i]);
  }
  void copy_out(std::span<uint8_t> to, const uint8_t* from) const override {
    for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<uint8_t>(~from[i]);
  }
};

TEST_F(Step, TensorsOfAnotherDeviceAreNotComputedOn) {
  Elsewhere device;
  Executor executor(g_);
  const auto refused = executor.run(ctx_, {{state_, filled(16, 1)}, {change_, filled(16, 2).copied_to(device)}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(refused.error().message.find("device 'elsewhere'"), std::string::npos) << refused.error().message;
  Graph g;  // whose output is no feed
  const ValueId x = g.add_input("x", DType::kFloat32, {16});
  g.add_output(g.emit("Add", {x, x}, {}, "y"));
  Executor::Feeds feeds;
  feeds.emplace_back(x, filled(16, 1));
  std::vector<Tensor> outputs = {filled(16, 0).copied_to(device)};
  ASSERT_TRUE(Executor(g).run_into(ctx_, feeds, outputs));
  ASSERT_TRUE(outputs[0].on_host());
  EXPECT_TRUE(identical(outputs[0], filled(16, 2)));
}

class Asking final : public Observer {
 public:
  bool wants_statistics() const override { return true; }
  Status before_stage(const NodeRun& n) override {
    statistics += n.statistics.size();
    return {};
  }
  size_t statistics = 0;
};

TEST_F(OneRun, AStatisticThatIsAnOutputIsHeldByTheCallerAlone) {
  Graph g;
  const ValueId logits = g.add_input("logits", DType::kFloat32, {2, 3});
  const ValueId labels = g.add_input("labels", DType::kInt64, {2});
  const auto made = g.emit_all("isobit.CrossEntropy", {logits, labels}, {}, {"loss", "row_loss", "max", "log_sum"});
  g.add_output(made[1]);
  Executor executor(g);
  std::vector<Tensor> outputs(1);
  const void* memory = nullptr;
  for (int round = 0; round < 3; ++round) {
    Executor::Feeds feeds;
    feeds.emplace_back(logits, Tensor::zeros(DType::kFloat32, {2, 3}));
    feeds.emplace_back(labels, Tensor::zeros(DType::kInt64, {2}));
    Asking asking;
    ASSERT_TRUE(executor.run_into(ctx_, feeds, outputs, {.observer = &asking}));
    EXPECT_EQ(asking.statistics, 3u);
    EXPECT_TRUE(outputs[0].sole_owner());
    EXPECT_TRUE(round == 0 || memory_of(outputs[0]) == memory) << "its place is written to again";
    memory = memory_of(outputs[0]);
  }
}

TEST_F(OneRun, OutputsThatAreViewsOfOneAnotherKeepTheirMemory) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {4, 4});
  const ValueId y = g.emit("Add", {x, x}, {}, "y");
  const ValueId flat = g.emit("Reshape", {y}, {{"shape", std::vector<int64_t>{-1}}}, "flat");
  for (const ValueId id : {flat, y, y}) g.add_output(id);
  Executor executor(g);
  std::vector<Tensor> outputs(3);
  const void* memory = nullptr;
  Executor::Feeds feeds;
  feeds.emplace_back(x, Tensor::zeros(DType::kFloat32, {4, 4}));
  const auto run = [&] { ASSERT_TRUE(executor.run_into(ctx_, feeds, outputs)); };
  for (int round = 0; round < 3; ++round) {
    run();
    for (const Tensor& o : outputs) {
      EXPECT_EQ(o.owners(), 3);
      EXPECT_TRUE(memory == nullptr || memory_of(o) == memory);
    }
    memory = memory_of(outputs[0]);
  }
  const Tensor held = outputs[1];
  run();
  EXPECT_NE(memory_of(outputs[1]), memory) << "somebody else has it";
  EXPECT_EQ(memory_of(held), memory);
}

TEST_F(OneRun, AnErrorGivesThePlacesTheirMemoryBack) {
  Graph g;
  const ValueId table = g.add_input("table", DType::kFloat32, {3, 2});
  const ValueId indices = g.add_input("indices", DType::kInt64, {2});
  g.add_output(g.emit("Gather", {table, indices}, {}, "rows"));
  Executor executor(g);
  const int64_t good[] = {0, 2}, bad[] = {0, 3};
  Executor::Feeds feeds;
  feeds.emplace_back(table, Tensor::zeros(DType::kFloat32, {3, 2}));
  feeds.emplace_back(indices, Tensor::of<int64_t>({2}, good));
  std::vector<Tensor> outputs(1);
  ASSERT_TRUE(executor.run_into(ctx_, feeds, outputs));
  const void* const memory = memory_of(outputs[0]);
  feeds[1].second = Tensor::of<int64_t>({2}, bad);
  ASSERT_FALSE(executor.run_into(ctx_, feeds, outputs));
  ASSERT_TRUE(outputs[0].defined());
  EXPECT_EQ(memory_of(outputs[0]), memory);
  for (const auto& [id, tensor] : feeds) EXPECT_TRUE(tensor.defined());
}

}  // namespace
}  // namespace isobit::runtime
