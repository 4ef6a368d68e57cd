#include "isobit/lab/reveal/tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "isobit/lab/reveal/planted_for_test.h"
#include "isobit/lab/reveal/words.h"

namespace isobit::lab::reveal {
namespace {

using namespace testing;

TEST(SumTree, IsOneValueHoweverItsNodesAreNumbered) {
  const SumTree a(4, {{0, 1}, {2, 3}, {4, 5}}), b(4, {{3, 2}, {1, 0}, {4, 5}});
  EXPECT_EQ(a, b);
  EXPECT_EQ(text_of_tree(a), "((0 1) (2 3))");
  EXPECT_EQ(json_of_tree(a), R"({"leaves": 4, "nodes": [[0, 1], [2, 3], [4, 5]]})");
  EXPECT_EQ(a.depth(), 2);
  EXPECT_EQ(text_of_tree(SumTree()), "0");
}

TEST(SumTree, DigestIsFixed) {
  EXPECT_EQ(commit::hex_of(digest_of_tree(chain_tree(4))),
            commit::hex_of(digest_of_tree(parse_tree("(((1 0) 2) 3)", "t").value())));
  EXPECT_NE(digest_of_tree(chain_tree(4)), digest_of_tree(lane_tree(4, 2)));
}

TEST(SumTree, KnowsWhereLeavesMeet) {
  const SumTree tree = block_tree(6, 3);
  EXPECT_EQ(leaves_below_common_ancestor(tree, 0, 1), 2);
  EXPECT_EQ(leaves_below_common_ancestor(tree, 0, 2), 3);
  EXPECT_EQ(leaves_below_common_ancestor(tree, 2, 3), 6);
}

RC_GTEST_PROP(SumTree, TextIsReadBack, ()) {
  const SumTree tree = draw_tree(*rc::gen::inRange<int64_t>(1, 60), 4);
  const auto again = parse_tree(text_of_tree(tree), "text");
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == tree);
}

TEST(SumTree, HostileTextsAreRefused) {
  for (const char* text : {"",          "1",
                           "00",        "(",
                           ")",         "()",
                           "(0)",       "(0 1",
                           "(0 1))",    "(0 0)",
                           "(0 2)",     "(0  1)",
                           "(0 1 )",    "( 0 1)",
                           "(0 01)",    "(0 x)",
                           "(0 1) ",    "(0 1)(2 3)",
                           "(0(1 2))",  "(0 -1)",
                           "((0 1) 3)", "(0 99999999999)"}) {
    const auto tree = parse_tree(text, "hostile");
    EXPECT_FALSE(tree.has_value()) << text;
    if (!tree) {
      EXPECT_EQ(tree.error().code, ErrorCode::kUnreadable);
      EXPECT_EQ(tree.error().message.find("hostile: tree"), 0u) << tree.error().message;
    }
  }
  EXPECT_FALSE(parse_tree(std::string(1 << 20, '('), "deep").has_value());
}

TEST(SumTree, AsDeepAsItHasLeaves) {
  const SumTree tree = chain_tree(kMostLeaves);
  EXPECT_EQ(tree.depth(), kMostLeaves - 1);
  EXPECT_EQ(parse_tree(text_of_tree(tree), "deep").value(), tree);
}

std::string words(const std::string& text) { return words_of(parse_tree(text, "test").value()); }

TEST(Words, OfPlainOrders) {
  EXPECT_EQ(words_of(chain_tree(64)), "64 terms in ascending order");
  EXPECT_EQ(words("(0 (1 (2 3)))"), "4 terms in descending order");
  EXPECT_EQ(words("(0 1)"), "2 terms in ascending order");
  EXPECT_EQ(words("0"), "term 0");
}

TEST(Words, OfLanes) {
  EXPECT_EQ(words_of(lane_tree(64, 16)),
            "16 partial sums, combined pairwise, distances 8, 4, 2, 1; each: 4 terms, 16 apart, in ascending order");
}

TEST(Words, OfPairwiseSums) {
  TreeBuilder b(8);
  b.pairwise(b.range(0, 8));
  EXPECT_EQ(words_of(b.tree()), "8 terms, combined pairwise, neighbours first, distances 1, 2, 4");
}

TEST(Words, OfBlocks) {
  EXPECT_EQ(words_of(block_tree(1024, 256)),
            "4 blocks of 256 terms added one after another; each: 256 terms in ascending order");
  EXPECT_EQ(words_of(block_tree(512, 384)),
            "2 blocks added one after another, of 384, 128 terms; the largest: 384 terms in ascending order");
}

TEST(Words, OfBlocksOfLanesAndOfBlocksWithinBlocks) {
  TreeBuilder b(1024);
  std::vector<TreeId> sums;
  for (int64_t begin = 0; begin < 1024; begin += 256) {
    std::vector<TreeId> lanes;
    for (int64_t l = 0; l < 8; ++l) lanes.push_back(b.chain(b.range(begin + l, begin + 256, 8)));
    sums.push_back(b.pairwise(lanes));
  }
  b.pairwise(sums);
  EXPECT_EQ(words_of(b.tree()),
            "4 blocks of 256 terms, combined pairwise, neighbours first, distances 256, 512; each: 8 partial sums, "
            "combined pairwise, distances 1, 2, 4; each: 32 terms, 8 apart, in ascending order");
}

TEST(Words, OfAFusedChain) {
  EXPECT_EQ(words("((0 1 2 3) 4 5 6 7)"),
            "8 terms in ascending order, 4 at a time in one operation with the accumulator");
}

TEST(Words, OfNestedLoops) {
  // Two channels of four taps, tap by tap.
  EXPECT_EQ(words("(((((((0 4) 1) 5) 2) 6) 3) 7)"),
            "8 terms one after another in nested loops: 2 terms 4 apart, that 4 times, each 1 further on");
}

TEST(Words, OfAccumulatorsAddedOneAfterAnother) {
  TreeBuilder b(128);
  std::vector<TreeId> lanes;
  for (int64_t l = 0; l < 8; ++l) {
    std::vector<TreeId> accumulators;
    for (int64_t a = 0; a < 4; ++a) accumulators.push_back(b.chain(b.range(8 * a + l, 128, 32)));
    lanes.push_back(b.chain(accumulators));
  }
  b.folded(lanes);
  EXPECT_EQ(
      words_of(b.tree()),
      "8 partial sums, combined pairwise, distances 4, 2, 1; each: 4 interleaved parts of 4 terms added one after "
      "another; each: 4 terms, 32 apart, in ascending order");
  TreeBuilder c(128);
  lanes.clear();
  for (int64_t l = 0; l < 8; ++l) {
    std::vector<TreeId> accumulators;
    for (int64_t a = 0; a < 4; ++a) accumulators.push_back(c.chain(c.range(8 * a + l, 128, 32)));
    lanes.push_back(c.chain(accumulators));
  }
  c.chain(lanes);
  EXPECT_EQ(
      words_of(c.tree()),
      "8 interleaved parts of 16 terms added one after another; each: 4 interleaved parts of 4 terms added one after "
      "another; each: 4 terms, 32 apart, in ascending order");
}

TEST(Words, OfARemainder) {
  TreeBuilder b(14);
  std::vector<TreeId> lanes;
  for (int64_t l = 0; l < 4; ++l) lanes.push_back(b.chain(b.range(l, 12, 4)));
  b.chain({b.folded(lanes), 12, 13});
  EXPECT_EQ(words_of(b.tree()),
            "3 parts added one after another: first [4 partial sums, combined pairwise, distances 2, 1; each: 3 terms, "
            "4 apart, in ascending order]; then 2 single terms from 12");
}

RC_GTEST_PROP(Words, AreShortForAnyTree, ()) {
  const std::string text = words_of(draw_tree(*rc::gen::inRange<int64_t>(1, 200), 3));
  RC_ASSERT(!text.empty());
}

}  // namespace
}  // namespace isobit::lab::reveal
