// What an evaluation comes to: for every sample, exact sums of its metrics. Sums of parts add up to the sum of the
// whole, so a dispute can descend from the total to one sample. Plain values: verify/ commits to them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isobit/numerics/exact_total.h"

namespace isobit::train {

struct MetricSum {
  numerics::ExactTotal sum;
  uint64_t count = 0;  // of the values in the sum: rows
  bool operator==(const MetricSum&) const = default;
};

// One metric over everything that was scored.
struct Metric {
  std::string name;
  MetricSum total;
  bool operator==(const Metric&) const = default;
};

// Classification and token prediction have "loss" (the row losses), "top1" and "top5" (1 for a row whose label is
// among the first one, or five, logits, else 0), each counting the rows.
struct SampleScores {
  std::vector<std::string> metrics;  // strictly increasing
  std::vector<MetricSum> sums;       // of sample i: [i * metrics.size(), (i + 1) * metrics.size())

  uint64_t samples() const { return metrics.empty() ? 0 : sums.size() / metrics.size(); }
  std::span<const MetricSum> of_sample(uint64_t i) const {
    return std::span(sums).subspan(i * metrics.size(), metrics.size());
  }
  std::vector<Metric> totals() const;
};

// Nothing when it is not there.
const Metric* find_metric(std::span<const Metric> metrics, std::string_view name);

// Here, and nowhere else, exact sums become what people and programs read.
// loss: the float32 nearest to the exact mean. Hits (top1, top5): their share of the rows in binary64. 0 of nothing.
double value_of(const Metric& metric);
// "97.2222 % right of 360 (top 5: 99.7222 %), loss 0.0894", or "nothing scored".
std::string text_of_metrics(std::span<const Metric> metrics);

}  // namespace isobit::train
