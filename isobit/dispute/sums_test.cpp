#include "isobit/dispute/sums.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace isobit::dispute {
namespace {

using numerics::ExactTotal;
using train::MetricSum;

train::SampleScores some_scores(uint64_t samples) {
  train::SampleScores scores{{"loss", "top1"}, {}};
  for (uint64_t i = 0; i < samples; ++i) {
    scores.sums.push_back({ExactTotal::of(*rc::gen::element(0.0F, 0.5F, 1e-30F, -7.0F, 3e30F)), 1});
    scores.sums.push_back({ExactTotal::of(*rc::gen::element(0.0F, 1.0F)), 1});
  }
  return scores;
}

// The subtrees that a descent to this sample comes by.
std::vector<Subtree> way_to(uint64_t sample, uint64_t samples) {
  std::vector<Subtree> way = {{0, samples}};
  while (way.back().size > 1) {
    for (const Subtree& part : parts_of(way.back())) {
      if (sample - part.begin < part.size && sample >= part.begin) {
        way.push_back(part);
        break;
      }
    }
  }
  return way;
}

RC_GTEST_PROP(Sums, AreThoseOfTheTreeDownToEverySample, ()) {
  const auto samples = *rc::gen::inRange<uint64_t>(1, 700);
  const train::SampleScores scores = some_scores(samples);
  const verify::EvaluationTree tree(scores);
  const auto sample = *rc::gen::inRange<uint64_t>(0, samples);
  std::optional<verify::EvaluationNode> above;
  for (const Subtree& part : way_to(sample, samples)) {
    const SumsShowing shown = SumsShowing::of(tree, part);
    const auto claimed = claimed_sums(part, shown, 2);
    RC_ASSERT(claimed.has_value());
    RC_ASSERT(!claimed->false_sum);
    if (above) RC_ASSERT(claimed->top == *above);
    // By other code: the whole leads to the evaluation.
    if (!above) {
      RC_ASSERT(verify::tree_digest(samples, scores.metrics, claimed->top) == tree.evaluation().tree);
    }
    const auto parts = parts_of(part);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (sample >= parts[i].begin && sample - parts[i].begin < parts[i].size) above = shown.parts[i];
    }
  }
  const auto expected = scores.of_sample(sample);
  RC_ASSERT(std::equal(expected.begin(), expected.end(), above->sums.begin(), above->sums.end()));
}

// Whoever says another sum of any node is convicted by it, or does not lead to what is above.
RC_GTEST_PROP(Sums, OneThatDoesNotAddUpIsFound, ()) {
  const auto samples = *rc::gen::inRange<uint64_t>(2, 300);
  const verify::EvaluationTree tree(some_scores(samples));
  const Subtree whole{0, samples};
  SumsShowing shown = SumsShowing::of(tree, whole);
  const auto honest = claimed_sums(whole, shown, 2);
  const auto at = *rc::gen::inRange<size_t>(0, shown.above.size());
  MetricSum& sum = shown.above[at][*rc::gen::inRange<size_t>(0, 2)];
  if (*rc::gen::arbitrary<bool>()) {
    sum.count += 1;
  } else {
    sum.sum.add(1.0F);
  }
  const auto claimed = claimed_sums(whole, shown, 2);
  RC_ASSERT(claimed.has_value());
  RC_ASSERT(claimed->false_sum.has_value());
  RC_ASSERT(claimed->top != honest->top);
}

TEST(Sums, ALeafThatIsNotItsSampleIsFound) {
  train::SampleScores scores{{"loss"}, {}};
  for (int i = 0; i < 3; ++i) scores.sums.push_back({ExactTotal::of(static_cast<float>(i)), 1});
  SumsShowing shown = SumsShowing::of(verify::EvaluationTree(scores), {0, 3});
  EXPECT_EQ(shown.above.size(), 2U);
  shown.parts[1].hash[0] ^= 1;
  const auto claimed = claimed_sums({0, 3}, shown, 1);
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->false_sum, (Subtree{1, 1}));
  EXPECT_FALSE(claimed_sums({0, 4}, shown, 1));
  EXPECT_FALSE(claimed_sums({0, 3}, shown, 2));
}

}  // namespace
}  // namespace isobit::dispute
