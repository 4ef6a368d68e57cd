// Files that ask for much more than they hold: an import ends within its limits, and says whose node it was.
#include <gtest/gtest.h>

#include <limits>

#include "isobit/base/text.h"
#include "isobit/formats/malformed_for_test.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::onnx {
namespace {

using formats::expect_error;

ImportOptions within(uint64_t bytes) {
  ImportOptions options;
  options.max_bytes = bytes;
  return options;
}

schema::FunctionProto& own_function(ModelForTest& m, const std::string& name) {
  if (m.proto.opset_import_size() == 1) {
    auto& own = *m.proto.add_opset_import();
    own.set_domain("own");
    own.set_version(1);
  }
  auto& f = *m.proto.add_functions();
  f.set_name(name);
  f.set_domain("own");
  for (const auto& opset : m.proto.opset_import()) *f.add_opset_import() = opset;
  f.add_input("a");
  f.add_output("b");
  return f;
}

void calls(ModelForTest& m, int times) {
  for (int i = 0; i < times; ++i) m.node("F", {"x"}, {"y" + std::to_string(i)}).named("call").in_domain("own");
  m.output("y0");
}

TEST(ImportBudget, ListsOfAFunctionCountAtEveryCall) {
  ModelForTest m;
  m.input("x", {2});
  auto& f = own_function(m, "F");
  add_node(f, "Relu", {"a"}, {"b"});
  auto& list = *f.add_attribute_proto();
  list.set_name("list");
  list.set_type(7);
  for (int64_t i = 0; i < 10000; ++i) list.add_ints(i);
  calls(m, 100);
  EXPECT_TRUE(m.imported(within(uint64_t{64} << 20)));
  expect_error(m.imported(within(uint64_t{4} << 20)), "m.onnx: node 'call' (own.F, opset 1): what is made of the file");
}

TEST(ImportBudget, InputsOfAFunctionCountAtEveryCall) {
  ModelForTest m;
  m.input("x", {2});
  auto& f = own_function(m, "F");
  for (int i = 0; i < 20000; ++i) f.add_input("i" + std::to_string(i));
  add_node(f, "Relu", {"a"}, {"b"});
  calls(m, 100);
  expect_error(m.imported(within(uint64_t{16} << 20)), "node 'call' (own.F, opset 1): what is made of the file");
}

TEST(ImportBudget, NamesCountAtEveryNode) {
  ModelForTest m;
  m.input("x", {2});
  auto& f = own_function(m, "F");
  add_node(f, "Relu", {"a"}, {"b"}).named(std::string(100000, 'n'));
  calls(m, 100);
  expect_error(m.imported(within(uint64_t{8} << 20)), "what is made of the file takes more than 8.4 MB of memory");
}

TEST(ImportBudget, ConstantsThatAreComputedCount) {
  ModelForTest m(20);
  m.input("x", {1, 500, 1}).initializer("length", Tensor::scalar(int64_t{500}));
  for (int i = 0; i < 10; ++i) m.node("DFT", {"x", "length"}, {"y" + std::to_string(i)}).named("n" + std::to_string(i));
  m.output("y0");
  EXPECT_TRUE(m.imported());
  expect_error(m.imported(within(uint64_t{8} << 20)), "node 'n4' (DFT, opset 20): ");  // of 2 MB each
}

TEST(ImportBudget, SequencesCountTheirItems) {
  ModelForTest m;
  m.input("x", {2}).initializer("at", Tensor::scalar(int64_t{0}));
  m.node("SequenceConstruct", {"x"}, {"s0"});
  for (int i = 0; i < 2000; ++i) {
    m.node("SequenceInsert", {"s" + std::to_string(i), "x"}, {"s" + std::to_string(i + 1)}).named("insert");
  }
  m.node("SequenceAt", {"s2000", "at"}, {"y"});
  m.output("y");
  EXPECT_TRUE(m.imported());
  expect_error(m.imported(within(uint64_t{16} << 20)), "node 'insert' (SequenceInsert, opset 25): what is made");
}

TEST(ImportBudget, PartsOfASplitAreCountedBeforeTheyAreNamed) {
  ModelForTest m;
  m.input("x", {8}).initializer("sizes", ints(std::vector<int64_t>(70000, 0))).initializer("at", ints({0}));
  m.node("SplitToSequence", {"x", "sizes"}, {"s"}).named(std::string(1000, 'n'));
  m.node("SequenceLength", {"s"}, {"y"});
  m.output("y");
  expect_error(m.imported(), "a sequence of 70000 values, expected at most 65536");
}

// A node in a graph is gone through once more for every graph around it.
TEST(ImportBudget, NodesOfGraphsWithinGraphsCountManyTimes) {
  const auto nested = [](int levels) {
    schema::GraphProto body;
    body.set_name("inner");
    add_node(body, "Relu", {"x"}, {"r"}).named("innermost");
    body.add_output()->set_name("r");
    for (int i = 0; i < levels; ++i) {
      schema::GraphProto outer;
      add_node(outer, "If", {"c"}, {"r"}).named("level").with("then_branch", body).with("else_branch", body);
      outer.add_output()->set_name("r");
      body = outer;
    }
    ModelForTest m;
    m.input("x", {2}).input("c", {}, kBool);
    m.node("If", {"c"}, {"y"}).with("then_branch", body).with("else_branch", body);
    m.output("y");
    return m;
  };
  EXPECT_TRUE(nested(2).imported());
  ImportOptions few;
  few.max_nodes = 20;
  expect_error(nested(2).imported(few),
               "nodes, which is the limit (one within graphs within graphs counts many times)");
}

TEST(ImportBudget, AMaskOfAnySizeIsMadeInTheRun) {
  ModelForTest m;
  m.input("x", {int64_t{1} << 30, int64_t{1} << 20});
  m.node("Dropout", {"x"}, {"z", "y"});
  m.output("y");
  const auto imported = m.imported();
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->graph.nodes().back().op, "ConstantOfShape");
}

