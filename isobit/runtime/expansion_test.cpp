// What is said of the expansions as data.
#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/graph/expansions/build.h"
#include "isobit/graph/expansions/expansion_for_test.h"
#include "isobit/graph/op.h"

namespace isobit::graph::expansions {
namespace {

TEST(Expansions, AreInOrderAndMadeOfOperatorsThatThereAre) {
  const auto& all = listed_expansions();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.op < b.op; }));
  for (const Expansion& e : all) {
    EXPECT_EQ(find_op(e.op), nullptr) << e.op << " is an operator itself";
    EXPECT_EQ(find_expansion(e.op), &e);
    for (const std::string& name : e.primitives) EXPECT_NE(find_op(name), nullptr) << e.op << " of " << name;
  }
  EXPECT_EQ(find_expansion("MatMul"), nullptr);
}

// Every one of them has the bits that ordered-1 promises.
TEST(Expansions, PromiseWhatTheirPrimitivesPromise) {
  for (const Expansion& e : listed_expansions()) EXPECT_NE(promise_of(e), Promise::kNone) << e.op;
  EXPECT_EQ(promise_of(*find_expansion("Attention")), Promise::kArithmetics);
  EXPECT_EQ(promise_of(*find_expansion("SoftmaxCrossEntropyLoss")), Promise::kOrdered);
  EXPECT_EQ(promise_of(*find_expansion("ArrayFeatureExtractor")), Promise::kExact);
  EXPECT_EQ(promise_of({"New", "", {"NoSuchOperator"}}), Promise::kNone);
}

class Builders : public ::testing::Test {
 protected:
  std::vector<int64_t> dims(ValueId v) const { return g.value(v).dims; }
  std::string message() const {
    const auto done = b.finish({});
    return done ? "" : done.error().message;
  }
  Graph g;
  Builder b{g, "New", "n"};
};

TEST_F(Builders, NameWhatTheyAddAfterTheirNode) {
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3});
  EXPECT_EQ(g.value(b.unary("Relu", x, "relu")).name, "n/relu");
  b.set_scope("0/");
  EXPECT_EQ(g.value(b.unary("Relu", x, "relu")).name, "n/0/relu");
  EXPECT_EQ(g.value(b.scalar(DType::kFloat32, 2)).name, "n/0/constant");
}

TEST_F(Builders, MakeAConstantOnce) {
  EXPECT_EQ(b.scalar(DType::kFloat32, 2), b.scalar(DType::kFloat32, 2));
  EXPECT_NE(b.scalar(DType::kFloat32, 2), b.scalar(DType::kFloat64, 2));
  EXPECT_NE(b.scalar(DType::kFloat32, 0.0), b.scalar(DType::kFloat32, -0.0));
  EXPECT_EQ(b.integer(3), b.integer(3));
  EXPECT_EQ(b.integers({3, 4}), b.integers({3, 4}));
  EXPECT_EQ(dims(b.integers({})), std::vector<int64_t>{0});
  EXPECT_EQ(b.range(b.integer(3), "r"), b.integers({0, 1, 2}));
}

TEST_F(Builders, AddNothingThatChangesNothing) {
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3});
  EXPECT_EQ(b.cast(x, DType::kFloat32, "y"), x);
  EXPECT_EQ(b.transpose(x, {0, 1}, "y"), x);
  EXPECT_EQ(b.reshape(x, {0, -1}, "y"), x);
  EXPECT_EQ(b.reshape_to(x, {3}, "y", 1), x);
  EXPECT_EQ(b.slice(x, 1, 0, 3, 1, "y"), x);
  EXPECT_EQ(b.split(x, 0, {2}, "y"), std::vector<ValueId>{x});
  EXPECT_EQ(b.concat({x}, 0, "y"), x);
  EXPECT_TRUE(g.nodes().empty());
}

TEST_F(Builders, ReshapeWhatIsAndWhatIsNotKnown) {
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3, 4}), u = g.add_input("u", DType::kFloat32, {-1, 3, 4});
  EXPECT_EQ(dims(b.reshape(x, {0, -1}, "y")), (std::vector<int64_t>{2, 12}));
  EXPECT_EQ(dims(b.reshape_to(x, {12}, "y", 1)), (std::vector<int64_t>{2, 12}));
  EXPECT_EQ(dims(b.reshape(u, {0, 12}, "y")), (std::vector<int64_t>{-1, 12}));
  EXPECT_EQ(dims(b.reshape_to(u, {-1, 4}, "y")), (std::vector<int64_t>{-1, 4}));
  EXPECT_FALSE(b.failed()) << message();
}

TEST_F(Builders, AnExtentOfZeroMeansWhatItSays) {
  const ValueId x = g.add_input("x", DType::kFloat32, {0, 3, 4}), u = g.add_input("u", DType::kFloat32, {-1, 0, 4});
  EXPECT_EQ(dims(b.reshape_to(x, {3, 0}, "y")), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(dims(b.reshape(x, {0, 12}, "y")), (std::vector<int64_t>{0, 12}));
  b.reshape(u, {0, 0, 2, 2}, "y");
  EXPECT_NE(message().find("an extent of 0 beside one that is not known, in n/y"), std::string::npos) << message();
}

TEST_F(Builders, KeepTheFirstErrorAndAddNothingMore) {
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3});
  const ValueId wrong = b.node("MatMul", {x, x}, {}, "product");
  EXPECT_EQ(wrong, kNoValue);
  EXPECT_NE(message().find("node 'n' (New): node 'n/product' (MatMul): inner dimensions"), std::string::npos)
      << message();
  b.fail("another");
  EXPECT_EQ(message().find("another"), std::string::npos);
  EXPECT_EQ(b.add(x, x, "y"), kNoValue);
  EXPECT_EQ(b.scalar(DType::kFloat32, 1), kNoValue);
  EXPECT_EQ(b.split(x, 0, {1, 1}, "y"), (std::vector<ValueId>{kNoValue, kNoValue}));
  EXPECT_EQ(b.dims(wrong), std::vector<int64_t>{});
  EXPECT_EQ(b.dim(wrong, 0), -1);
  EXPECT_TRUE(g.nodes().empty());
}

TEST_F(Builders, RefuseConstantsAndExtentsThatThereAreNot) {
  EXPECT_EQ(Builder(g, "New", "n").scalar(DType::kUint8, -1), kNoValue);
  EXPECT_EQ(Builder(g, "New", "n").scalar(DType::kInt64, 0x1p63), kNoValue);
  EXPECT_EQ(Builder(g, "New", "n").scalar(DType::kFloat16, 1), kNoValue);
  EXPECT_EQ(Builder(g, "New", "n").range(b.integer(int64_t{1} << 40), "r"), kNoValue);
  EXPECT_EQ(b.times(3, -1), -1);
  EXPECT_FALSE(b.failed());
  EXPECT_EQ(b.times(int64_t{1} << 32, int64_t{1} << 32), -1);
  EXPECT_NE(message().find("are too large"), std::string::npos);
}

}  // namespace
}  // namespace isobit::graph::expansions
