// What a graph becomes as a model.
#include <cstdlib>

#include "isobit/graph/inner_graph_for_test.h"
#include "isobit/graph/passes/prune.h"
#include "isobit/onnx/export_for_test.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::onnx {
namespace {

using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;
using Names = std::vector<std::string>;

ValueId input(Graph& g, const std::string& name, Ints dims, DType dtype = DType::kFloat32) {
  return g.add_input(name, dtype, std::move(dims));
}

template <class Defs>
Names names_of(const Defs& defs) {
  Names names;
  for (const auto& d : defs) names.push_back(d.name);
  return names;
}

void expect_refused(const Graph& g, std::string_view part, std::span<const NamedTensor> values = {},
                    const ExportOptions& options = {}) {
  const auto model = export_model(g, values, options);
  ASSERT_FALSE(model) << "written, expected: " << part;
  EXPECT_NE(model.error().message.find(part), std::string::npos) << model.error().message;
}

TEST(Export, NamesStayAndValuesBecomeInitializers) {
  Graph g;
  const ValueId x = input(g, "x", {2, 3}), w = input(g, "fc.weight", {4, 3}), b = input(g, "fc.bias", {4});
  const ValueId y = g.add_node("Gemm", {x, w, b}, {{"transB", int64_t{1}}}, {"fc"}, "the layer")->front();
  g.add_output(g.emit("Relu", {y}, {}, "logits"));
  const std::vector<NamedTensor> values = {{"fc.bias", floats({4}, {1, 2, 3, 4})},
                                           {"fc.weight", Tensor::zeros(DType::kFloat32, {4, 3})}};
  const auto model = export_model(g, values, {.name = "net", .producer_version = "9", .metadata = {{"step", "3"}}});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(operators(model->graph), (Names{"Gemm", "Relu"}));
  EXPECT_EQ(names_of(model->graph.nodes), (Names{"the layer", "logits"}));
  EXPECT_EQ(names_of(model->graph.inputs), Names{"x"});
  EXPECT_EQ(names_of(model->graph.outputs), Names{"logits"});
  EXPECT_EQ(names_of(model->graph.initializers), (Names{"fc.weight", "fc.bias"}));
  EXPECT_EQ(model->graph.initializers[1].tensor.raw(), values[0].tensor.raw()) << "not copied";
  EXPECT_EQ(model->graph.nodes[0].outputs, Names{"fc"});
  EXPECT_EQ(model->graph.name, "net");
  EXPECT_EQ(model->producer_version, "9");
  EXPECT_EQ(model->metadata.size(), 1u);
  EXPECT_EQ(model->graph.outputs[0].type.text(), "float32 [2, 4]");
}

TEST(Export, WhatNoOutputFollowsFromIsLeftOut) {
  Graph g;
  const ValueId x = input(g, "x", {2, 8}), labels = input(g, "labels", {2}, DType::kInt64);
  const ValueId logits = g.emit("Relu", {x}, {}, "logits");
  g.emit_all("isobit.CrossEntropy", {logits, labels}, {}, {"loss", "row_loss", "max", "sum"});
  const ValueId image = input(g, "image", {1, 1, 4, 4});
  const auto pooled = g.emit_all("MaxPool", {image}, {{"kernel_shape", Ints{2, 2}}}, {"pool", "places"});
  g.add_output(logits);
  g.add_output(pooled[0]);
  const Model model = expect_round_trip(g);
  EXPECT_EQ(operators(model.graph), (Names{"Relu", "MaxPool"}));
  EXPECT_EQ(names_of(model.graph.inputs), (Names{"x", "image"}));
  EXPECT_EQ(model.graph.nodes[1].outputs, Names{"pool"}) << "an output that nobody reads and ONNX need not have";
}

TEST(Export, OutputsThatAreInputsConstantsOrComeTwiceGoThroughNodes) {
  Graph g;
  const ValueId x = input(g, "x", {2}), c = g.add_initializer("c", floats({2}, {1, 2}));
  const ValueId y = g.emit("Neg", {x}, {}, "y");
  for (const ValueId o : {x, c, y, y}) g.add_output(o);
  const Model model = expect_round_trip(g);
  EXPECT_EQ(operators(model.graph), (Names{"Neg", "Identity", "Identity", "Identity"}));
  EXPECT_EQ(names_of(model.graph.outputs), (Names{"x/output", "c/output", "y", "y/output"}));
}

TEST(Export, ParametersBecomeConstantInputs) {
  Graph g;
  const ValueId x = input(g, "x", {2, 6});
  g.add_output(g.emit("Reshape", {x}, {{"shape", Ints{3, 4}}}, "y"));
  const Model model = expect_round_trip(g);
  EXPECT_EQ(model.graph.nodes[0].inputs, (Names{"x", "y/shape"}));
  EXPECT_TRUE(model.graph.nodes[0].attributes.empty());
  EXPECT_EQ(names_of(model.graph.initializers), Names{"y/shape"});
}

TEST(Export, NamesOfItsOwnGiveWay) {
  Graph g;
  const ValueId x = input(g, "y/shape", {2, 6});
  g.add_output(g.emit("Reshape", {x}, {{"shape", Ints{3, 4}}}, "y"));
  const Model model = expect_round_trip(g);
  EXPECT_EQ(model.graph.nodes[0].inputs, (Names{"y/shape", "y/shape.1"}));
}

TEST(Export, NoTwoNodesHaveOneName) {
  Graph g;
  ValueId x = input(g, "x", {2});
  for (const char* op : {"Relu", "Neg", "Abs"}) x = g.emit(op, {x}, {}, "relu");
  g.add_output(x);
  EXPECT_EQ(names_of(expect_round_trip(g).graph.nodes), (Names{"relu", "relu.1", "relu.2"}));
}

TEST(Export, TheSameGraphGivesTheSameBytes) {
  Graph g;
  const ValueId x = input(g, "x", {2, 6});
  g.add_output(g.emit("Softmax", {g.emit("Reshape", {x}, {{"shape", Ints{3, 4}}}, "r")}, {}, "y"));
  const auto bytes = [&] { return encode_model(export_model(g, {}).value())->whole_file(); };
  EXPECT_EQ(bytes(), bytes());
}

TEST(Export, ReasonsNameTheNode) {
  Graph grad;
  const ValueId x = input(grad, "x", {3});
  grad.add_output(grad.add_node("isobit.ReluGrad", {x, x}, {}, {"dx"}, "back")->front());
  expect_refused(grad, "node 'back' (isobit.ReluGrad): belongs to a training step");
  Graph plain;
  plain.add_output(plain.emit("Gelu", {input(plain, "x", {3})}, {}, "y"));
  expect_refused(plain, "node 'y' (Gelu): ONNX has what is written of it from opset 20 on; opset 19 is asked for", {},
                 {.opset = 19});
  for (const int64_t opset : {16, 26}) expect_refused(plain, "expected 17 to 25", {}, {.opset = opset});
  Graph columns;
  columns.add_output(
      columns.emit("isobit.Im2Col", {input(columns, "x", {1, 2, 4, 4})}, {{"kernel_shape", Ints{2, 2}}}, "columns"));
  expect_refused(columns, "node 'columns' (isobit.Im2Col)");
  expect_refused(Graph(), "no outputs");
}

TEST(Export, ValuesThatDoNotFitAreRefused) {
  Graph g;
  g.add_output(g.emit("Add", {input(g, "x", {2}), input(g, "w", {2})}, {}, "y"));
  const auto refused = [&](const std::vector<NamedTensor>& values, std::string_view part) {
    expect_refused(g, part, values);
  };
  refused({{"v", floats({2}, {1, 2})}}, "tensor 'v': the network has no such input");
  refused({{"w", floats({1}, {1})}}, "tensor 'w': is float32 [1], expected float32 [2]");
  refused({{"w", ints({1, 2})}}, "tensor 'w': is int64 [2]");
  refused({{"w", floats({2}, {1, 2})}, {"w", floats({2}, {1, 2})}}, "is given twice");
}

TEST(Export, AMaskOfCausalAttentionIsThereOnce) {
  Graph g;
  ValueId x = input(g, "x", {2, 3, 3});
  for (const char* name : {"a", "b"}) x = g.emit("isobit.CausalSoftmax", {x}, {}, name);
  g.add_output(x);
  const Model model = expect_round_trip(g);
  EXPECT_EQ(operators(model.graph), (Names{"LessOrEqual", "Where", "Softmax", "Where", "Softmax"}));
  EXPECT_EQ(names_of(model.graph.initializers), (Names{"seen_3x3/key", "seen_3x3/last", "minus_infinity_float32"}));
}

// A query that sees no key has rows of 0, not NaN.
TEST(Export, MoreQueriesThanKeys) {
  Graph g;
  g.add_output(g.emit("isobit.CausalSoftmax", {input(g, "x", {2, 4, 2})}, {}, "y"));
  expect_round_trip(g);
}

TEST(Export, NormsOverRowsInBothTypes) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    Graph g;
    const ValueId x = input(g, "x", {2, 3, 4}, dtype), scale = input(g, "scale", {3, 4}, dtype);
    const ValueId one = input(g, "one", {}, dtype);
    const auto norm = [&](const char* op, int outputs, ValueId with, graph::Attributes attributes) {
      Names names(static_cast<size_t>(outputs), op);
      g.add_output(g.emit_all(op, {x, with}, std::move(attributes), names)[0]);
    };
    norm("LayerNormalization", 3, scale, {{"axis", int64_t{1}}});
    norm("LayerNormalization", 3, one, {{"axis", int64_t{-2}}, {"epsilon", 1e-5}});
    norm("RMSNormalization", 1, one, {{"epsilon", 0.125}});
    const Model model = expect_round_trip(g);
    EXPECT_EQ(operators(model.graph),
              (Names{"LayerNormalization", "Expand", "LayerNormalization", "Expand", "RMSNormalization"}));
    EXPECT_EQ(model.opset(""), 23);
    EXPECT_EQ(attribute_of(model.graph.nodes[2], "epsilon"), nullptr) << "ONNX's own default, which no float32 is";
    EXPECT_EQ(attribute_of(model.graph.nodes[0], "stash_type") != nullptr, dtype == DType::kFloat64);
  }
}

