#include "isobit/train/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

using numerics::ExactTotal;

MetricSum sum_of(float x, uint64_t count) { return {ExactTotal::of(x), count}; }

TEST(Evaluation, TotalsAreTheSumsOfAllSamples) {
  const SampleScores e{{"loss", "top1"}, {sum_of(0x1p100f, 1), sum_of(1, 1), sum_of(0x1p-100f, 2), sum_of(0, 2)}};
  EXPECT_EQ(e.samples(), 2u);
  const auto totals = e.totals();
  ExactTotal loss = ExactTotal::of(0x1p100f);
  loss.add(0x1p-100f);
  EXPECT_EQ(totals, (std::vector<Metric>{{"loss", {loss, 3}}, {"top1", sum_of(1, 3)}}));
  EXPECT_EQ(e.of_sample(1)[0], sum_of(0x1p-100f, 2));
}

TEST(Evaluation, ReadsForPeople) {
  const std::vector<Metric> metrics = {
      {"loss", sum_of(36, 360)}, {"top1", sum_of(351, 360)}, {"top5", sum_of(360, 360)}};
  EXPECT_EQ(value_of(metrics[0]), static_cast<double>(0.1f));
  EXPECT_EQ(value_of(metrics[1]), 351.0 / 360);
  EXPECT_EQ(text_of_metrics(360, metrics), "97.50 % right of 360 (top 5: 100.00 %)");
  EXPECT_EQ(text_of_metrics(360, std::span(metrics).first(1)), "loss 0.1");
  EXPECT_EQ(text_of_metrics(0, {}), "nothing scored");
  // A stranger's leaf may claim anything.
  EXPECT_TRUE(std::isnan(value_of({"top1", {ExactTotal::of(NAN), 3}})));
  EXPECT_EQ(value_of({"top1", sum_of(-0.5f, 1)}), -0.5);
  EXPECT_EQ(find_metric(metrics, "top2"), nullptr);
}

// The size of the batches that are scored together is free: no row meets another before the exact sums.
TEST(Evaluation, EverySampleHasItsOwnSums) {
  Job job = parse_job(
                "[job]\nsteps = 1\n[model]\nbuilder = \"logistic\"\n[data]\ndataset = \"digits\"\nbatch = 6\n"
                "[optimizer]\nlr = 0.1\n",
                "test", "")
                .value();
  platform::Engine engine(platform::parse_platform("ordered").value());
  const std::shared_ptr<const data::Dataset> dataset = data::open_dataset(job.data).value();
  auto trainer = Trainer::create(job, dataset, engine).value();
  ASSERT_TRUE(trainer->advance());
  const SampleScores all = trainer->evaluate().value();
  EXPECT_EQ(all.samples(), 360u);
  for (const auto& [batch, samples] : {std::pair<int64_t, int64_t>{47, 100}, {200, 331}, {1, 0}}) {
    job.batch = batch;
    job.evaluate_samples = samples;
    const SampleScores some = evaluate(job, *dataset, trainer->state(), engine).value();
    ASSERT_EQ(some.samples(), samples == 0 ? 360u : static_cast<uint64_t>(samples));
    for (uint64_t i = 0; i < some.samples(); ++i) {
      EXPECT_TRUE(std::ranges::equal(some.of_sample(i), all.of_sample(i))) << i;
    }
  }
}

}  // namespace
}  // namespace isobit::train
