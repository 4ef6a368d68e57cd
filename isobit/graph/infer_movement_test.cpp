// Parameters that are constants behind inputs, and what is known where they are not constants.
#include <gtest/gtest.h>

#include <limits>

#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

// The type of output 0, or the refusal. Each of `constants` is an int64 list behind the next input.
Expected<Type> type_of(const std::string& op, const Type& x, const std::vector<Ints>& constants,
                       const Attributes& attributes = {}) {
  Graph g;
  std::vector<ValueId> ids = {g.add_input("x", x.dtype, x.dims)};
  for (const Ints& c : constants) {
    ids.push_back(g.add_initializer("c", Tensor::of<int64_t>(Shape{static_cast<int64_t>(c.size())}, c)));
  }
  ISOBIT_TRY(const auto added, g.add_node(op, ids, attributes, {"y"}));
  return Type{g.value(added[0]).dtype, g.value(added[0]).dims};
}

TEST(InferMovement, ConstantOperandsSayWhatAttributesSay) {
  const Type x = f32({2, 3, 1});
  EXPECT_EQ(type_of("Reshape", x, {{0, -1}}).value(), f32({2, 3}));
  EXPECT_EQ(type_of("Squeeze", x, {{-1}}).value(), f32({2, 3}));
  EXPECT_EQ(type_of("Unsqueeze", x, {{0}}).value(), f32({1, 2, 3, 1}));
  EXPECT_EQ(type_of("Expand", x, {{4, 1, 1, 5}}).value(), f32({4, 2, 3, 5}));
  EXPECT_EQ(type_of("Tile", x, {{1, 2, 3}}).value(), f32({2, 6, 3}));
  EXPECT_EQ(type_of("Slice", x, {{1}, {3}, {1}, {1}}).value(), f32({2, 2, 1}));
  EXPECT_EQ(type_of("Pad", x, {{0, 1, 0, 2, 0, 0}}).value(), f32({4, 4, 1}));
  EXPECT_EQ(type_of("Split", x, {{2}}).value(), f32({2, 3, 1}));
  EXPECT_EQ(type_of("CenterCropPad", x, {{4, 1, 1}}).value(), f32({4, 1, 1}));
  EXPECT_EQ(type_of("Trilu", x, {{1}}).value(), x);
}

TEST(InferMovement, ConstantOperandsAreCheckedAsAttributesAre) {
  const Type x = f32({2, 3});
  EXPECT_FALSE(type_of("Reshape", x, {{4, -1}}));
  EXPECT_FALSE(type_of("Squeeze", x, {{0}}));
  EXPECT_FALSE(type_of("Slice", x, {{0}, {1}, {0}, {0}}));
  EXPECT_FALSE(type_of("Tile", x, {{INT64_MAX, 1}}));
  EXPECT_FALSE(type_of("Trilu", x, {{1, 2}}));
  EXPECT_FALSE(type_of("Reshape", x, {{6}}, {{"shape", Ints{6}}}));
}

TEST(InferMovement, AnInferredDimensionIsKnownWhenTheSourceIs) {
  EXPECT_EQ(type_of("Reshape", f32({-1, 3, 4}), {{0, -1}}).value(), f32({-1, -1}));
  EXPECT_EQ(type_of("Reshape", f32({-1, 3, 4}), {{-1, 12}}).value(), f32({-1, 12}));
  EXPECT_EQ(type_of("Reshape", f32({-1, 3, 4}), {{0, 0, 2, 2}}).value(), f32({-1, 3, 2, 2}));
}

TEST(InferMovement, RanksThatFollowFromDataAreUnknown) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {-1, 3}), numbers = g.add_input("n", DType::kInt64, {-1});
  for (const char* op : {"Reshape", "Squeeze", "Unsqueeze", "Expand"}) {
    SCOPED_TRACE(op);
    EXPECT_FALSE(g.value(g.emit(op, {x, numbers}, {}, "y")).has_rank());
  }
  EXPECT_FALSE(g.value(g.emit("Squeeze", {x}, {}, "y")).has_rank());
  EXPECT_EQ(g.value(g.emit("Tile", {x, numbers}, {}, "y")).dims, (Ints{-1, -1}));
  EXPECT_FALSE(g.value(g.emit("ConstantOfShape", {numbers}, {}, "y")).has_rank());
}

template <class T>
Expected<Ints> range_of(T start, T limit, T delta) {
  Graph g;
  std::vector<ValueId> ids;
  for (const T number : {start, limit, delta}) ids.push_back(g.add_initializer("c", Tensor::scalar(number)));
  ISOBIT_TRY(const auto added, g.add_node("Range", ids, {}, {"y"}));
  return g.value(added[0]).dims;
}

TEST(InferMovement, TheLengthOfARangeFollowsFromConstants) {
  EXPECT_EQ(range_of<int64_t>(0, 10, 3).value(), Ints{4});
  EXPECT_EQ(range_of<int32_t>(10, 0, -3).value(), Ints{4});
  EXPECT_EQ(range_of<int64_t>(INT64_MIN, INT64_MAX, INT64_MAX).value(), Ints{3});
  EXPECT_EQ(range_of<int64_t>(INT64_MAX, INT64_MIN, INT64_MIN).value(), Ints{2});
  EXPECT_EQ(range_of<int16_t>(3, 3, 1).value(), Ints{0});
  EXPECT_EQ(range_of<float>(1, 5, 2).value(), Ints{2});
  EXPECT_EQ(range_of<double>(0, 1, 0.1).value(), Ints{10});
  EXPECT_EQ(range_of<float>(0, -1, 0.5f).value(), Ints{0});
}

TEST(InferMovement, ARangeWithoutEndIsRefused) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const auto& range : {range_of<float>(0, 1, 0), range_of<float>(0, kInf, 1), range_of<float>(0, 3e38f, 1e-38f),
                            range_of<int64_t>(0, 9, 0), range_of<int64_t>(INT64_MIN, INT64_MAX, 1)}) {
    ASSERT_FALSE(range);
    EXPECT_NE(range.error().message.find("no range from "), std::string::npos) << range.error().message;
  }
  EXPECT_FALSE(range_of<float>(std::numeric_limits<float>::quiet_NaN(), 1, 1));
  EXPECT_FALSE(range_of<double>(0, 4e18, 1)) << "more bytes than can be counted";
}

}  // namespace
}  // namespace isobit::graph
