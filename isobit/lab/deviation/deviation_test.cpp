#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "isobit/lab/deviation/dendrogram.h"
#include "isobit/lab/deviation/flag_clusters.h"
#include "isobit/lab/deviation/pair.h"

namespace isobit::lab::deviation {
namespace {

TensorView floats(const std::vector<float>& values, std::vector<int64_t> dims) {
  return {"float32", std::move(dims), {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}};
}

TEST(Classes, AreNumberedInOrderOfFirstAppearance) {
  EXPECT_EQ(number_classes(std::vector<std::string>{"b", "a", "b", "c", "a"}), (std::vector<int>{1, 2, 1, 3, 2}));
}

TEST(PairFigures, OfFloats) {
  const std::vector<float> a = {1, 2, 4, 0}, b = {1, 2.5f, 4, -0.0f};
  const auto figures = compare(floats(a, {4}), floats(b, {4}));
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->differing, 2u);  // the zeros differ in a bit, and are one number
  EXPECT_EQ(figures->l0(), 0.5);
  EXPECT_EQ(figures->remaining_precision, 1);  // 1.0 and 1.25 times 2
  EXPECT_EQ(figures->ulp, uint64_t{1} << 21);
  EXPECT_EQ(figures->absolute, 0.5);
  EXPECT_EQ(figures->relative, 0.2);
  EXPECT_EQ(figures->scale, 4);
  EXPECT_EQ(figures->not_finite, 0u);
}

TEST(PairFigures, OfWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> a = {nan, nan, inf, 1}, b = {-nan, 1, -inf, 1};
  const auto figures = compare(floats(a, {4}), floats(b, {4}));
  EXPECT_EQ(figures->differing, 3u);
  EXPECT_EQ(figures->not_finite, 2u);
  EXPECT_EQ(figures->remaining_precision, 0);
  EXPECT_EQ(figures->ulp, UINT64_MAX);
  EXPECT_EQ(figures->absolute, 0);
}

TEST(PairFigures, OfIntegersHaveNoPrecision) {
  const std::vector<int8_t> a = {-128, 3}, b = {127, 3};
  const auto bytes = [](const auto& v) { return ByteView(reinterpret_cast<const uint8_t*>(v.data()), v.size()); };
  const auto figures = compare({"int8", {2}, bytes(a)}, {"int8", {2}, bytes(b)});
  EXPECT_EQ(figures->absolute, 255);
  EXPECT_FALSE(figures->remaining_precision);
}

template <class T>
PairFigures figures_of(const char* dtype, T x, T y) {
  const auto bytes = [](const T& v) { return ByteView(reinterpret_cast<const uint8_t*>(&v), sizeof v); };
  return compare({dtype, {1}, bytes(x)}, {dtype, {1}, bytes(y)}).value();
}

TEST(PairFigures, WideIntegersAreSubtractedExactly) {
  constexpr int64_t kLarge = int64_t{1} << 61;
  EXPECT_EQ(figures_of("int64", kLarge, kLarge + 3).absolute, 3);
  EXPECT_EQ(figures_of("int64", kLarge + 3, kLarge).relative, 3.0 / static_cast<double>(kLarge));
  EXPECT_EQ(figures_of("int64", INT64_MIN, INT64_MAX).absolute, 0x1p64);
  EXPECT_EQ(figures_of("int64", int64_t{-2}, int64_t{1}).absolute, 3);
  EXPECT_EQ(figures_of("uint64", UINT64_MAX, UINT64_MAX - 1).absolute, 1);
}

TEST(PairFigures, DifferencesBeyondFloat64AreItsLargestNumber) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const PairFigures figures = figures_of("float64", kMost, -kMost);
  EXPECT_EQ(figures.absolute, kMost);
  EXPECT_EQ(figures.relative, 2);
  EXPECT_EQ(figures.not_finite, 0u);
}

TEST(PairFigures, OnlyOfTheSameTypeAndDimensions) {
  const std::vector<float> a = {1, 2};
  EXPECT_TRUE(compare(floats(a, {2}), floats(a, {2})));
  EXPECT_FALSE(compare(floats(a, {2}), floats(a, {1, 2})));
  EXPECT_FALSE(compare(floats(a, {3}), floats(a, {3})));  // a record that claims more than its bytes hold
  EXPECT_FALSE(compare(floats(a, {INT64_MAX, 4}), floats(a, {INT64_MAX, 4})));
  TensorView other = floats(a, {2});
  other.dtype = "int32";
  EXPECT_FALSE(compare(floats(a, {2}), other));
}

TEST(Labels, AreTheFirstLargestOfARow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a = {1, 3, 3, nan, -1, -2};
  EXPECT_EQ(labels_of(floats(a, {2, 3})), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(labels_of(floats(a, {6})), (std::vector<int64_t>{1}));
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> b = {nan, -inf, nan, nan, -inf, -inf};
  EXPECT_EQ(labels_of(floats(b, {3, 2})), (std::vector<int64_t>{1, -1, 0}));
  EXPECT_FALSE(labels_of(floats(a, {6, 1})));
  EXPECT_FALSE(labels_of(floats(a, {1, 2, 3})));
}

TEST(Dendrogram, OfFourItemsByHand) {
  // 0 and 2 at 20, 1 and 3 at 10, the nearest of the two clusters at 5.
  const std::vector<std::vector<double>> similarity = {{0, 2, 20, 3}, {0, 0, 5, 10}, {0, 0, 0, 1}, {0, 0, 0, 0}};
  EXPECT_EQ(single_linkage(similarity), (std::vector<Merging>{{0, 2, 20, 2}, {1, 3, 10, 2}, {4, 5, 5, 4}}));
  EXPECT_TRUE(single_linkage({}).empty());
}

// At each level the clusters are what the links of that similarity or more connect.
RC_GTEST_PROP(Dendrogram, IsSingleLinkage, ()) {
  const auto n = *rc::gen::inRange<size_t>(1, 9);
  std::vector<std::vector<double>> similarity(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) similarity[i][j] = *rc::gen::inRange(0, 6);
  }
  const auto mergings = single_linkage(similarity);
  RC_ASSERT(mergings.size() == n - 1);
  for (int level = 0; level < 7; ++level) {
    std::vector<std::pair<size_t, size_t>> links;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i + 1; j < n; ++j) {
        if (similarity[i][j] >= level) links.emplace_back(i, j);
      }
    }
    size_t merged = 0;
    for (const Merging& m : mergings) merged += m.similarity >= level;
    RC_ASSERT(n - merged == linked_groups(n, links).size());
  }
}

TEST(FlagClusters, GroupByPresence) {
  const auto found = cluster_flags({{"avx", "fma", "sse", "x"}, {"avx", "fma", "sse"}, {"sse", "x"}});
  EXPECT_EQ(found.flags, 4u);
  EXPECT_EQ(found.common, 1u);
  EXPECT_EQ(found.clusters,
            (std::vector<FlagCluster>{{{"avx", "fma"}, {true, true, false}}, {{"x"}, {true, false, true}}}));
  EXPECT_TRUE(cluster_flags({{"a"}, {"a"}}).clusters.empty());
}

}  // namespace
}  // namespace isobit::lab::deviation
