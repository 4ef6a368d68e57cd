// Functions of the file, and graphs within nodes.
#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/formats/malformed_for_test.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::onnx {
namespace {

using formats::expect_error;
using Names = std::vector<std::string>;

schema::FunctionProto& add_function(ModelForTest& m, const std::string& name, const Names& inputs,
                                    const Names& outputs) {
  auto& f = *m.proto.add_functions();
  f.set_name(name);
  f.set_domain("own");
  for (const std::string& i : inputs) f.add_input(i);
  for (const std::string& o : outputs) f.add_output(o);
  auto& opset_import = *f.add_opset_import();
  opset_import.set_domain("");
  opset_import.set_version(13);
  auto& own = *f.add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  return f;
}

ModelForTest calling(const std::string& function) {
  ModelForTest m(18);
  auto& own = *m.proto.add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  m.input("x", {2, 3});
  m.node(function, {"x"}, {"y"}).in_domain("own").named("call");
  m.output("y");
  return m;
}

TEST(Functions, TheirNodesStandInPlaceOfTheCall) {
  ModelForTest m = calling("Twice");
  auto& f = add_function(m, "Twice", {"a"}, {"b"});
  add_node(f, "Relu", {"a"}, {"inside"});
  add_node(f, "Add", {"inside", "inside"}, {"b"});
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  const graph::Graph& g = result->graph;
  EXPECT_EQ(operators(g), (Names{"Relu", "Add"}));
  EXPECT_EQ(g.value(g.nodes()[0].outputs[0]).name, "call/inside");
  EXPECT_EQ(g.value(g.outputs()[0]).name, "y");
}

// One program would take its own operator, another the function.
TEST(Functions, OfTheNameOfAnOperatorAreRefusedButInOnnxsOwnDomain) {
  ModelForTest m(18);
  auto& ml = *m.proto.add_opset_import();
  ml.set_domain("ai.onnx.ml");
  ml.set_version(3);
  m.input("x", {2, 3});
  m.node("Scaler", {"x"}, {"y"}).in_domain("ai.onnx.ml").named("call");
  m.output("y");
  auto& f = add_function(m, "Scaler", {"a"}, {"b"});
  f.set_domain("ai.onnx.ml");
  add_node(f, "Neg", {"a"}, {"b"});
  expect_error(m.imported(),
               "node 'call' (ai.onnx.ml.Scaler, opset 3): the file has a function of this operator's name");
}

// Which value is meant, the one around the graph or the one within it, programs do not agree on.
TEST(Branches, MayNotHideValuesAroundThem) {
  for (const bool initializer : {true, false}) {
    ModelForTest m(18);
    m.input("x", {3}).input("condition", {}, kBool);
    schema::GraphProto branch[2];
    for (auto& b : branch) {
      if (initializer) {
        set_tensor(*b.add_initializer(), "x", floats({3}, {4, 5, 6}));
      } else {
        add_node(b, "Relu", {"x"}, {"x"});
      }
      add_node(b, "Neg", {"x"}, {"z"});
      b.add_output()->set_name("z");
    }
    m.node("If", {"condition"}, {"y"}).with("then_branch", branch[0]).with("else_branch", branch[1]);
    m.output("y");
    expect_error(m.imported(), "'x' is defined twice");
  }
}

// A domain that has two names is one.
TEST(Functions, OfOnnxsOwnDomainUnderEitherOfItsNames) {
  ModelForTest m(18);
  m.input("x", {2, 3});
  m.node("Twice", {"x"}, {"y"}).named("call");
  m.output("y");
  for (const char* domain : {"ai.onnx", ""}) {
    auto& f = add_function(m, "Twice", {"a"}, {"b"});
    f.set_domain(domain);
    add_node(f, "Add", {"a", "a"}, {"b"});
    if (*domain == '\0') break;
    const auto result = m.imported();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(operators(result->graph), Names{"Add"});
  }
  expect_error(m.imported(), "two functions are called 'Twice'");
}

TEST(Functions, AttributesComeFromTheCallOrFromTheFunction) {
  for (const bool given : {true, false}) {
    ModelForTest m = calling("Leaky");
    if (given) NodeForTest(*m.graph().mutable_node(0)).with("slope", 0.25f);
    auto& f = add_function(m, "Leaky", {"a"}, {"b"});
    auto& slope = *f.add_attribute_proto();
    slope.set_name("slope");
    slope.set_type(1);
    slope.set_f(0.5f);
    add_node(f, "LeakyRelu", {"a"}, {"b"}).refers("alpha", "slope", 1);
    const auto result = m.imported();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->graph.nodes()[0].attributes.real("alpha", 0), given ? 0.25 : 0.5);
  }
}

