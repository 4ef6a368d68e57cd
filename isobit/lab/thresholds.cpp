#include "isobit/lab/thresholds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/run/network.h"
#include "isobit/run/step_logs.h"
#include "isobit/train/step_graph.h"

namespace isobit::lab {
namespace {

using kernels::rounding::round_to_bits;

constexpr double kMostThreshold = 0.5;

// A distance in units of 2^-53 times the magnitude. Infinite where it is none or the magnitude is zero.
double in_units(double distance, double magnitude) {
  if (distance == 0) return 0;
  const double units = std::fabs(distance) / magnitude / kernels::rounding::kUnit;
  return std::isnan(units) ? std::numeric_limits<double>::infinity() : units;
}

double error_of(const CalibrationSample& s) { return in_units((s.value - s.exact.high) - s.exact.low, s.magnitude); }

// Every platform ran the same graphs in the same order, so equal places hold the same product.
bool of_one_product(const CalibrationRecord& a, const CalibrationRecord& b) {
  return a.pass == b.pass && a.node == b.node && a.k == b.k && a.outputs == b.outputs;
}

// Calls f(a, b) for elements of two ascending lists that have one position.
template <class List, class F>
void for_each_common(const List& a, const List& b, F f) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].position == b[j].position)
      f(a[i++], b[j++]);
    else if (a[i].position < b[j].position)
      ++i;
    else
      ++j;
  }
}

// The comparison of one operator's products, over all platforms.
class Comparison {
 public:
  Comparison(const runtime::RoundingRules& rules, size_t platforms) : rules_(rules) {
    figures_.errors.resize(platforms);
    for (size_t a = 0; a < platforms; ++a) {
      for (size_t b = a + 1; b < platforms; ++b) {
        figures_.pairs.emplace_back();
        figures_.pairs.back().first = a;
        figures_.pairs.back().second = b;
      }
    }
  }

  void platform(const std::string& op, size_t which, const CalibrationRecord& r) {
    const auto [allowed, bound] = rules_.bounds_of(op, r.k);
    for (const CalibrationSample& s : r.samples) {
      const double error = error_of(s);
      figures_.errors[which] = std::max(figures_.errors[which], error);
      figures_.beyond_job += error > allowed / 2 + 1 ? 1 : 0;
      figures_.beyond_bound += error > bound / 2 ? 1 : 0;
    }
    if (which > 0) return;
    OperatorFigures& f = figures_;
    if (f.outputs == 0) {
      f.op = graph::short_name(op);
      f.least_k = f.most_k = r.k;
      f.allowed = allowed;
    }
    f.least_k = std::min(f.least_k, r.k);
    f.most_k = std::max(f.most_k, r.k);
    f.allowed = std::min(f.allowed, allowed);
    f.outputs += r.outputs;
    f.samples += r.samples.size();
  }

  void pair(const std::string& op, size_t which, const CalibrationRecord& a, const CalibrationRecord& b) {
    PairFigures& p = figures_.pairs[which];
    const runtime::ErrorBounds bounds = rules_.bounds_of(op, a.k);
    for_each_common(a.samples, b.samples, [&](const CalibrationSample& x, const CalibrationSample& y) {
      const double divergence = in_units(x.value - y.value, x.magnitude);
      ++p.samples;
      if (divergence > p.divergence) {
        p.divergence = divergence;
        p.divergence_k = a.k;
      }
      figures_.bound_share = std::max(figures_.bound_share, divergence / bounds.sound);
      figures_.beyond_job += divergence > bounds.divergence ? 1 : 0;
      figures_.beyond_bound += divergence > bounds.sound ? 1 : 0;
    });
    for_each_common(a.ties, b.ties, [&](const CalibrationTie& x, const CalibrationTie& y) {
      if (round_to_bits(x.value, rules_.bits) == round_to_bits(y.value, rules_.bits)) return;
      ++p.straddles;
      for (double v : {x.value, y.value}) {
        const double distance =
            std::fabs(v - round_to_bits(v, rules_.bits)) / kernels::rounding::spacing(v, rules_.bits);
        p.least_distance = std::min(p.least_distance, distance);
      }
    });
  }

  OperatorFigures finish(double margin) {
    OperatorFigures& f = figures_;
    for (size_t q = 0; q < f.pairs.size(); ++q) {
      if (f.pairs[q].divergence > f.pairs[f.worst_pair].divergence) f.worst_pair = q;
      f.straddles += f.pairs[q].straddles;
      f.least_distance = std::min(f.least_distance, f.pairs[q].least_distance);
    }
    f.divergence = f.pairs[f.worst_pair].divergence;
    f.least_bound = runtime::sound_divergence(f.least_k);
    f.most_bound = runtime::sound_divergence(f.most_k);
    // d / 2 + 1 must cover each platform's own error, too (near_ties.h): with half the margin, because platforms share
    // most of their errors, and a log grows with d.
    double needed = margin * f.divergence;
    for (double e : f.errors) needed = std::max(needed, 2 * (std::max(margin / 2, 1.0) * e - 1));
    if (f.divergence > 0 && std::isfinite(needed)) f.proposed_divergence = std::ceil(needed * 100) / 100;
    if (f.straddles > 0) {
      f.threshold = largest_threshold(f.least_distance, rules_.bits);
      f.proposed_threshold =
          std::max(least_threshold(rules_.bits), kMostThreshold - margin * (kMostThreshold - f.threshold));
    }
    return f;
  }