TEST(Export, TheMeanLossIsWritten) {
  Graph g;
  const ValueId x = input(g, "x", {4, 8}), labels = input(g, "labels", {4}, DType::kInt64);
  g.add_output(g.emit_all("isobit.CrossEntropy", {x, labels}, {}, {"loss", "row_loss", "max", "sum"})[0]);
  EXPECT_EQ(operators(expect_round_trip(g).graph), Names{"SoftmaxCrossEntropyLoss"});
}

TEST(Export, GraphsInNodesSeeWhatIsAroundThemByName) {
  using graph::f32;
  const auto branch = [](const char* op) {
    return graph::inner_graph({f32({4}), f32({4})}, [op](Graph& g, const graph::Ids& in) {
      const ValueId two = g.add_initializer("two", Tensor::scalar(2.0f));
      return graph::Ids{g.emit(op, {g.emit("Add", {in[0], in[1]}, {}, "sum"), two}, {}, "y"), in[1]};
    });
  };
  Graph g;
  const ValueId condition = input(g, "condition", {}, DType::kBool), a = input(g, "a", {4}), sum = input(g, "sum", {4});
  for (const ValueId o : g.emit_all("If", {condition, a, sum},
                                    {{"then_branch", branch("Mul")}, {"else_branch", branch("Sub")}}, {"p", "q"})) {
    g.add_output(o);
  }
  const Model model = expect_round_trip(g);
  const NodeDef& node = model.graph.nodes[0];
  EXPECT_EQ(node.inputs, Names{"condition"});
  const auto& inner = std::get<std::shared_ptr<const GraphDef>>(attribute_of(node, "then_branch")->value);
  EXPECT_TRUE(inner->inputs.empty());
  EXPECT_EQ(inner->nodes[0].inputs, (Names{"a", "sum"}));
  EXPECT_EQ(inner->nodes[0].outputs, Names{"sum.1"}) << "no name is that of an outer value";
  EXPECT_EQ(operators(*inner), (Names{"Add", "Mul", "Identity"}));
}

