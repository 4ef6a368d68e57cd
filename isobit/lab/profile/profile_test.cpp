#include <gtest/gtest.h>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/matmul/gemm.h"
#include "isobit/lab/profile/machine_pace.h"
#include "isobit/lab/profile/rows.h"
#include "isobit/runtime/executor.h"
#include "isobit/train/trainer.h"

namespace isobit::lab::profile {
namespace {

using graph::Graph;
using graph::ValueId;

// Of a convolution of 2 images with 3 channels of 8 x 8, 4 output channels, 3 x 3, stride 2, padding 1: 16 positions.
constexpr int64_t kPairs = int64_t{2} * 4 * 16 * 3 * 9;

TEST(WorkTest, AConvolutionAndItsGradientsMultiplyTheSamePairs) {
  Graph g;
  const ValueId src = g.add_input("src", DType::kFloat32, {2, 3, 8, 8});
  const ValueId weights = g.add_input("weights", DType::kFloat32, {4, 3, 3, 3});
  const ValueId diff = g.add_input("diff", DType::kFloat32, {2, 4, 4, 4});
  const graph::Attributes window = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                                    {"strides", std::vector<int64_t>{2, 2}},
                                    {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  const auto like = [&](std::vector<int64_t> dims, const char* name) {
    graph::Attributes a = window;
    a.set(name, std::move(dims));
    return a;
  };
  ASSERT_TRUE(g.add_node("Conv", {src, weights}, window, {"y"}));
  ASSERT_TRUE(g.add_node("isobit.ConvGradSrc", {diff, weights}, like({2, 3, 8, 8}, "src_shape"), {"dx"}));
  ASSERT_TRUE(g.add_node("isobit.ConvGradWeights", {src, diff}, like({4, 3, 3, 3}, "weights_shape"), {"dw"}));
  for (const graph::Node& node : g.nodes()) EXPECT_EQ(work_of(g, node).operations, 2 * kPairs) << node.op;
  EXPECT_EQ(work_of(g, g.nodes()[0]).bytes, 4 * (2 * 3 * 64 + 4 * 27 + 2 * 4 * 16));
}

TEST(WorkTest, ABatchOfMatricesCountsEachAndOtherOperatorsHaveBytesAlone) {
  Graph g;
  const ValueId a = g.add_input("a", DType::kFloat64, {5, 2, 7});
  const ValueId b = g.add_input("b", DType::kFloat64, {7, 3});
  ASSERT_TRUE(g.add_node("MatMul", {a, b}, {}, {"c"}));
  ASSERT_TRUE(g.add_node("Relu", {a}, {}, {"r"}));
  const Work product = work_of(g, g.nodes()[0]), relu = work_of(g, g.nodes()[1]);
  EXPECT_EQ(product.operations, 2 * 5 * 2 * 3 * 7);
  EXPECT_TRUE(product.in_float64);
  EXPECT_EQ(relu.operations, 0);
  EXPECT_EQ(relu.bytes, 8 * 2 * 70);
}

// relu(x)^T y of each of a stack, and their sum.
Graph summed_stack() {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {64, 8, 128});
  const ValueId y = g.add_input("y", DType::kFloat32, {64, 8, 128});
  const ValueId relu = g.emit("Relu", {x}, {}, "relu");
  const ValueId products = g.emit("MatMul", {relu, y}, {{"transA", int64_t{1}}, {"transB", int64_t{0}}}, "products");
  g.add_output(g.emit("isobit.SumTo", {products}, {{"shape", std::vector<int64_t>{128, 128}}}, "sum"));
  return g;
}

TEST(WorkTest, WhatIsBetweenNodesAtOnceIsNotMoved) {
  const Graph g = summed_stack();
  const graph::Node* const sum[] = {&g.nodes()[2]};
  const Work work = work_of(g, g.nodes()[1], sum);
  EXPECT_EQ(work.bytes, 4 * (2 * 64 * 8 * 128 + 128 * 128));
  EXPECT_EQ(work.operations, 2 * 64 * 128 * 128 * 8);
}

// relu(x + conv(x))
Graph residual_block() {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {1, 4, 5, 5});
  const ValueId w = g.add_input("w", DType::kFloat32, {4, 4, 1, 1});
  const ValueId conv = g.emit("Conv", {x, w}, {{"kernel_shape", std::vector<int64_t>{1, 1}}}, "conv");
  g.add_output(g.emit("Relu", {g.emit("Add", {x, conv}, {}, "added")}, {}, "relu"));
  return g;
}

TEST(WorkTest, WhatIsAddedAtOnceIsMoved) {
  const Graph g = residual_block();
  const graph::Node* const following[] = {&g.nodes()[1], &g.nodes()[2]};
  EXPECT_EQ(work_of(g, g.nodes()[0], following).bytes, 4 * (100 + 16 + 100)) << "x once";
}

// A clock that is a second on whenever it is asked.
struct Ticks {
  double now = 0;
  platform::Clock clock() {
    return [this] { return now += 1; };
  }
};

train::Job small_job(const std::string& arithmetic) {
  return train::parse_job(text_of("[job]\nseed = 5\nsteps = 8\narithmetic = \"", arithmetic,
                                  "\"\n[model]\nbuilder = \"digits-cnn\"\n[data]\ndataset = \"digits\"\nbatch = "
                                  "4\n[optimizer]\nlr = 0.02\n"),
                          "test", "")
      .value();
}

struct Profiled {
  train::Job job;
  platform::Engine engine{platform::parse_platform("ordered/1t").value()};
  std::unique_ptr<train::Trainer> trainer;
  explicit Profiled(const std::string& arithmetic) : job(small_job(arithmetic)) {
    trainer = train::Trainer::create(job, data::open_dataset(job.data).value(), engine).value();
  }
  void steps(int64_t count, Profiler* profiler) {
    for (int64_t i = 0; i < count; ++i) {
      if (profiler != nullptr) profiler->begin_step(trainer->step() + 1);
      ASSERT_TRUE(trainer->advance({.observer = profiler}));
      if (profiler != nullptr) profiler->end_step();
    }
  }
};

TEST(ProfilerTest, EverySecondOfAStepIsSomewhere) {
  Profiled run("logged-1");
  Ticks ticks;
  Profiler profiler(run.engine.platform(), ticks.clock(), 10000);
  run.steps(4, &profiler);
  const Profile p = profiler.profile();
  EXPECT_EQ(p.steps, 3);
  const auto nodes = static_cast<double>(p.nodes.size());
  // The clock is asked four times for each node: a second each lies within its kernel and its stage.
  EXPECT_EQ(p.kernels, nodes);
  EXPECT_EQ(p.stages, nodes);
  EXPECT_EQ(p.batch, 1);
  EXPECT_EQ(p.between, 1);
  EXPECT_EQ(p.step, p.batch + p.kernels + p.stages + p.rest);
  size_t products = 0, expected_products = 0, computed = 0;
  for (const NodeTime& n : p.nodes) products += n.work.operations > 0;
  const graph::Graph& graph = run.trainer->step_graph().graph;
  for (const graph::Node& n : graph.nodes()) expected_products += graph::op_of(n).is_inner_product();
  for (const Span& s : profiler.spans()) computed += s.kind == Span::Kind::kKernel;
  EXPECT_EQ(products, expected_products);
  EXPECT_EQ(computed, 4 * p.nodes.size());
}

TEST(ProfilerTest, TheOnlyStepCountsAndWatchingChangesNoBit) {
  Profiled watched("ordered-1"), alone("ordered-1");
  Ticks ticks;
  Profiler profiler(watched.engine.platform(), ticks.clock(), 5);
  EXPECT_EQ(profiler.profile().steps, 0);
  watched.steps(1, &profiler);
  EXPECT_EQ(profiler.profile().steps, 1);
  EXPECT_EQ(profiler.profile().between, 0);
  EXPECT_EQ(profiler.spans().size(), 5);
  alone.steps(1, nullptr);
  for (size_t i = 0; i < alone.trainer->state().size(); ++i) {
    EXPECT_TRUE(identical(alone.trainer->state()[i].tensor, watched.trainer->state()[i].tensor));
  }
}

// Of one run on zeros.
Profile profile_of(const Graph& g) {
  platform::Engine engine{platform::parse_platform("ordered/1t").value()};
  ThreadPool pool(1);
  Ticks ticks;
  Profiler profiler(engine.platform(), ticks.clock());
  runtime::Executor executor(g);
  runtime::Executor::Feeds feeds;
  for (const ValueId id : g.inputs()) feeds.emplace_back(id, Tensor::zeros(DType::kFloat32, g.value(id).shape()));
  profiler.begin_step(1);
  EXPECT_TRUE(executor.run({kernels::best_isa(), &pool}, std::move(feeds), {.observer = &profiler}));
  profiler.end_step();
  return profiler.profile();
}

TEST(ProfilerTest, NodesAtOnceAreOne) {
  const Profile p = profile_of(summed_stack());
  ASSERT_EQ(p.nodes.size(), 2);
  EXPECT_EQ(p.nodes[1].op, "MatMul+SumTo");
  EXPECT_EQ(p.nodes[1].name, "sum");
  EXPECT_TRUE(p.nodes[1].is_product);
  EXPECT_EQ(p.nodes[1].seconds, 1);
  const Profile residual = profile_of(residual_block());
  ASSERT_EQ(residual.nodes.size(), 1);
  EXPECT_EQ(residual.nodes[0].op, "Conv+Add+Relu");
  EXPECT_EQ(residual.nodes[0].name, "relu");
}

TEST(ProfilerTest, RowsAddUpToTheNodes) {
  Profile p;
  p.nodes = {{0, "Conv", "a", "openblas@haswell", true, {.operations = 100, .bytes = 10}, 2, 0.5},
             {1, "Relu", "b", "isobit avx2", false, {.operations = 0, .bytes = 20}, 1, 0},
             {2, "Conv", "c", "openblas@haswell", true, {.operations = 200, .in_float64 = true, .bytes = 30}, 3, 0}};
  const MachinePace pace{.float32 = 100, .float64 = 50, .bytes = 10};
  const auto operators = rows_by_operator(p, pace), kernels = rows_by_kernel(p, pace);
  ASSERT_EQ(operators.size(), 2);
  EXPECT_EQ(operators[0].name, "Conv");
  EXPECT_EQ(operators[0].nodes, 2);
  EXPECT_EQ(operators[0].seconds, 5.5);
  EXPECT_EQ(operators[0].stage_seconds, 0.5);
  EXPECT_EQ(operators[0].least_seconds, 1 + 4);
  EXPECT_EQ(operators[0].bytes_per_second(), 40 / 5.5);
  EXPECT_EQ(operators[1].operations_per_second(), 0);
  ASSERT_EQ(kernels.size(), 2);
  EXPECT_EQ(kernels[0].name, "openblas@haswell, inner products");
  EXPECT_EQ(kernels[1].name, "isobit avx2, other operators");
}

// Under a clock of its own, on which each try takes a second: the rates are what was done.
TEST(MachinePaceTest, ARateIsTheWorkOfASecond) {
  for (const char* name : {"ordered@portable/1t", "ordered/2t"}) {
    Ticks ticks;
    const platform::Platform platform = platform::parse_platform(name).value();
    const MachinePace pace = measure_pace(platform, ticks.clock());
    const auto fmas = [&](int lanes) { return 2.0 * 2048 * lanes * kernels::gemm::kFmaChains * platform.threads; };
    EXPECT_EQ(pace.float32, fmas(kernels::gemm::table_of<float>(platform.isa).lanes));
    EXPECT_EQ(pace.float64, fmas(kernels::gemm::table_of<double>(platform.isa).lanes));
    EXPECT_EQ(pace.bytes, 1.5 * kPaceBytes);
  }
}

}  // namespace
}  // namespace isobit::lab::profile
