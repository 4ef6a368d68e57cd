#include "isobit/train/evaluation.h"

#include <algorithm>
#include <cstdio>

#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/numerics/functions.h"
#include "isobit/train/metrics.h"

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
  if (is_share(metric.name)) {
    if (const auto hits = sum.whole()) return static_cast<double>(*hits) / static_cast<double>(count);
  }
  return static_cast<double>(sum.quotient(count));
}

std::optional<double> perplexity_of(uint64_t samples, std::span<const Metric> metrics) {
  const Metric *loss = find_metric(metrics, "loss"), *top1 = find_metric(metrics, "top1");
  if (loss == nullptr || top1 == nullptr || loss->total.count <= samples) return std::nullopt;
  return static_cast<double>(numerics::cr_exp(static_cast<float>(value_of(*loss))));
}

namespace {

std::string percent(const Metric& metric) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", 100 * value_of(metric));
  return text;
}

}  // namespace

std::string text_of_metrics(uint64_t samples, std::span<const Metric> metrics) {
  const Metric *top1 = find_metric(metrics, "top1"), *top5 = find_metric(metrics, "top5");
  if (metrics.empty() || metrics.front().total.count == 0) return "nothing scored";
  if (top1 != nullptr && top5 != nullptr) {
    std::string text = text_of(percent(*top1), " right of ", top1->total.count, " (top 5: ", percent(*top5), ")");
    const auto perplexity = perplexity_of(samples, metrics);
    return perplexity ? text_of(text, ", perplexity ", static_cast<float>(*perplexity)) : text;
  }
  std::string out;
  for (const Metric& m : metrics) {
    const std::string value = is_share(m.name) ? percent(m) : text_of(static_cast<float>(value_of(m)));
    out += text_of(out.empty() ? "" : ", ", m.name, " ", value);
  }
  return out;
}

}  // namespace isobit::train
