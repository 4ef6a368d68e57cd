// What a file means as a graph.
#include "isobit/onnx/import.h"

#include <gtest/gtest.h>

#include "isobit/graph/op.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::onnx {
namespace {

using Names = std::vector<std::string>;

Names value_names(const graph::Graph& g, const std::vector<graph::ValueId>& ids) {
  Names names;
  for (const graph::ValueId id : ids) names.push_back(g.value(id).name);
  return names;
}

graph::Graph imported(const ModelForTest& m, const ImportOptions& options = {}) {
  auto result = m.imported(options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(result->graph) : graph::Graph();
}

TEST(Import, NamesOperatorsAndParametersAreThoseOfTheFile) {
  ModelForTest m(13);
  m.input("image", {1, 3, 8, 8});
  m.initializer("conv.weight", Tensor::zeros(DType::kFloat32, {4, 3, 3, 3}));
  m.initializer("conv.bias", Tensor::zeros(DType::kFloat32, {4}));
  m.initializer("unused", Tensor::zeros(DType::kFloat32, {4}));
  m.node("Conv", {"image", "conv.weight", "conv.bias"}, {"c"})
      .named("first")
      .with("kernel_shape", std::vector<int64_t>{3, 3});
  m.node("Relu", {"c"}, {"features"});
  m.output("features");
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  const graph::Graph& g = result->graph;
  EXPECT_EQ(operators(g), (Names{"Conv", "Relu"}));
  EXPECT_EQ(g.nodes()[0].name, "first");
  EXPECT_EQ(value_names(g, g.inputs()), Names{"image"});
  EXPECT_EQ(value_names(g, g.outputs()), Names{"features"});
  EXPECT_EQ(value_names(g, result->parameters), (Names{"conv.weight", "conv.bias"}));
  EXPECT_EQ(g.initializers().size(), 2u) << "what no node uses is not there";
  EXPECT_EQ(g.value(g.outputs()[0]).dims, (std::vector<int64_t>{1, 4, 6, 6}));
}

TEST(Import, OpenDimensionsStayOpenOrBecomeWhatIsAskedFor) {
  ModelForTest m;
  auto& x = *m.graph().add_input();
  x.set_name("x");
  set_dims(*x.mutable_type(), kFloat, {-1, 3});
  x.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  const auto dims = [&](const ImportOptions& options) {
    const graph::Graph g = imported(m, options);
    return g.value(g.outputs()[0]).dims;
  };
  EXPECT_EQ(dims({}), (std::vector<int64_t>{-1, 3}));
  EXPECT_EQ(dims({.extents = {{"batch", 5}}}), (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(dims({.shapes = {{"x", {7, 9}}}}), (std::vector<int64_t>{7, 9}));
}

TEST(Import, ParametersThatSayWhereBecomeAttributes) {
  ModelForTest m(13);
  m.input("x", {2, 6}).initializer("shape", ints({3, 4}));
  m.node("Reshape", {"x", "shape"}, {"y"});
  m.output("y");
  const graph::Graph g = imported(m);
  ASSERT_EQ(operators(g), Names{"Reshape"});
  EXPECT_EQ(g.nodes()[0].inputs.size(), 1u);
  EXPECT_EQ(g.nodes()[0].attributes.integers("shape", {}), (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(g.initializers().empty());
}

TEST(Import, AShapeThatIsKnownIsAConstant) {
  ModelForTest m(13);
  m.input("x", {2, 6}).input("y", {3, 4});
  m.node("Shape", {"y"}, {"shape"});
  m.node("Reshape", {"x", "shape"}, {"z"});
  m.output("z");
  const graph::Graph g = imported(m);
  EXPECT_EQ(operators(g), Names{"Reshape"});
  EXPECT_EQ(g.value(g.outputs()[0]).dims, (std::vector<int64_t>{3, 4}));
}

// What an exporter writes of x.view(x.size(0), -1).
TEST(Import, NodesOfKnownNumbersAreComputed) {
  ModelForTest m(13);
  m.input("x", {2, 3, 4});
  m.node("Constant", {}, {"zero"}).with("value", ints({0}));
  m.node("Constant", {}, {"minus"}).with("value_ints", std::vector<int64_t>{-1});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "zero"}, {"batch"}).with("axis", 0);
  m.node("Concat", {"batch", "minus"}, {"target"}).with("axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"});
  m.output("y");
  const graph::Graph g = imported(m);
  EXPECT_EQ(operators(g), Names{"Reshape"});
  EXPECT_EQ(g.value(g.outputs()[0]).dims, (std::vector<int64_t>{2, 12}));
}

TEST(Import, NothingIsComputedFromWhatTrainingMayChange) {
  ModelForTest m(13);
  m.initializer("a", floats({2}, {1, 2})).initializer("b", floats({2}, {3, 4}));
  m.node("Constant", {}, {"c"}).with("value", floats({2}, {5, 6}));
  m.node("Add", {"a", "b"}, {"y"});
  m.node("Add", {"c", "c"}, {"z"});
  m.output("y").output("z");
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(operators(result->graph), (Names{"Add", "Identity"}));
  EXPECT_EQ(result->parameters.size(), 2u);
}

TEST(Import, OutputsHaveTheirNamesEvenWhereNothingIsComputed) {
  ModelForTest m(13);
  m.input("x", {2});
  m.node("Relu", {"x"}, {"y"});
  m.node("Constant", {}, {"c"}).with("value_int", 3);
  m.output("x").output("y").output("c");
  const graph::Graph g = imported(m);
  ASSERT_EQ(g.outputs().size(), 3u);
  EXPECT_EQ(g.value(g.outputs()[1]).name, "y");
  EXPECT_EQ(g.value(g.outputs()[2]).name, "c");
  EXPECT_EQ(operators(g), (Names{"Relu", "Identity", "Identity"}));
}

TEST(Import, Float16IsWidenedBeforeWhatComputesAndNotBeforeWhatMoves) {
  ModelForTest m(13);
  m.input("x", {2, 3}, kFloat16);
  m.node("Transpose", {"x"}, {"t"});
  m.node("Add", {"t", "t"}, {"y"}).named("sum");
  m.output("y");
  const graph::Graph g = imported(m);
  EXPECT_EQ(operators(g), (Names{"Transpose", "Cast", "Add", "Cast"})) << "each operand is widened once";
  EXPECT_EQ(g.value(g.nodes()[2].outputs[0]).dtype, DType::kFloat32);
  EXPECT_EQ(g.value(g.outputs()[0]).dtype, DType::kFloat16);
  EXPECT_EQ(g.value(g.outputs()[0]).name, "y");
}

// What a place between two elements, or a region's corner, meant then.
TEST(Import, ResizingAndRegionsOfOldVersionsKeepTheirMeaning) {
  for (const float scale : {0.5f, 2.0f}) {
    ModelForTest m(10);
    m.input("x", {1, 1, 4, 4}).initializer("s", floats({4}, {1, 1, scale, scale}));
    m.node("Resize", {"x", "s"}, {"y"});
    m.output("y");
    EXPECT_EQ(imported(m).nodes()[0].attributes.text("nearest_mode", ""), scale < 1 ? "ceil" : "floor");
  }
  for (const int64_t opset : {10, 16}) {
    ModelForTest m(opset);
    m.input("x", {1, 1, 4, 4}).input("rois", {1, 4}).input("at", {1}, kInt64);
    m.node("RoiAlign", {"x", "rois", "at"}, {"y"});
    m.output("y");
    EXPECT_EQ(imported(m).nodes()[0].attributes.text("coordinate_transformation_mode", "half_pixel"),
              opset < 16 ? "output_half_pixel" : "half_pixel");
  }
}

TEST(Import, TransposeReversesWhereNothingIsSaid) {
  ModelForTest m;
  m.input("x", {2, 3, 4});
  m.node("Transpose", {"x"}, {"y"});
  m.output("y");
  const graph::Graph g = imported(m);
  EXPECT_EQ(g.nodes()[0].attributes.integers("perm", {}), (std::vector<int64_t>{2, 1, 0}));
}

TEST(Import, SoftmaxOfOldVersionsIsOverAllThatFollows) {
  for (const int64_t opset : {11, 13}) {
    ModelForTest m(opset);
    m.input("x", {2, 3, 4});
    m.node("Softmax", {"x"}, {"y"});
    m.output("y");
    const graph::Graph g = imported(m);
    EXPECT_EQ(operators(g).size(), opset == 13 ? 1u : 3u) << "a matrix, its rows, and back";
    EXPECT_EQ(g.value(g.outputs()[0]).dims, (std::vector<int64_t>{2, 3, 4}));
  }
}

TEST(Import, GemmWithOtherFactorsIsWrittenOut) {
  const auto gemm = [](float alpha, float beta, std::vector<int64_t> bias) {
    ModelForTest m;
    m.input("a", {2, 3}).input("b", {3, 4}).input("c", std::move(bias));
    m.node("Gemm", {"a", "b", "c"}, {"y"}).with("alpha", alpha).with("beta", beta);
    m.output("y");
    return operators(imported(m));
  };
  EXPECT_EQ(gemm(1, 1, {4}), Names{"Gemm"});
  EXPECT_EQ(gemm(1, 1, {2, 4}), (Names{"Gemm", "Add"}));
  EXPECT_EQ(gemm(0.5f, 1, {4}), (Names{"Gemm", "Mul", "Add"}));
  EXPECT_EQ(gemm(1, 2, {4}), (Names{"Gemm", "Mul", "Add"}));
  EXPECT_EQ(gemm(1, 0, {4}), Names{"Gemm"});
  EXPECT_EQ(gemm(2, 0, {4}), (Names{"Gemm", "Mul"}));
}

TEST(Import, DropoutDoesNothing) {
  ModelForTest m(13);
  m.input("x", {2}).initializer("ratio", Tensor::scalar(0.5f));
  m.node("Dropout", {"x", "ratio"}, {"y", "mask"});
  m.output("y").output("mask");
  const graph::Graph g = imported(m);
  EXPECT_EQ(g.value(g.outputs()[1]).dtype, DType::kBool);
  EXPECT_EQ(operators(g), (Names{"Identity", "ConstantOfShape"})) << "the mask is true everywhere";
}

TEST(Import, BatchNormalizationInTrainingUsesTheBatch) {
  ModelForTest m(15);
  m.input("x", {2, 3, 4, 4});
  for (const char* name : {"scale", "bias", "mean", "var"}) m.initializer(name, Tensor::zeros(DType::kFloat32, {3}));
  m.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y", "new_mean", "new_var"})
      .with("training_mode", 1);
  m.output("y").output("new_mean").output("new_var");
  EXPECT_EQ(operators(imported(m))[0], "isobit.BatchStatistics");
}

TEST(Import, TheSameFileGivesTheSameGraph) {
  ModelForTest m(13);
  m.input("x", {2, 3}).initializer("w", floats({3}, {1, 2, 3}));
  m.node("Add", {"x", "w"}, {"a"});
  m.node("Mul", {"a", "w"}, {"y"});
  m.output("y");
  const graph::Graph a = imported(m), b = imported(m);
  ASSERT_EQ(a.value_count(), b.value_count());
  for (graph::ValueId id = 0; id < a.value_count(); ++id) EXPECT_EQ(a.value(id).name, b.value(id).name);
}

TEST(Import, NamesThatCannotBeShownAreSpelledOut) {
  ModelForTest m;
  m.input("x\n\x1b[31m", {2});
  m.node("Relu", {"x\n\x1b[31m"}, {"y\xff"});
  m.output("y\xff");
  const graph::Graph g = imported(m);
  EXPECT_EQ(g.value(g.inputs()[0]).name.find('\n'), std::string::npos);
  EXPECT_EQ(g.value(g.outputs()[0]).name, "y\\xff");
}

TEST(Import, SequencesOfKnownLengthAreTakenApart) {
  ModelForTest m(13);
  m.input("a", {2, 3}).input("b", {2, 3}).initializer("first", Tensor::scalar(int64_t{0}));
  m.node("SequenceConstruct", {"a", "b"}, {"both"});
  m.node("SequenceErase", {"both"}, {"one"});
  m.node("SequenceInsert", {"one", "b", "first"}, {"turned"});
  m.node("SequenceAt", {"turned", "first"}, {"y"});
  m.node("SequenceLength", {"turned"}, {"n"});
  m.node("ConcatFromSequence", {"turned"}, {"z"}).with("axis", 1);
  m.output("y").output("n").output("z");
  const graph::Graph g = imported(m);
  ASSERT_EQ(g.outputs().size(), 3u);
  EXPECT_EQ(g.nodes()[0].op, "Concat");
  EXPECT_EQ(value_names(g, g.nodes()[0].inputs), (Names{"b", "a"}));
  EXPECT_EQ(g.value(g.outputs()[2]).dims, (std::vector<int64_t>{2, 6}));
}

TEST(Survey, ListsEverythingThatIsUnsupported) {
  ModelForTest m(13);
  m.input("x", {2});
  m.node("NoSuchOperator", {"x"}, {"a"}).named("first");
  m.node("Relu", {"a"}, {"b"});
  m.node("Gelu", {"b"}, {"c"}).in_domain("com.example");
  m.node("OptionalHasElement", {"c"}, {"d"});
  m.output("d");
  const auto model = decode_model(m.bytes(), "m.onnx");
  ASSERT_TRUE(model);
  const auto found = unsupported_operators(*model);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].node, "first");
  EXPECT_EQ(found[0].op, "NoSuchOperator");
  EXPECT_EQ(found[0].opset, 13);
  EXPECT_EQ(found[0].reason, "isobit does not have this operator");
  EXPECT_EQ(found[1].domain, "com.example");
  EXPECT_EQ(found[1].reason, "the file imports no version of domain 'com.example'");
  EXPECT_EQ(found[2].reason,
            "isobit has tensors, no optional values, and sequences only where their lengths are known");
  const Summary summary = summary_of(*model);
  EXPECT_EQ(summary.nodes, 4);
  EXPECT_EQ(summary.operators.at("com.example.Gelu"), 1);
}

}  // namespace
}  // namespace isobit::onnx
