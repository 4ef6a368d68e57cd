#include "isobit/train/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace isobit::train {
namespace {

using numerics::ExactTotal;

constexpr Loss kLosses[] = {Loss::kCrossEntropy, Loss::kMse,           Loss::kL1,
                            Loss::kHuber,        Loss::kBceWithLogits, Loss::kOutput};

Tensor reals(std::vector<int64_t> dims, const std::vector<float>& values) {
  Tensor tensor(DType::kFloat32, Shape(std::move(dims)));
  std::ranges::copy(values, tensor.data<float>());
  return tensor;
}

Tensor classes(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  Tensor tensor(DType::kInt64, Shape(std::move(dims)));
  std::ranges::copy(values, tensor.data<int64_t>());
  return tensor;
}

MetricSum sum_of(const std::vector<float>& values) {
  MetricSum sum;
  for (const float x : values) {
    sum.sum.add(x);
    ++sum.count;
  }
  return sum;
}

// What commitments ask of them: at most eight, in their order.
TEST(Metrics, NamesStrictlyIncrease) {
  for (const Loss loss : kLosses) {
    const auto names = metric_names(loss);
    ASSERT_FALSE(names.empty());
    EXPECT_LE(names.size(), 8u);
    for (size_t i = 1; i < names.size(); ++i) EXPECT_LT(names[i - 1], names[i]);
    EXPECT_NE(std::ranges::find(names, "loss"), names.end());
  }
}

TEST(Metrics, OfClassesCountRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // Two samples of two tokens each, six classes.
  const Tensor output = reals({4, 6}, {1,   5, 5, 0, 0, 0,    // 1: first among equals
                                       1,   5, 5, 0, 0, 0,    // 2: behind its equal
                                       9,   8, 7, 6, 5, 4,    // 5: sixth
                                       nan, 1, 0, 0, 0, 0});  // 1: behind a NaN
  const Tensor target = classes({4}, {1, 2, 5, 1}), losses = reals({4}, {0.5f, 1, 2, 4});
  std::vector<MetricSum> sums;
  add_scores(Loss::kCrossEntropy, {2, losses, &output, &target}, sums);
  ASSERT_EQ(sums.size(), 6u);
  EXPECT_EQ(sums[0], sum_of({0.5f, 1}));
  EXPECT_EQ(sums[1], sum_of({1, 0}));
  EXPECT_EQ(sums[2], sum_of({1, 1}));
  EXPECT_EQ(sums[3], sum_of({2, 4}));
  EXPECT_EQ(sums[4], sum_of({0, 0}));
  EXPECT_EQ(sums[5], sum_of({0, 1}));
}

TEST(Metrics, OfNumbersCountElements) {
  const Tensor output = reals({2, 3}, {1, 2, 3, 0.1f, -1, 1e30f}), target = reals({2, 3}, {1, 4, 0, 0.3f, 1, 0});
  const Tensor losses = reals({2}, {7, 8});
  const float d = 0.1f - 0.3f, large = 1e30f * 1e30f;
  for (const Loss loss : {Loss::kMse, Loss::kL1, Loss::kHuber}) {
    std::vector<MetricSum> sums;
    add_scores(loss, {2, losses, &output, &target}, sums);
    const std::vector<MetricSum> expected = {sum_of({7}), sum_of({0, 2, 3}),      sum_of({0, 4, 9}),
                                             sum_of({8}), sum_of({-d, 2, 1e30f}), sum_of({d * d, 4, large})};
    EXPECT_EQ(sums, expected);
  }
}

TEST(Metrics, OfSeveralLabelsCountEach) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor output = reals({2, 3}, {2, -1, 0, nan, 0.5f, nan}), target = reals({2, 3}, {1, 1, 0, 1, 0, 0});
  const Tensor losses = reals({2}, {0.25f, 0.5f});
  std::vector<MetricSum> sums;
  add_scores(Loss::kBceWithLogits, {2, losses, &output, &target}, sums);
  const std::vector<MetricSum> expected = {sum_of({1, 0, 1}), sum_of({0.25f}), sum_of({0, 0, 0}), sum_of({0.5f})};
  EXPECT_EQ(sums, expected);
}

TEST(Metrics, OfANetworkThatMakesItsOwnLoss) {
  const Tensor losses = reals({3}, {1, 2, 4});
  std::vector<MetricSum> sums;
  add_scores(Loss::kOutput, {3, losses}, sums);
  EXPECT_EQ(sums, (std::vector<MetricSum>{sum_of({1}), sum_of({2}), sum_of({4})}));
}

