#include "isobit/graph/graph.h"

#include <gtest/gtest.h>

#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/op.h"

namespace isobit::graph {
namespace {

TEST(Graph, InfersConvolutionAndRefusesWhatDoesNotFit) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3, 9, 9});
  const ValueId w = g.add_input("w", DType::kFloat32, {8, 3, 3, 3});
  const ValueId y = g.emit("Conv", {x, w},
                           {{"strides", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}}, "y");
  EXPECT_EQ(g.value(y).dims, (std::vector<int64_t>{2, 8, 5, 5}));

  const ValueId narrow = g.add_input("narrow", DType::kFloat32, {8, 4, 3, 3});
  auto wrong = g.add_node("Conv", {x, narrow}, {}, {"z"});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("3 channels"), std::string::npos) << wrong.error().message;
  EXPECT_FALSE(g.add_node("Conv", {x, w}, {{"strides", std::vector<int64_t>{0, 1}}}, {"z"}));
  EXPECT_FALSE(g.add_node("Conv", {x, w}, {{"strides", int64_t{1}}}, {"z"}));
  EXPECT_FALSE(g.add_node("Conv", {x, w}, {{"colour", int64_t{1}}}, {"z"}));
  EXPECT_FALSE(g.add_node("isobit.RunningUpdate", {x, x}, {{"count", int64_t{1}}}, {"z"}))
      << "has no unbiased variance";
  EXPECT_TRUE(g.add_node("isobit.RunningUpdate", {x, x}, {{"count", int64_t{2}}}, {"z"}));
  EXPECT_FALSE(g.add_node("NoSuchOp", {x}, {}, {"z"}));
  EXPECT_FALSE(g.add_node("Conv", {x}, {}, {"z"}));
  EXPECT_FALSE(g.add_node("Conv", {x, 999}, {}, {"z"}));
}

TEST(Graph, RefusesPlanesThatPoolingCannotNumber) {
  Graph g;
  const Attributes window = {{"kernel_shape", std::vector<int64_t>{2, 2}}};
  const ValueId fits = g.add_input("fits", DType::kFloat32, {1, 1, 32768, 65535});
  const ValueId large = g.add_input("large", DType::kFloat32, {1, 1, 32768, 65536});
  for (const char* op : {"MaxPool", "AveragePool"}) {
    EXPECT_TRUE(g.add_node(op, {fits}, window, {"y"})) << op;
    const auto node = g.add_node(op, {large}, window, {"y"});
    ASSERT_FALSE(node) << op;
    EXPECT_EQ(node.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(node.error().message.find("32768 x 65536 places"), std::string::npos) << node.error().message;
  }
}

TEST(Graph, NamesAreMadeUnique) {
  Graph g;
  g.add_input("x", DType::kFloat32, {1});
  EXPECT_EQ(g.value(g.add_input("x", DType::kFloat32, {1})).name, "x.1");
  EXPECT_EQ(g.find("x.1"), 1);
  EXPECT_EQ(g.find("y"), kNoValue);
}

TEST(Broadcast, FollowsNumPy) {
  EXPECT_EQ(broadcast_dims({4, 1, 3}, {5, 1}).value(), (std::vector<int64_t>{4, 5, 3}));
  EXPECT_EQ(broadcast_dims({}, {2}).value(), (std::vector<int64_t>{2}));
  EXPECT_EQ(broadcast_dims({0}, {1}).value(), (std::vector<int64_t>{0}));
  EXPECT_FALSE(broadcast_dims({2}, {3}));
}

TEST(Autograd, SumsTheGradientsOfSeveralUsesAndSkipsWhatIsNotAsked) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3});
  const ValueId unused = g.add_input("unused", DType::kFloat32, {1});
  const ValueId square = g.emit("Mul", {x, x}, {}, "square");
  const ValueId loss = g.emit("ReduceSum", {square}, {{"keepdims", int64_t{0}}}, "loss");
  const ValueId targets[] = {x, unused};
  const auto grads = append_gradients(g, loss, targets).value();
  EXPECT_EQ(g.value(grads[0]).dims, g.value(x).dims);
  EXPECT_EQ(grads[1], kNoValue);
  EXPECT_EQ(g.nodes().back().op, "Add");
}

TEST(Autograd, NamesAnOperatorWithoutAGradient) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {3});
  const ValueId y = g.emit("isobit.GlobalNorm", {x}, {}, "y");
  const ValueId targets[] = {x};
  const auto grads = append_gradients(g, y, targets);
  ASSERT_FALSE(grads);
  EXPECT_EQ(grads.error().message, "node 'y': operator isobit.GlobalNorm has no gradient: it is a norm of gradients");
}

}  // namespace
}  // namespace isobit::graph