// What an importer makes of a file, written and read again.
Model expect_imported_round_trip(const ModelForTest& m) {
  const auto imported = m.imported();
  EXPECT_TRUE(imported) << imported.error().message;
  return imported ? expect_round_trip(imported->graph) : Model();
}

TEST(ExportOfImported, AConvolutionAlongThreeAxesIsOneAgain) {
  for (const bool has_bias : {false, true}) {
    ModelForTest m;
    m.input("x", {2, 4, 5, 4, 3}).initializer("w", drawn(DType::kFloat32, {6, 2, 3, 2, 2}, 1));
    m.initializer("b", drawn(DType::kFloat32, {6}, 2));
    m.node("Conv", has_bias ? Names{"x", "w", "b"} : Names{"x", "w"}, {"y"})
        .with("strides", Ints{2, 1, 1})
        .with("pads", Ints{1, 0, 1, 0, 1, 0})
        .with("dilations", Ints{1, 2, 1})
        .with("group", 2);
    m.output("y");
    const Model model = expect_imported_round_trip(m);
    ASSERT_EQ(operators(model.graph), Names{"Conv"});
    EXPECT_EQ(model.graph.nodes[0].inputs, has_bias ? (Names{"x", "w", "b"}) : (Names{"x", "w"}));
  }
}

