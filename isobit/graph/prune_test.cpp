#include "isobit/graph/passes/prune.h"

#include <gtest/gtest.h>

namespace isobit::graph {
namespace {

using Names = std::vector<std::string>;

Names names_of(const Graph& g, const std::vector<ValueId>& ids) {
  Names names;
  for (const ValueId id : ids) names.push_back(g.value(id).name);
  return names;
}

struct Example {
  Graph g;
  ValueId logits, loss;

  Example() {
    const ValueId x = g.add_input("x", DType::kFloat32, {2, 3}), labels = g.add_input("labels", DType::kInt64, {2});
    const ValueId w = g.add_input("w", DType::kFloat32, {3, 4});
    const ValueId two = g.add_initializer("two", Tensor::scalar(2.0f));
    g.add_initializer("unread", Tensor::scalar(3.0f));
    const ValueId product = g.emit("MatMul", {x, w}, {}, "product");
    logits = g.emit("Mul", {product, two}, {}, "logits");
    loss = g.emit_all("isobit.CrossEntropy", {logits, labels}, {}, {"loss", "row_loss", "max", "sum"})[0];
    g.add_output(loss);
  }
};

TEST(Prune, KeepsWhatTheOutputsFollowFrom) {
  const Example example;
  const auto part = pruned(example.g, {example.logits});
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(names_of(*part, part->inputs()), (Names{"x", "w"}));
  EXPECT_EQ(names_of(*part, part->outputs()), Names{"logits"});
  ASSERT_EQ(part->nodes().size(), 2u);
  EXPECT_EQ(part->nodes()[0].name, "product");
  ASSERT_EQ(part->initializers().size(), 1u);
  EXPECT_EQ(part->value(part->initializers()[0].value).name, "two");
  EXPECT_EQ(part->value(part->outputs()[0]).dims, (std::vector<int64_t>{2, 4}));
}

TEST(Prune, OfAllOutputsLeavesOutOnlyWhatNothingReads) {
  const Example example;
  const auto part = pruned(example.g, example.g.outputs());
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->inputs().size(), 3u);
  EXPECT_EQ(part->nodes().size(), 3u);
  EXPECT_EQ(part->nodes()[2].outputs.size(), 4u) << "outputs of a node that is needed stay, read or not";
  EXPECT_EQ(part->initializers().size(), 1u);
}

TEST(Prune, AnOutputMayBeAnInput) {
  const Example example;
  const auto part = pruned(example.g, {example.g.find("w"), example.g.find("two")});
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_TRUE(part->nodes().empty());
  EXPECT_EQ(names_of(*part, part->inputs()), Names{"w"});
  EXPECT_EQ(names_of(*part, part->outputs()), (Names{"w", "two"}));
}

}  // namespace
}  // namespace isobit::graph
