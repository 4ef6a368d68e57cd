#include "isobit/lab/reveal/reveal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "isobit/lab/reveal/confirm.h"
#include "isobit/lab/reveal/planted_for_test.h"
#include "isobit/lab/reveal/triples.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::lab::reveal {
namespace {

using namespace testing;

// 5 K log2 K: about three times what random trees need on average.
int64_t query_bound(int64_t k) { return 5 * k * (1 + static_cast<int64_t>(std::log2(static_cast<double>(k)))) + 128; }

void expect_revealed(const SumTree& tree, Format format, const std::string& what) {
  Planted sum = planted(tree, format);
  const Revealed found = reveal_tree(sum).value();
  ASSERT_EQ(found.verdict, Verdict::kTree) << what << ": " << found.reason;
  EXPECT_EQ(*found.tree, tree) << what;
  EXPECT_LE(found.queries, query_bound(tree.leaves())) << what;
  EXPECT_TRUE(confirm(sum, &*found.tree).value().all(confirm(sum, &*found.tree).value().plain)) << what;
}

TEST(Reveal, FindsPlantedOrders) {
  for (const Format format : {Format::kFloat32, Format::kFloat64}) {
    for (const int64_t k : {2, 3, 64, 512, 1000}) {
      expect_revealed(chain_tree(k), format, "chain");
      TreeBuilder pairs(k);
      pairs.pairwise(pairs.range(0, k));
      expect_revealed(pairs.tree(), format, "pairwise");
      if (k % 8 == 0) expect_revealed(lane_tree(k, 8), format, "lanes");
      if (k > 100) expect_revealed(block_tree(k, 100), format, "blocks");
    }
  }
}

TEST(Reveal, TakesNoLongerForAChainAddedBackwards) {
  TreeBuilder b(1024);
  std::vector<TreeId> backwards = b.range(0, 1024);
  std::reverse(backwards.begin(), backwards.end());
  b.chain(backwards);
  expect_revealed(b.tree(), Format::kFloat32, "backwards");
}

TEST(Reveal, FindsTheLargestTrees) {
  expect_revealed(block_tree(kMostTerms, 384), Format::kFloat32, "blocks");
  expect_revealed(lane_tree(kMostTerms, 64), Format::kFloat64, "lanes");
}

RC_GTEST_PROP(Reveal, FindsAnyTree, ()) {
  const SumTree tree = draw_tree(*rc::gen::inRange<int64_t>(1, 120));
  Planted sum = planted(tree, *rc::gen::element(Format::kFloat32, Format::kFloat64));
  const Revealed found = reveal_tree(sum, {.seed = *rc::gen::arbitrary<uint64_t>()}).value();
  RC_ASSERT(found.verdict == Verdict::kTree);
  RC_ASSERT(*found.tree == tree);
  RC_ASSERT(found.queries <= query_bound(tree.leaves()));
}

// A node that adds all its operands at the exponent of the largest: what is below its last place is cut off.
double fused(const SumTree& tree, const double* terms) {
  std::vector<double> values(terms, terms + tree.leaves());
  for (const auto& children : tree.nodes()) {
    double largest = 0, sum = 0;
    for (const TreeId child : children) largest = std::max(largest, std::abs(values[static_cast<size_t>(child)]));
    const double unit = largest == 0 ? 1 : std::ldexp(1.0, std::ilogb(largest) - 24);
    for (const TreeId child : children) sum += std::trunc(values[static_cast<size_t>(child)] / unit) * unit;
    values.push_back(static_cast<double>(static_cast<float>(sum)));
  }
  return values.back();
}

RC_GTEST_PROP(Reveal, FindsTreesWithFusedNodes, ()) {
  const SumTree tree = draw_tree(*rc::gen::inRange<int64_t>(1, 60), 5);
  Planted sum(tree.leaves(), Format::kFloat32, [&](const double* terms) { return fused(tree, terms); });
  const Revealed found = reveal_tree(sum).value();
  RC_ASSERT(found.verdict == Verdict::kTree);
  RC_ASSERT(*found.tree == tree);
}

TEST(Reveal, SaysThatACorrectlyRoundedSumHasNoTree) {
  Planted sum(100, Format::kFloat32,
              [](const double* terms) { return correctly_rounded_sum(Format::kFloat32, 100, terms); });
  const Revealed found = reveal_tree(sum).value();
  EXPECT_EQ(found.verdict, Verdict::kNoUnitLost);
  EXPECT_EQ(found.queries, 99);
  const Confirmation confirmed = confirm(sum, nullptr).value();
  EXPECT_TRUE(confirmed.all(confirmed.correct));
}

TEST(Reveal, CompensationIsSeenBySumsOfRandomNumbersOnly) {
  // Kahan's: its counts are those of a chain.
  Planted sum(50, Format::kFloat32, [](const double* terms) {
    volatile float total = 0, carried = 0;
    for (int i = 0; i < 50; ++i) {
      const float y = static_cast<float>(terms[i]) - carried;
      const float t = total + y;
      carried = (t - total) - y;
      total = t;
    }
    return static_cast<double>(total);
  });
  const Revealed found = reveal_tree(sum).value();
  ASSERT_EQ(found.verdict, Verdict::kTree);
  const Confirmation confirmed = confirm(sum, &*found.tree).value();
  EXPECT_FALSE(confirmed.all(confirmed.plain));
  EXPECT_FALSE(confirmed.all(confirmed.wide));
}

TEST(Reveal, AccumulatorsOfFloat64AreTold) {
  const SumTree tree = lane_tree(64, 4);
  Planted sum(64, Format::kFloat32,
              [&](const double* terms) { return evaluate(tree, Format::kFloat32, Accumulator::kFloat64, terms); });
  const Revealed found = reveal_tree(sum).value();
  ASSERT_EQ(found.verdict, Verdict::kTree);
  EXPECT_EQ(*found.tree, tree);
  const Confirmation confirmed = confirm(sum, &*found.tree).value();
  EXPECT_TRUE(confirmed.all(confirmed.wide));
  EXPECT_FALSE(confirmed.all(confirmed.plain));
}

TEST(Reveal, WhatVariesIsNoTree) {
  // Threads that add as they come: now one chain, now the other.
  int calls = 0;
  const SumTree one = chain_tree(40), other = block_tree(40, 20);
  Planted sum(40, Format::kFloat32, [&](const double* terms) {
    return evaluate(++calls % 3 == 0 ? other : one, Format::kFloat32, Accumulator::kFormat, terms);
  });
  const Revealed found = reveal_tree(sum).value();
  EXPECT_TRUE(found.verdict == Verdict::kVaries || found.verdict == Verdict::kNotATree) << name_of(found.verdict);
  EXPECT_FALSE(found.reason.empty());
}

TEST(Reveal, WhatIsNoSumIsNoTree) {
  Planted nan(10, Format::kFloat32, [](const double*) { return NAN; });
  EXPECT_EQ(reveal_tree(nan).value().verdict, Verdict::kNotATree);
  Planted largest(10, Format::kFloat32, [](const double* terms) { return *std::max_element(terms, terms + 10); });
  EXPECT_EQ(reveal_tree(largest).value().verdict, Verdict::kNotATree);
}

TEST(Reveal, WhatOnlyAnswersLikeASumIsFoundOut) {
  // These counts are those of nine terms added by one operation and one more.
  Planted few(10, Format::kFloat32, [](const double* terms) { return terms[3] == 1 ? 1.0 : 0.0; });
  const Revealed found = reveal_tree(few).value();
  ASSERT_EQ(found.verdict, Verdict::kTree);
  EXPECT_EQ(found.tree->widest(), 9);
  const Confirmation confirmed = confirm(few, &*found.tree).value();
  EXPECT_FALSE(confirmed.all(confirmed.plain) || confirmed.all(confirmed.wide) || confirmed.all(confirmed.correct));
  EXPECT_NE(confirmed.words(Format::kFloat32).find("no plain additions"), std::string::npos);
}

TEST(Reveal, GivesUpAtItsLimit) {
  Planted sum = planted(chain_tree(100), Format::kFloat32);
  const Revealed found = reveal_tree(sum, {.most_queries = 120}).value();
  EXPECT_EQ(found.verdict, Verdict::kGaveUp);
  EXPECT_LE(found.queries, 120);
}

TEST(Reveal, TermsHaveALimit) {
  Planted sum = planted(chain_tree(kMostTerms + 1), Format::kFloat32);
  EXPECT_EQ(reveal_tree(sum).error().code, ErrorCode::kUsage);
}

RC_GTEST_PROP(RevealPositive, FindsAnyTree, ()) {
  const SumTree tree = draw_tree(*rc::gen::inRange<int64_t>(1, 80));
  Planted sum = planted(tree, *rc::gen::element(Format::kFloat32, Format::kFloat64));
  const Revealed found = reveal_positive_tree(sum, {.seed = *rc::gen::arbitrary<uint64_t>()}).value();
  RC_ASSERT(found.verdict == Verdict::kTree);
  RC_ASSERT(*found.tree == tree);
}

TEST(RevealPositive, LargeTreesAndTheirQueries) {
  for (const SumTree& tree : {chain_tree(512), lane_tree(512, 16), block_tree(512, 100)}) {
    Planted sum = planted(tree, Format::kFloat32);
    const Revealed found = reveal_positive_tree(sum).value();
    ASSERT_EQ(found.verdict, Verdict::kTree) << found.reason;
    EXPECT_EQ(*found.tree, tree);
    EXPECT_LE(found.queries, 512 * 9 * 9 * 2);
  }
}

TEST(RevealPositive, WiderPartialSumsAreTold) {
  Planted exact(40, Format::kFloat32,
                [](const double* terms) { return correctly_rounded_sum(Format::kFloat32, 40, terms); });
  EXPECT_EQ(reveal_positive_tree(exact).value().verdict, Verdict::kNoUnitLost);
}

TEST(Evaluate, CorrectlyRoundedSums) {
  const double tie[] = {1, 0x1p-53, 0x1p-106}, even[] = {1, 0x1p-53}, cancel[] = {0x1p60, 1, -0x1p60, 0x1p-40};
  EXPECT_EQ(correctly_rounded_sum(Format::kFloat64, 3, tie), 1 + 0x1p-52);
  EXPECT_EQ(correctly_rounded_sum(Format::kFloat64, 2, even), 1);
  EXPECT_EQ(correctly_rounded_sum(Format::kFloat64, 4, cancel), 1 + 0x1p-40);
}

}  // namespace
}  // namespace isobit::lab::reveal