TEST(ExportOfImported, ADeformableConvolutionIsOneAgain) {
  for (const bool has_bias : {false, true}) {
    for (const bool has_mask : {false, true}) {
      ModelForTest m;
      m.input("x", {1, 4, 4, 4}).input("offset", {1, 16, 3, 3}).input("mask", {1, 8, 3, 3});
      m.initializer("w", drawn(DType::kFloat32, {6, 2, 2, 2}, 1)).initializer("b", drawn(DType::kFloat32, {6}, 2));
      Names inputs = {"x", "w", "offset", has_bias ? "b" : "", has_mask ? "mask" : ""};
      while (inputs.back().empty()) inputs.pop_back();
      m.node("DeformConv", inputs, {"y"}).with("group", 2).with("offset_group", 2);
      m.output("y");
      const Model model = expect_imported_round_trip(m);
      ASSERT_EQ(operators(model.graph), Names{"DeformConv"});
      EXPECT_EQ(model.graph.nodes[0].inputs, inputs);
      EXPECT_EQ(model.opset(""), 19);
    }
  }
}

// Its windows are read by somebody else, too: there is no such operator.
TEST(ExportOfImported, PartsOfAConvolutionAloneAreRefused) {
  ModelForTest m;
  m.input("x", {2, 4, 5, 4, 3}).initializer("w", drawn(DType::kFloat32, {6, 4, 3, 2, 2}, 1));
  m.node("Conv", {"x", "w"}, {"y"});
  m.output("y");
  auto imported = m.imported();
  ASSERT_TRUE(imported);
  imported->graph.add_output(imported->graph.nodes()[0].outputs[0]);
  expect_refused(imported->graph, "(isobit.Im2Col): ONNX has no operator");
}

TEST(ExportOfImported, NormsAndSoftmaxOfAnyAxis) {
  ModelForTest m;
  m.input("x", {2, 4, 3, 3});
  for (const char* name : {"scale", "bias"}) m.initializer(name, drawn(DType::kFloat32, {4}, 3));
  m.node("GroupNormalization", {"x", "scale", "bias"}, {"g"}).with("num_groups", 2);
  m.node("InstanceNormalization", {"g", "scale", "bias"}, {"i"});
  m.node("Softmax", {"i"}, {"s"}).with("axis", 1);
  m.node("LayerNormalization", {"s", "row", ""}, {"l", "mean", "deviation"}).with("axis", -1);
  m.initializer("row", drawn(DType::kFloat32, {3}, 4));
  m.output("l").output("mean").output("deviation");
  expect_imported_round_trip(m);
}