TEST(Functions, MeanTheVersionOfOperatorsThatTheyImport) {
  ModelForTest m = calling("Soft");
  auto& f = add_function(m, "Soft", {"a"}, {"b"});
  f.mutable_opset_import(0)->set_version(11);
  add_node(f, "Softmax", {"a"}, {"b"}).with("axis", 0);
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->graph.nodes().size(), 3u) << "a matrix, its rows, and back";
}

TEST(Functions, AreCalledByOneNameAndWithTheirOwnAttributes) {
  ModelForTest twice = calling("Twice");
  for (const char* op : {"Relu", "Neg"}) add_node(add_function(twice, "Twice", {"a"}, {"b"}), op, {"a"}, {"b"});
  expect_error(twice.imported(), "two functions are called 'Twice'");
  ModelForTest other = calling("Once");
  NodeForTest(*other.graph().mutable_node(0)).with("nonsense", 1);
  add_node(add_function(other, "Once", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  expect_error(other.imported(), "attribute 'nonsense' is none of the function's");
}

TEST(Functions, CallingOneselfIsRefusedSoonAndWithTheNode) {
  ModelForTest m = calling("Again");
  add_node(add_function(m, "Again", {"a"}, {"b"}), "Again", {"a"}, {"b"}).in_domain("own").named("inner");
  expect_error(m.imported(), "m.onnx: node 'inner' (own.Again, opset 1): functions lie more than 32 deep");
}

// Each calls the one before twice: 2^25 nodes in all.
TEST(Functions, WhatGrowsWithoutEndIsRefused) {
  ModelForTest m = calling("F25");
  add_node(add_function(m, "F0", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  for (int i = 1; i <= 25; ++i) {
    auto& f = add_function(m, "F" + std::to_string(i), {"a"}, {"b"});
    const std::string before = "F" + std::to_string(i - 1);
    add_node(f, before, {"a"}, {"c"}).in_domain("own");
    add_node(f, before, {"c"}, {"b"}).in_domain("own");
  }
  expect_error(m.imported({.max_nodes = 1000}), "more than 1000 nodes");
}

TEST(Functions, RefuseWhatDoesNotFit) {
  ModelForTest absent = calling("Absent");
  expect_error(absent.imported(), "node 'call' (own.Absent, opset 1): isobit does not have this operator");
  ModelForTest empty = calling("Empty");
  add_function(empty, "Empty", {"a"}, {"b"});
  expect_error(empty.imported(), "does not make its output 'b'");
  ModelForTest none = calling("None");
  add_node(add_function(none, "None", {}, {"b"}), "Constant", {}, {"b"}).with("value_int", 1);
  expect_error(none.imported(), "the function has 0 inputs and 1 outputs");
  ModelForTest outside = calling("Outside");
  add_node(add_function(outside, "Outside", {"a"}, {"b"}), "Relu", {"x"}, {"b"});
  expect_error(outside.imported(), "input 0: 'x' is no input");
  ModelForTest lost(13);
  lost.input("x", {2});
  lost.node("LeakyRelu", {"x"}, {"y"}).refers("alpha", "slope", 1);
  lost.output("y");
  expect_error(lost.imported(), "attribute 'alpha' refers to a caller's, and there is none");
}

schema::GraphProto branch(const std::string& op, const std::string& input) {
  schema::GraphProto g;
  add_node(g, op, {input}, {"result"});
  g.add_output()->set_name("result");
  return g;
}

TEST(If, BothBranchesTakeWhatEitherUses) {
  ModelForTest m(13);
  m.input("c", {}, kBool).input("a", {2}).input("b", {2});
  m.node("If", {"c"}, {"y"}).with("then_branch", branch("Relu", "a")).with("else_branch", branch("Neg", "b"));
  m.output("y");
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  const graph::Graph& g = result->graph;
  ASSERT_EQ(operators(g), Names{"If"});
  const graph::Node& node = g.nodes()[0];
  ASSERT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(g.value(node.inputs[1]).name, "a");
  EXPECT_EQ(g.value(node.inputs[2]).name, "b");
  for (const char* name : {"then_branch", "else_branch"}) {
    const auto& inner = *std::get<std::shared_ptr<const graph::Graph>>(node.attributes.items().at(name));
    EXPECT_EQ(inner.inputs().size(), 2u);
  }
}

// Each value once, in one order, through every graph on the way.
TEST(If, WhatABranchOfABranchUsesComesFromFurtherOut) {
  ModelForTest m(13);
  m.input("c", {}, kBool).input("d", {}, kBool).input("x", {2}).input("z", {2});
  schema::GraphProto between;
  add_node(between, "Identity", {"z"}, {"z_again"});
  add_node(between, "If", {"d"}, {"result"})
      .with("then_branch", branch("Relu", "x"))
      .with("else_branch", branch("Neg", "z"));
  between.add_output()->set_name("result");
  m.node("If", {"c"}, {"y"}).with("then_branch", between).with("else_branch", branch("Neg", "x"));
  m.output("y");
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  const auto graph_of = [](const graph::Node& node, const char* name) {
    return std::get<std::shared_ptr<const graph::Graph>>(node.attributes.items().at(name));
  };
  const graph::Node& outer = result->graph.nodes()[0];
  ASSERT_EQ(outer.inputs.size(), 4u);
  const auto taken = graph_of(outer, "then_branch");
  const graph::Node& inner = taken->nodes().back();
  ASSERT_EQ(inner.op, "If");
  ASSERT_EQ(inner.inputs.size(), 3u);
  for (const auto& [name, from] : {std::pair{"then_branch", "x"}, std::pair{"else_branch", "z"}}) {
    const auto body = graph_of(inner, name);
    const graph::ValueId used = body->nodes()[0].inputs[0];
    const auto place = static_cast<size_t>(std::ranges::find(body->inputs(), used) - body->inputs().begin());
    ASSERT_LT(place, 2u);
    const graph::ValueId given = inner.inputs[1 + place];
    const auto at = static_cast<size_t>(std::ranges::find(taken->inputs(), given) - taken->inputs().begin());
    ASSERT_LT(at, 3u);
    EXPECT_EQ(result->graph.value(outer.inputs[1 + at]).name, from) << name;
  }
}

TEST(If, WhatIsKnownIsNoChoice) {
  ModelForTest m(13);
  m.input("a", {2}).initializer("c", [] {
    Tensor t = Tensor::zeros(DType::kBool, {});
    return t;
  }());
  m.node("If", {"c"}, {"y"}).with("then_branch", branch("Relu", "a")).with("else_branch", branch("Neg", "a"));
  m.output("y");
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(operators(result->graph), Names{"Neg"});
  EXPECT_EQ(result->graph.value(result->graph.outputs()[0]).name, "y");
}

TEST(If, ParametersThatABranchUsesAreThoseOfTheModel) {
  ModelForTest m(13);
  m.input("c", {}, kBool).input("a", {2}).initializer("w", floats({2}, {1, 2}));
  m.node("If", {"c"}, {"y"}).with("then_branch", branch("Relu", "w")).with("else_branch", branch("Neg", "a"));
  m.output("y");
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->parameters.size(), 1u);
  EXPECT_EQ(result->graph.nodes()[0].inputs.size(), 3u);
}

TEST(Loop, CarriesValuesAndTakesOthersFromAround) {
  ModelForTest m(13);
  m.input("x", {2}).input("step", {2}).initializer("trips", Tensor::scalar(int64_t{3}));
  schema::GraphProto body;
  const std::vector<std::pair<const char*, int>> inputs = {{"i", kInt64}, {"go", kBool}, {"sum", kFloat}};
  for (const auto& [name, element] : inputs) {
    auto& input = *body.add_input();
    input.set_name(name);
    set_dims(*input.mutable_type(), element, element == kFloat ? std::vector<int64_t>{2} : std::vector<int64_t>{});
  }
  add_node(body, "Identity", {"go"}, {"go_on"});
  add_node(body, "Add", {"sum", "step"}, {"more"});
  for (const char* name : {"go_on", "more"}) body.add_output()->set_name(name);
  m.node("Loop", {"trips", "", "x"}, {"y"}).with("body", body);
  m.output("y");
  const auto result = m.imported();
  ASSERT_TRUE(result) << result.error().message;
  const graph::Node& node = result->graph.nodes()[0];
  EXPECT_EQ(node.op, "Loop");
  EXPECT_EQ(node.attributes.integer("carried", -1), 1);
  ASSERT_EQ(node.inputs.size(), 4u);
  EXPECT_EQ(node.inputs[1], graph::kNoValue);
  EXPECT_EQ(result->graph.value(node.inputs[3]).name, "step");
}

TEST(Graphs, RefuseWhatDoesNotFit) {
  ModelForTest none(13);
  none.input("c", {}, kBool).input("a", {2});
  none.node("If", {"c"}, {"y"}).with("then_branch", branch("Relu", "a"));
  none.output("y");
  expect_error(none.imported(), "attribute 'else_branch' is missing or no graph");
  ModelForTest lost(13);
  lost.input("c", {}, kBool).input("a", {2});
  lost.node("If", {"c"}, {"y"}).with("then_branch", branch("Relu", "absent")).with("else_branch", branch("Neg", "a"));
  lost.output("y");
  expect_error(lost.imported(), "(Relu, opset 13): input 0: 'absent' is no input");
  ModelForTest body(13);
  body.input("x", {2});
  body.node("Loop", {"", "", "x"}, {"y"}).with("body", branch("Relu", "x"));
  body.output("y");
  expect_error(body.imported(), "no iteration number and condition");
}

}  // namespace
}  // namespace isobit::onnx
