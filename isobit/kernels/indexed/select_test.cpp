#include "isobit/kernels/indexed/select.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using Numbers = std::vector<int64_t>;

Numbers all_of(const ScratchVector<int64_t>& v) { return {v.begin(), v.end()}; }

template <class T>
Numbers non_zero_of(const Shape& shape, const std::vector<T>& src) {
  const DType dtype = dtype_of<T>();
  const int64_t count = count_non_zero(dtype, shape.elements(), src.data());
  Numbers dst(static_cast<size_t>(count * shape.rank()));
  non_zero(dtype, shape, count, src.data(), dst.data());
  return dst;
}

TEST(NonZero, ColumnsArePositionsInOrder) {
  EXPECT_EQ(non_zero_of<int32_t>({2, 3}, {0, 5, 0, -1, 0, 9}), (Numbers{0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(non_zero_of<uint8_t>({3}, {0, 0, 0}), Numbers{});
  EXPECT_EQ(non_zero_of<int64_t>({}, {5}), Numbers{});
  EXPECT_EQ(count_non_zero(DType::kInt64, 1, Numbers{5}.data()), 1);
  EXPECT_EQ(non_zero_of<int16_t>({0, 3}, {}), Numbers{});
}

TEST(NonZero, ZerosOfBothSignsAreZeroAndNaNIsNot) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(non_zero_of<float>({5}, {-0.0f, 0, kNaN, 1e-45f, -1}), (Numbers{2, 3, 4}));
  EXPECT_EQ(non_zero_of<double>({3}, {-0.0, 5e-324, 0}), Numbers{1});
  EXPECT_EQ(non_zero_of<Float16>({4}, {{0x8000}, {0x0001}, {0}, {0x7e00}}), (Numbers{1, 3}));
  EXPECT_EQ(non_zero_of<Bfloat16>({2}, {{0x8000}, {0x8001}}), Numbers{1});
}

TEST(NonZero, AnyByteButZeroIsTrue) {
  const uint8_t bytes[] = {0, 1, 2, 255};
  EXPECT_EQ(count_non_zero(DType::kBool, 4, bytes), 3);
  EXPECT_EQ(all_of(places_of_true(bytes)), (Numbers{1, 2, 3}));
}

template <class T>
DistinctItems distinct(int64_t outer, int64_t items, int64_t inner, bool sorted, const std::vector<T>& src) {
  return distinct_items(dtype_of<T>(), outer, items, inner, sorted, src.data());
}

TEST(DistinctItems, SortedAndInTheirOrder) {
  const std::vector<int32_t> src = {7, -1, 7, 3, -1, 7};
  const DistinctItems sorted = distinct(1, 6, 1, true, src), found = distinct(1, 6, 1, false, src);
  EXPECT_EQ(all_of(sorted.first), (Numbers{1, 3, 0}));
  EXPECT_EQ(all_of(sorted.number), (Numbers{2, 0, 2, 1, 0, 2}));
  EXPECT_EQ(all_of(sorted.counts), (Numbers{2, 1, 3}));
  EXPECT_EQ(all_of(found.first), (Numbers{0, 1, 3}));
  EXPECT_EQ(all_of(found.number), (Numbers{0, 1, 0, 2, 1, 0}));
  EXPECT_EQ(all_of(found.counts), (Numbers{3, 2, 1}));
}

// Items that are columns of each of two blocks: [2, 3, 2].
TEST(DistinctItems, ItemsOfSeveralElements) {
  const std::vector<double> src = {1, 2, 0, 9, 1, 2, 5, 6, 7, 8, 5, 6};
  const DistinctItems found = distinct(2, 3, 2, true, src);
  EXPECT_EQ(all_of(found.first), (Numbers{1, 0}));
  EXPECT_EQ(all_of(found.number), (Numbers{1, 0, 1}));
  EXPECT_EQ(all_of(found.counts), (Numbers{1, 2}));
  EXPECT_EQ(all_of(distinct<float>(0, 3, 2, true, {}).number), (Numbers{0, 0, 0})) << "items of no elements are equal";
  EXPECT_TRUE(distinct<float>(1, 0, 1, true, {}).first.empty());
}

TEST(DistinctItems, ZerosAreOneAndNaNsAreOneAndLast) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> src = {kNaN, 0, -kNaN, kInf, -0.0f, -kInf};
  const DistinctItems found = distinct(1, 6, 1, true, src);
  EXPECT_EQ(all_of(found.first), (Numbers{5, 1, 3, 0}));
  EXPECT_EQ(all_of(found.number), (Numbers{3, 1, 3, 2, 1, 0}));
  EXPECT_EQ(all_of(found.counts), (Numbers{1, 2, 1, 2}));
}

TEST(DistinctItems, AnyByteButZeroIsTrue) {
  const uint8_t bytes[] = {2, 0, 1, 255};
  const DistinctItems found = distinct_items(DType::kBool, 1, 4, 1, true, bytes);
  EXPECT_EQ(all_of(found.first), (Numbers{1, 0}));
  EXPECT_EQ(all_of(found.counts), (Numbers{1, 3}));
}

TEST(DistinctItems, ManyAgreeWithAMap) {
  std::vector<int8_t> src;
  for (int64_t i = 0; i < 3000; ++i) src.push_back(static_cast<int8_t>(i * i * 31 % 251));
  std::map<int8_t, Numbers> places;
  for (size_t i = 0; i < src.size(); ++i) places[src[i]].push_back(static_cast<int64_t>(i));
  const DistinctItems found = distinct(1, 3000, 1, true, src);
  ASSERT_EQ(found.first.size(), places.size());
  size_t k = 0;
  for (const auto& [value, at] : places) {
    EXPECT_EQ(found.first[k], at[0]);
    EXPECT_EQ(found.counts[k], static_cast<int64_t>(at.size()));
    for (int64_t i : at) EXPECT_EQ(found.number[static_cast<size_t>(i)], static_cast<int64_t>(k));
    ++k;
  }
}

}  // namespace
}  // namespace isobit::kernels
