#include "isobit/cli/evaluation_report.h"

namespace isobit::cli {

void add_evaluation(uint64_t samples, std::span<const train::Metric> metrics, const std::string& prefix,
                    nlohmann::ordered_json& document) {
  document[prefix + "samples"] = samples;
  document[prefix + "rows"] = metrics.empty() ? 0 : metrics.front().total.count;
  if (samples == 0) return;  // of nothing there is no mean
  for (const train::Metric& metric : metrics) document[prefix + metric.name] = train::value_of(metric);
  if (const auto perplexity = train::perplexity_of(samples, metrics)) document[prefix + "perplexity"] = *perplexity;
}

}  // namespace isobit::cli
