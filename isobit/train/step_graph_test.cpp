#include "isobit/train/step_graph.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "isobit/graph/op.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

Job example(const std::string& name, std::vector<std::string> overrides) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  return load_job(std::string(source ? source : ".") + "/examples/jobs/" + name + ".toml", overrides).value();
}

// Compares the length of every inner product that is computed with what the graph says.
class Lengths : public runtime::Observer {
 public:
  Status after_stage(const runtime::NodeRun& run) override {
    if (!graph::op_of(run.node).is_inner_product()) return {};
    const auto blocks = runtime::product_blocks(run);
    EXPECT_EQ(runtime::terms_of(run.graph, run.node), blocks.front().k) << run.node.op << " " << run.node.name;
    seen.insert(run.node.op);
    return {};
  }
  std::set<std::string> seen;
};

TEST(Terms, AreWhatTheStepComputes) {
  Lengths lengths;
  for (const char* name : {"digits", "cifar10-resnet"}) {
    const Job job = example(name, {"data.dataset=digits", "data.path=\"\"", "data.batch=3", "job.arithmetic=float64"});
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    auto trainer = Trainer::create(job, data::open_dataset(job.data).value(), engine).value();
    ASSERT_TRUE(trainer->advance({.observer = &lengths}));
  }
  EXPECT_EQ(lengths.seen,
            (std::set<std::string>{"Conv", "Gemm", "MatMul", "isobit.ConvGradSrc", "isobit.ConvGradWeights"}));
}

TEST(Terms, OfMatricesAndOfGroups) {
  graph::Graph g;
  const auto in = [&](std::vector<int64_t> dims) { return g.add_input("x", DType::kFloat64, std::move(dims)); };
  const auto terms = [&](const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes) {
    g.emit(op, std::move(inputs), std::move(attributes), "y");
    return runtime::terms_of(g, g.nodes().back());
  };
  EXPECT_EQ(terms("MatMul", {in({2, 3, 4}), in({4, 5})}, {}), 4);
  EXPECT_EQ(terms("MatMul", {in({2, 3, 4}), in({2, 3, 5})}, {{"transA", int64_t{1}}}), 3);
  EXPECT_EQ(terms("Gemm", {in({7, 6}), in({9, 6})}, {{"transB", int64_t{1}}}), 6);
  EXPECT_EQ(terms("Conv", {in({1, 6, 8, 8}), in({4, 3, 3, 3})}, {{"group", int64_t{2}}}), 27);
  const std::vector<int64_t> src = {1, 6, 8, 8}, weights = {4, 3, 3, 3};
  EXPECT_EQ(terms("isobit.ConvGradSrc", {in({1, 4, 6, 6}), in(weights)}, {{"group", int64_t{2}}, {"src_shape", src}}),
            18);
  EXPECT_EQ(
      terms("isobit.ConvGradWeights", {in(src), in({1, 4, 6, 6})}, {{"group", int64_t{2}}, {"weights_shape", weights}}),
      36);
}

// The gradient of mnist-cnn's first kernel adds up 784 products for every image of the batch.
TEST(StepGraph, RefusesInnerProductsLongerThanTheBoundsCover) {
  const auto build = [](const std::string& arithmetic, const std::string& batch) {
    const Job job = example("mnist", {"job.arithmetic=" + arithmetic, "data.batch=" + batch});
    return build_step_graph(job, *data::declared_shape(job.data));
  };
  EXPECT_TRUE(build("logged-1", "85598"));
  const auto refused = build("logged-1", "85599");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
  for (const char* part : {"isobit.ConvGradWeights", "67109616", "67108864", "logged-1"}) {
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  }
  for (const char* arithmetic : {"ordered-1", "correct-1", "rounded"}) EXPECT_TRUE(build(arithmetic, "85599"));
}

// No job reaches the limit of correct-1, whose tensors would be too large; its graphs are held to it all the same.
TEST(StepGraph, ChecksAnyGraphAgainstAnyArithmetic) {
  graph::Graph g;
  const int64_t k = platform::arithmetic_of("correct-1").most_terms;
  for (const int64_t terms : {k, k + 1}) {
    g.emit("MatMul", {g.add_input("a", DType::kFloat32, {1, terms}), g.add_input("b", DType::kFloat32, {terms, 1})}, {},
           "c");
    EXPECT_EQ(runtime::check_terms(g, platform::arithmetic_of("correct-1")).has_value(), terms == k);
    EXPECT_TRUE(runtime::check_terms(g, platform::arithmetic_of("ordered-1")));
  }
}

}  // namespace
}  // namespace isobit::train
