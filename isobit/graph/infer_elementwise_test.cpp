// Operands that may be absent, and dimensions that are not known before the run.
#include <gtest/gtest.h>

#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

Expected<Type> type_of(const std::string& op, const std::vector<Type>& inputs, const Attributes& attributes = {}) {
  Graph g;
  std::vector<ValueId> ids;
  for (const Type& t : inputs) ids.push_back(g.add_input("x", t.dtype, t.dims));
  ISOBIT_TRY(const auto added, g.add_node(op, ids, attributes, {"y"}));
  return Type{g.value(added[0]).dtype, g.value(added[0]).dims};
}

TEST(InferElementwise, EitherLimitOfClipMayBeAbsent) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kInt16, {4}), limit = g.add_input("limit", DType::kInt16, {});
  EXPECT_TRUE(g.add_node("Clip", {x, kNoValue, limit}, {}, {"y"}));
  EXPECT_TRUE(g.add_node("Clip", {x, limit, kNoValue}, {}, {"y"}));
  EXPECT_TRUE(g.add_node("Clip", {x, kNoValue, kNoValue}, {}, {"y"}));
}

TEST(InferElementwise, ScalesOfUnknownExtentsMayFit) {
  const Ints unknown = {2, -1};
  EXPECT_EQ(type_of("QuantizeLinear", {f32(unknown), f32({7})}).value(), (Type{DType::kUint8, unknown}));
  EXPECT_EQ(type_of("QuantizeLinear", {f32({2, 3}), f32({-1})}).value(), (Type{DType::kUint8, {2, 3}}));
  const Attributes blocks = {{"block_size", int64_t{4}}};
  EXPECT_TRUE(type_of("QuantizeLinear", {f32(unknown), f32({2, 9})}, blocks));
  EXPECT_FALSE(type_of("QuantizeLinear", {f32(unknown), f32({3, 9})}, blocks));
}

// A block as long as can be said, and more places than can be counted.
TEST(InferElementwise, BlocksOfAnySizeAreCountedWithoutOverflow) {
  const Attributes longest = {{"block_size", INT64_MAX}};
  EXPECT_TRUE(type_of("QuantizeLinear", {f32({2, 3}), f32({2, 1})}, longest));
  EXPECT_TRUE(type_of("QuantizeLinear", {f32({1, INT64_MAX}), f32({1, 1})}, longest));
  const Attributes shortest = {{"block_size", int64_t{1}}};
  EXPECT_TRUE(type_of("QuantizeLinear", {f32({1, INT64_MAX}), f32({1, INT64_MAX})}, shortest));
  EXPECT_TRUE(type_of("QuantizeLinear", {f32({2, 0}), f32({2, 0})}, shortest));
}

TEST(InferElementwise, AnOperandOfUnknownExtentBroadcasts) {
  EXPECT_EQ(type_of("Where", {{DType::kBool, {-1, 1}}, f32({3}), f32({})}).value(), f32({-1, 3}));
  EXPECT_EQ(type_of("Sum", {f32({-1}), f32({4}), f32({2, 1})}).value(), f32({2, 4}));
  EXPECT_EQ(type_of("Less", {f32({-1}), f32({1})}).value(), (Type{DType::kBool, {-1}}));
}

}  // namespace
}  // namespace isobit::graph