 private:
  const runtime::RoundingRules& rules_;
  OperatorFigures figures_;
};

Status check_request(const ThresholdsRequest& r) {
  if (r.platforms.size() < 2) return usage_error("--platforms: one platform compares with nothing; name two or more");
  for (size_t a = 0; a < r.platforms.size(); ++a) {
    for (size_t b = a + 1; b < r.platforms.size(); ++b) {
      if (r.platforms[a].text() == r.platforms[b].text()) {
        return usage_error(text_of("--platforms: '", r.platforms[a].text(), "' is named twice"));
      }
    }
  }
  if (r.steps < 1 || r.steps > r.job.steps) {
    return usage_error(text_of("--steps ", r.steps, ": expected 1 to the ", r.job.steps, " steps of the job"));
  }
  if (r.samples < 1 || r.samples > (1 << 20)) {
    return usage_error(text_of("--samples ", r.samples, ": expected 1 to ", 1 << 20));
  }
  if (r.draws < 0 || r.draws > 10000) return usage_error(text_of("--draws ", r.draws, ": expected 0 to 10000"));
  if (!(r.margin >= 1 && r.margin <= 1e6)) return usage_error(text_of("--margin ", r.margin, ": expected 1 to 1e6"));
  return {};
}

}  // namespace

bool ThresholdsReport::beyond_job() const {
  return std::any_of(operators.begin(), operators.end(), [](const OperatorFigures& f) { return f.beyond_job > 0; });
}

bool ThresholdsReport::beyond_bound() const {
  return std::any_of(operators.begin(), operators.end(), [](const OperatorFigures& f) { return f.beyond_bound > 0; });
}

double least_threshold(int bits) { return std::ldexp(0.25, bits - 32); }

double largest_threshold(double least_distance, int bits) {
  double low = least_threshold(bits), high = kMostThreshold;
  while (high - low > 0x1p-32) {
    const double middle = (low + high) / 2;
    (least_distance > middle ? low : high) = middle;
  }
  return low;
}

ThresholdsReport compare_records(const ThresholdsRequest& request,
                                 const std::vector<std::vector<CalibrationRecord>>& records,
                                 const std::vector<std::string>& ops) {
  ThresholdsReport report;
  for (const platform::Platform& p : request.platforms) report.platforms.push_back(p.text());
  report.steps = request.steps;
  report.draws = request.draws;
  report.margin = request.margin;
  const runtime::RoundingRules rules = run::rounding_rules(request.job);
  report.bits = rules.bits;
  std::map<std::string, Comparison> comparisons;
  for (size_t n = 0; n < records[0].size(); ++n) {
    const std::string& op = ops[records[0][n].node];
    Comparison& c = comparisons.try_emplace(op, rules, records.size()).first->second;
    for (size_t a = 0, which = 0; a < records.size(); ++a) {
      ISOBIT_CHECK(of_one_product(records[0][n], records[a][n]));
      c.platform(op, a, records[a][n]);
      for (size_t b = a + 1; b < records.size(); ++b, ++which) {
        if (records[a][n].operands == records[b][n].operands) {
          c.pair(op, which, records[a][n], records[b][n]);
        } else {
          ++report.left_out;
        }
      }
    }
  }
  for (auto& [op, c] : comparisons) report.operators.push_back(c.finish(request.margin));
  std::sort(report.operators.begin(), report.operators.end(),
            [](const OperatorFigures& a, const OperatorFigures& b) { return a.op < b.op; });
  return report;
}

Expected<ThresholdsReport> measure_thresholds(const ThresholdsRequest& request) {
  ISOBIT_RETURN_IF_ERROR(check_request(request));
  ISOBIT_TRY(const std::shared_ptr<const data::Dataset> dataset, data::open_dataset(request.job.data));
  train::Job job = request.job;
  job.arithmetic = "logged-1";
  ISOBIT_TRY(const auto network, run::open_network(job, {}));
  ISOBIT_TRY(const train::StepGraph graph, train::build_step_graph(job, *dataset, *network));
  std::vector<std::string> ops;
  for (const graph::Node& node : graph.graph.nodes()) ops.push_back(node.op);
  std::vector<std::vector<CalibrationRecord>> records;
  for (const platform::Platform& p : request.platforms) {
    if (request.progress) request.progress(records.size());
    ISOBIT_TRY(auto of_one, record_in_child(request, dataset, p));
    ISOBIT_CHECK(records.empty() || of_one.size() == records[0].size());
    records.push_back(std::move(of_one));
  }
  return compare_records(request, records, ops);
}

std::string rounding_fragment(const ThresholdsReport& report, const std::vector<std::string>& remarks) {
  std::string text, divergences, thresholds;
  for (const std::string& line : remarks) text += line.empty() ? "#\n" : text_of("# ", line, "\n");
  for (const OperatorFigures& f : report.operators) {
    auto add = [&](std::string& to, double value) {
      if (value > 0) to += text_of(to.empty() ? "" : ", ", f.op, " = ", value);
    };
    add(divergences, f.proposed_divergence);
    add(thresholds, f.proposed_threshold);
  }
  text += "[rounding]\n";
  if (!divergences.empty()) text += text_of("divergences = { ", divergences, " }\n");
  if (!thresholds.empty()) text += text_of("thresholds = { ", thresholds, " }\n");
  return text;
}

}  // namespace isobit::lab