// Numbers behind a name that is taken are not gone through from the first one each time.
TEST(ImportBudget, FreeNamesAreFoundAtOnce) {
  ModelForTest m;
  m.input("x", {2});
  m.initializer("call/i", ints({0}));
  for (int i = 1; i < 20000; ++i) m.initializer("call/i." + std::to_string(i), ints({i}));
  auto& f = own_function(m, "F");
  add_node(f, "Relu", {"a"}, {"i"});
  add_node(f, "Relu", {"i"}, {"b"});
  calls(m, 3000);
  const auto imported = m.imported();
  ASSERT_TRUE(imported) << imported.error().message;
  const graph::Graph& graph = imported->graph;
  EXPECT_EQ(graph.value(graph.nodes()[0].outputs[0]).name, "call/i.20000");
}

TEST(ImportBudget, MessagesHoldNoUnendingNames) {
  ModelForTest m;
  m.input("x", {2});
  m.node("Relu", {"absent"}, {"y"}).named(text_of(std::string(1 << 20, 'n'), "\n\x1b"));
  m.output("y");
  const auto imported = m.imported();
  ASSERT_FALSE(imported);
  EXPECT_LT(imported.error().message.size(), 3000u);
}

TEST(ImportBudget, ScalarsOfIntegerTypesAreClamped) {
  ModelForTest m(10);
  m.input("x", {2}, 3);  // int8
  m.node("Clip", {"x"}, {"y"}).with("min", -1e30f).with("max", std::numeric_limits<float>::quiet_NaN());
  m.output("y");
  const auto imported = m.imported();
  ASSERT_TRUE(imported) << imported.error().message;
  const auto constants = imported->graph.initializers();
  ASSERT_EQ(constants.size(), 2u);
  EXPECT_EQ(*constants[0].tensor.data<int8_t>(), -128);
  EXPECT_EQ(*constants[1].tensor.data<int8_t>(), 0);
}

TEST(ImportBudget, FunctionsAreFoundByName) {
  ModelForTest m;
  m.input("x", {2});
  for (int i = 0; i < 3000; ++i) add_node(own_function(m, "f" + std::to_string(i)), "Neg", {"a"}, {"b"});
  add_node(own_function(m, "F"), "Relu", {"a"}, {"b"});
  calls(m, 3000);
  const auto imported = m.imported();
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->graph.nodes().back().op, "Relu");
}

}  // namespace
}  // namespace isobit::onnx