TEST(Metrics, ReadForPeople) {
  const std::vector<Metric> labels = {{"accuracy", sum_of({1, 1, 1, 0})}, {"loss", sum_of({0.5f})}};
  EXPECT_EQ(text_of_metrics(1, labels), "accuracy 75.00 %, loss 0.5");
  const std::vector<Metric> numbers = {{"loss", sum_of({0.5f})}, {"mae", sum_of({1, 2})}, {"mse", sum_of({1, 4})}};
  EXPECT_EQ(text_of_metrics(1, numbers), "loss 0.5, mae 1.5, mse 2.5");
  EXPECT_EQ(perplexity_of(1, numbers), std::nullopt);
}

TEST(Metrics, PerplexityIsThatOfTokens) {
  const std::vector<Metric> metrics = {{"loss", sum_of({0.5f, 1})}, {"top1", sum_of({0, 1})}, {"top5", sum_of({1, 1})}};
  EXPECT_EQ(perplexity_of(1, metrics), static_cast<double>(2.117f));  // e^0.75 = 2.1170000166...
  EXPECT_EQ(text_of_metrics(1, metrics), "50.00 % right of 2 (top 5: 100.00 %), perplexity 2.117");
  EXPECT_EQ(perplexity_of(2, metrics), std::nullopt) << "a row for each sample: no tokens";
  std::vector<Metric> beyond = metrics;
  beyond[0].total = sum_of({1000, 1000});
  EXPECT_EQ(perplexity_of(1, beyond), std::numeric_limits<double>::infinity());
}

// A part of a tensor as a tensor of its own.
Tensor part(const Tensor& from, const ItemParts::Range& range) {
  Tensor out = Tensor::zeros(from.dtype(), {range.count});
  const size_t size = size_of(from.dtype());
  const auto* data = static_cast<const uint8_t*>(from.raw()) + static_cast<size_t>(range.first) * size;
  if (range.count > 0) std::memcpy(out.raw(), data, static_cast<size_t>(range.count) * size);
  return out;
}

// What a sample scores is the sum of what its values do, each from a few elements.
TEST(Metrics, ItemsAddUpToTheScoresOfTheirSample) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Loss loss : kLosses) {
    const bool of_classes = loss == Loss::kCrossEntropy;
    const Tensor losses = of_classes ? reals({4}, {0.5f, nan, 2, 1e-30f}) : reals({2}, {0.25f, 3});
    const Tensor output = reals({4, 3}, {1, 5, 5, -0.0f, 0, 0, 9, 8, 7, nan, 1, 0.5f});
    const Tensor target =
        of_classes ? classes({4}, {1, 2, 0, 1}) : reals({4, 3}, {0, 1, 0.5f, 1, 0, 0, 1, 1, -2, 1e30f, 0, 1});
    const ScoredBatch batch{2, losses, &output, &target};
    ASSERT_TRUE(can_be_scored(loss, batch));
    std::vector<MetricSum> sums;
    add_scores(loss, batch, sums);
    const size_t metrics = metric_names(loss).size();
    for (int64_t sample = 0; sample < 2; ++sample) {
      for (size_t m = 0; m < metrics; ++m) {
        MetricSum sum;
        for (int64_t i = 0; i < items_of(loss, m, batch); ++i) {
          const ItemParts of = parts_of_item(loss, m, batch, sample, i);
          const auto score =
              score_of_item(loss, m, part(losses, of.losses), part(output, of.output), part(target, of.target));
          ASSERT_TRUE(score);
          EXPECT_EQ(score->count, 1u);
          EXPECT_TRUE(sum.sum.add(score->sum));
          ++sum.count;
        }
        EXPECT_EQ(sum, sums[static_cast<size_t>(sample) * metrics + m]) << metric_names(loss)[m];
      }
    }
  }
}

TEST(Metrics, AreNotAskedOfBatchesThatDoNotFit) {
  const Tensor three = reals({3}, {1, 2, 3}), four = reals({4}, {1, 2, 3, 4}), none = reals({0}, {});
  const Tensor labels = classes({4}, {0, 0, 0, 0}), two = classes({2}, {0, 7});
  EXPECT_FALSE(can_be_scored(Loss::kOutput, {2, three, nullptr, nullptr}));
  EXPECT_FALSE(can_be_scored(Loss::kOutput, {2, none, nullptr, nullptr}));
  EXPECT_FALSE(can_be_scored(Loss::kOutput, {2, labels, nullptr, nullptr}));
  EXPECT_FALSE(can_be_scored(Loss::kCrossEntropy, {2, four, &three, &labels}));
  EXPECT_FALSE(can_be_scored(Loss::kCrossEntropy, {2, four, &four, &four}));
  EXPECT_FALSE(can_be_scored(Loss::kMse, {2, four, &four, &labels}));
  EXPECT_TRUE(can_be_scored(Loss::kMse, {2, four, &four, &four}));
  // A class that the output does not have.
  EXPECT_FALSE(score_of_item(Loss::kCrossEntropy, 1, none, reals({2}, {1, 2}), classes({1}, {7})));
}

}  // namespace
}  // namespace isobit::train