TEST(ExportOfImported, OldVersionsAndHalfPrecision) {
  ModelForTest old(9);
  old.input("x", {2, 3, 4});
  old.node("Softmax", {"x"}, {"s"});
  old.node("Clip", {"s"}, {"c"}).with("min", 0.1f).with("max", 0.5f);
  old.node("ReduceMean", {"c"}, {"y"}).with("axes", Ints{1});
  old.output("y");
  expect_imported_round_trip(old);
  ModelForTest half(13);
  half.input("x", {2, 3}).initializer("w", drawn(DType::kFloat32, {3, 4}, 1));
  half.node("Cast", {"x"}, {"h"}).with("to", kFloat16);
  half.node("Cast", {"w"}, {"wh"}).with("to", kFloat16);
  half.node("MatMul", {"h", "wh"}, {"m"});
  half.node("Cast", {"m"}, {"y"}).with("to", kFloat);
  half.output("y");
  expect_imported_round_trip(half);
}

TEST(ExportOfImported, ALoopThatCarriesAndScans) {
  ModelForTest m;
  m.input("n", {}, kInt64).input("x", {3}).input("w", {3});
  schema::GraphProto body;
  body.set_name("body");
  const auto in = [&](const char* name, int element, const Ints& dims) {
    auto& v = *body.add_input();
    v.set_name(name);
    set_dims(*v.mutable_type(), element, dims);
  };
  in("i", kInt64, {}), in("go", kBool, {}), in("state", kFloat, {3});
  add_node(body, "Identity", {"go"}, {"go_on"});
  add_node(body, "Mul", {"state", "w"}, {"next"});
  add_node(body, "Relu", {"next"}, {"each"});
  for (const char* o : {"go_on", "next", "each"}) body.add_output()->set_name(o);
  m.node("Loop", {"n", "", "x"}, {"last", "all"}).with("body", body);
  m.output("last").output("all");
  const Model model = expect_imported_round_trip(m);
  ASSERT_EQ(operators(model.graph), Names{"Loop"});
  EXPECT_EQ(model.graph.nodes[0].inputs, (Names{"n", "", "x"}));
}

TEST(ExportOfImported, OpenDimensionsStayOpen) {
  ModelForTest m;
  m.input("x", {-1, 3}).initializer("w", drawn(DType::kFloat32, {3, 2}, 1));
  m.node("MatMul", {"x", "w"}, {"y"});
  m.output("y");
  const auto imported = m.imported();
  ASSERT_TRUE(imported);
  const auto model = export_model(imported->graph, {}, {.dim_names = {{"x", {"n", ""}}, {"y", {"n"}}}});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->graph.inputs[0].type.text(), "float32 [n, 3]");
  EXPECT_EQ(model->graph.outputs[0].type.text(), "float32 [n, 2]");
  const auto again = read_again(*model);
  ASSERT_TRUE(again) << again.error().message;
  const Values values = {{"x", drawn(DType::kFloat32, {5, 3}, 9)}};
  expect_same(run_graph(*again, values), run_graph(imported->graph, values));
}

// Trained models of others, where they are.
TEST(ExportOfImported, WholeModels) {
  const char* data = std::getenv("ISOBIT_SHARED_DATA");
  const fs::path folder = fs::path(data == nullptr ? "" : data) / "models";
  if (data == nullptr || !fs::is_directory(data)) GTEST_SKIP() << "skipped: no data";
  for (const char* name : {"resnet20-cifar10.onnx", "ultraface-version-RFB-320.onnx", "mnist-cnn.onnx"}) {
    SCOPED_TRACE(name);
    const auto model = load_model(folder / name);
    ASSERT_TRUE(model) << model.error().message;
    ImportOptions options;
    for (const ValueDef& v : model->graph.inputs) {
      for (const DimDef& d : v.type.dims) {
        if (!d.name.empty()) options.extents[d.name] = 1;
      }
    }
    const auto imported = import_model(*model, options);
    ASSERT_TRUE(imported) << imported.error().message;
    const Model again = expect_round_trip(imported->graph);
    EXPECT_EQ(names_of(again.graph.outputs), names_of(model->graph.outputs));
  }
}

}  // namespace
}  // namespace isobit::onnx
