#include "isobit/runtime/stages/log_counts.h"

#include <cmath>

#include "isobit/base/text.h"

namespace isobit::runtime {

double most_expected_corrections(const LogCounts& counts) {
  const double mean = static_cast<double>(counts.entries) / 4;
  return mean + 6 * std::sqrt(mean) + 12;
}

Status check_one_output(const KernelCall& call, const std::vector<ProductBlock>& blocks, double d, uint64_t draw) {
  if (blocks.empty()) return {};
  const ProductBlock& b = blocks[draw % blocks.size()];
  if (b.m == 0 || b.n == 0) return {};
  const auto i = static_cast<int64_t>((draw >> 8) % static_cast<uint64_t>(b.m));
  const auto j = static_cast<int64_t>((draw >> 32) % static_cast<uint64_t>(b.n));
  const double x = b.out[b.at(i, j)], magnitude = magnitude_of(b, i, j);
  const ExactValue z = evaluate_exactly(b, i, j);
  const double distance = std::fabs((x - z.high) - z.low);
  if (!(distance > exact_width(d) * magnitude)) return {};
  return unavailable(text_of("this platform is beyond the job's error bound: ", call.node.name, " (", call.node.op,
                             "), row ", i, ", column ", j, ": off the exact value by ", distance / magnitude / kUnit,
                             " x 2^-53 of its magnitude, allowed ", d / 2 + 1,
                             "; calibrate the job's [rounding] divergences with "
                             "`isobit thresholds`, or take another platform"));
}

}  // namespace isobit::runtime
