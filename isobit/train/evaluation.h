// What an evaluation comes to: for every sample, exact sums of its metrics. Sums of parts add up to the sum of the
// whole, so a dispute can descend from the total to one sample. Plain values: verify/ commits to them.
#pragma once

#include <cstdint>
#include <optional>
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

// Which metrics there are, and what each counts: metrics.h.
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
// Hits (is_share): their share in binary64. Everything else: the float32 nearest to the exact mean. 0 of nothing.
double value_of(const Metric& metric);
// Of token predictions: e to the power of the mean loss, correctly rounded to float32 from the float32 mean. None where
// the metrics are not those of cross-entropy, or no sample has several rows.
std::optional<double> perplexity_of(uint64_t samples, std::span<const Metric> metrics);
// "97.50 % right of 360 (top 5: 99.72 %)", for tokens with ", perplexity 12.3" behind it; "loss 0.1, mae 0.2, mse
// 0.06"; "accuracy 97.50 %, loss 0.1"; or "nothing scored".
std::string text_of_metrics(uint64_t samples, std::span<const Metric> metrics);

}  // namespace isobit::train
