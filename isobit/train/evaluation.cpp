#include "isobit/train/evaluation.h"

#include <algorithm>
#include <cstdio>

#include "isobit/base/status.h"
#include "isobit/base/text.h"

namespace isobit::train {

std::vector<Metric> SampleScores::totals() const {
  std::vector<Metric> out;
  for (const std::string& name : metrics) out.push_back({name, {}});
  for (size_t i = 0; i < sums.size(); ++i) {
    MetricSum& total = out[i % out.size()].total;
    ISOBIT_CHECK(total.sum.add(sums[i].sum));  // of float32 values, so there is room
    total.count += sums[i].count;
  }
  return out;
}

const Metric* find_metric(std::span<const Metric> metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? nullptr : &*found;
}

double value_of(const Metric& metric) {
  const auto& [sum, count] = metric.total;
  if (count == 0) return 0;
  if (metric.name.starts_with("top")) {
    if (const auto hits = sum.whole()) return static_cast<double>(*hits) / static_cast<double>(count);
  }
  return static_cast<double>(sum.quotient(count));
}

std::string text_of_metrics(std::span<const Metric> metrics) {
  const Metric *top1 = find_metric(metrics, "top1"), *top5 = find_metric(metrics, "top5");
  if (metrics.empty() || metrics.front().total.count == 0) return "nothing scored";
  if (top1 != nullptr && top5 != nullptr) {
    char text[96];
    std::snprintf(text, sizeof text, "%.2f %% right of %llu (top 5: %.2f %%)", 100 * value_of(*top1),
                  static_cast<unsigned long long>(top1->total.count), 100 * value_of(*top5));
    return text;
  }
  std::string out;
  for (const Metric& m : metrics) out += text_of(out.empty() ? "" : ", ", m.name, " ", static_cast<float>(value_of(m)));
  return out;
}

}  // namespace isobit::train
