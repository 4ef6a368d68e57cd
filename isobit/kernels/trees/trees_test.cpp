#include "isobit/kernels/trees/trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> scores(const KernelContext& ctx, const TreeEnsemble& trees, int64_t features,
                      const std::vector<T>& src) {
  const int64_t rows = static_cast<int64_t>(src.size()) / features;
  std::vector<T> dst(static_cast<size_t>(rows * trees.n_targets), T(7));
  tree_ensemble(ctx, trees, rows, features, src.data(), dst.data());
  return dst;
}

template <class T>
std::vector<T> scores(const TreeEnsemble& trees, int64_t features, const std::vector<T>& src) {
  ThreadPool pool(1);
  return scores({best_isa(), &pool}, trees, features, src);
}

// One node that leads to leaf 0 (of weight 1) where the test holds and to leaf 1 (of weight 2) where not.
TreeEnsemble stump(TreeTest test, double split, bool nan_holds = false) {
  TreeEnsemble e;
  e.nodes = {{.feature = 0,
              .test = test,
              .nan_holds = nan_holds,
              .split = split,
              .where_true = {0, true},
              .where_false = {1, true}}};
  e.roots = {0};
  e.leaf_starts = {0, 1, 2};
  e.targets = {0, 0};
  e.weights = {1, 2};
  return e;
}

TEST(Trees, TestsCompareAsTheyAreNamed) {
  const std::vector<float> x = {-1, 0.5f, 3, kNaN};
  EXPECT_EQ(scores(stump(TreeTest::kLessOrEqual, 0.5), 1, x), (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(scores(stump(TreeTest::kLess, 0.5), 1, x), (std::vector<float>{1, 2, 2, 2}));
  EXPECT_EQ(scores(stump(TreeTest::kGreaterOrEqual, 0.5), 1, x), (std::vector<float>{2, 1, 1, 2}));
  EXPECT_EQ(scores(stump(TreeTest::kGreater, 0.5), 1, x), (std::vector<float>{2, 2, 1, 2}));
  EXPECT_EQ(scores(stump(TreeTest::kEqual, 0.5), 1, x), (std::vector<float>{2, 1, 2, 2}));
  EXPECT_EQ(scores(stump(TreeTest::kNotEqual, 0.5), 1, x), (std::vector<float>{1, 2, 1, 1}));
}

TEST(Trees, ANaNGoesWhereItsNodeSays) {
  for (TreeTest test : {TreeTest::kLessOrEqual, TreeTest::kGreater, TreeTest::kEqual, TreeTest::kMember}) {
    EXPECT_EQ(scores<float>(stump(test, 0.5, true), 1, {kNaN}), std::vector<float>{1});
  }
}

TEST(Trees, FeaturesAreComparedInFloat64) {
  // float32 holds neither 0.1 nor a number between it and its neighbour.
  EXPECT_EQ(scores<float>(stump(TreeTest::kLessOrEqual, 0.1), 1, {0.1f}), std::vector<float>{2});
  EXPECT_EQ(scores<double>(stump(TreeTest::kLessOrEqual, 0.1), 1, {0.1}), std::vector<double>{1});
}

TEST(Trees, MembersAreThoseOfTheNodesSet) {
  TreeEnsemble e = stump(TreeTest::kMember, 0);
  e.members = {5, 1.25, 8, 5};
  e.nodes[0].first_member = 1;
  e.nodes[0].last_member = 3;
  EXPECT_EQ(scores<float>(e, 1, {1.25f, 8, 5, kNaN}), (std::vector<float>{1, 1, 2, 2}));
}

TEST(Trees, WeightsOfATargetAreAggregated) {
  TreeEnsemble e = stump(TreeTest::kLessOrEqual, 0);
  e.nodes.push_back(e.nodes[0]);
  e.nodes[1].feature = 1;
  e.nodes[1].where_true = {2, true};
  e.roots = {0, 1};
  e.leaf_starts = {0, 1, 2, 5};
  e.targets = {0, 0, 1, 0, 1};
  e.weights = {1, 2, 10, 30, 50};
  e.n_targets = 3;
  const std::vector<float> rows = {-1, -1, 1, 1};  // leaves 0 and 2; leaves 1 and 1
  EXPECT_EQ(scores(e, 2, rows), (std::vector<float>{31, 60, 0, 4, 0, 0}));
  e.aggregate = TreeAggregate::kAverage;
  EXPECT_EQ(scores(e, 2, rows), (std::vector<float>{15.5f, 30, 0, 2, 0, 0}));
  e.aggregate = TreeAggregate::kMinimum;
  EXPECT_EQ(scores(e, 2, rows), (std::vector<float>{1, 10, 0, 2, 0, 0}));
  e.aggregate = TreeAggregate::kMaximum;
  EXPECT_EQ(scores(e, 2, rows), (std::vector<float>{30, 50, 0, 2, 0, 0}));
  e.weights[3] = kNaN;
  EXPECT_TRUE(std::isnan(scores(e, 2, rows)[0]));
}

TEST(Trees, SumsInFloat32AreRoundedOnce) {
  TreeEnsemble e = stump(TreeTest::kLessOrEqual, 0);
  e.roots = {0, 0, 0};
  e.leaf_starts = {0, 3, 3};
  e.targets = {0, 0, 0};
  e.weights = {0x1p24, 1, -0x1p24};
  EXPECT_EQ(scores<float>(e, 1, {0}), std::vector<float>{3});
}

// Trees of random shape: inner nodes are numbered from the root down, so that every path ends.
TreeEnsemble random_trees(std::mt19937_64& random, int64_t features, int64_t targets) {
  TreeEnsemble e;
  e.n_targets = targets;
  e.leaf_starts = {0};
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const auto leaf = [&] {
    for (int64_t pairs = below(3); pairs-- > 0;) {
      e.targets.push_back(below(targets));
      e.weights.push_back(static_cast<double>(below(1000)) / 64 - 7);
    }
    e.leaf_starts.push_back(static_cast<int64_t>(e.targets.size()));
    return TreeChild{static_cast<int64_t>(e.leaf_starts.size()) - 2, true};
  };
  for (int tree = 0; tree < 5; ++tree) {
    const auto first = static_cast<int64_t>(e.nodes.size()), count = 1 + below(12);
    e.roots.push_back(first);
    int64_t next = first + 1;
    for (int64_t i = 0; i < count; ++i) {
      TreeNode node{.feature = below(features),
                    .test = static_cast<TreeTest>(below(6)),
                    .nan_holds = below(2) == 0,
                    .split = static_cast<double>(below(9)) / 4 - 1};
      for (TreeChild* child : {&node.where_true, &node.where_false}) {
        *child = next < first + count ? TreeChild{next++, false} : leaf();
      }
      e.nodes.push_back(node);
    }
  }
  return e;
}

TEST(Trees, AreTheSameEverywhere) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 8; ++trial) {
    const TreeEnsemble e = random_trees(random, 4, 3);
    const auto f32 = testing::random_values<float>(400, testing::Values::kSpecial, random());
    const auto f64 = testing::random_values<double>(400, testing::Values::kUnit, random());
    testing::expect_same_everywhere(
        "f32", [&](const KernelContext& ctx) { return std::vector<std::vector<float>>{scores(ctx, e, 4, f32)}; });
    testing::expect_same_everywhere(
        "f64", [&](const KernelContext& ctx) { return std::vector<std::vector<double>>{scores(ctx, e, 4, f64)}; });
  }
}

}  // namespace
}  // namespace isobit::kernels
