#include "isobit/runtime/stages/log_counts.h"

#include <cmath>

namespace isobit::runtime {

double most_expected_moves(const LogCounts& counts) {
  const double mean = static_cast<double>(counts.entries) / 8;
  return mean + 6 * std::sqrt(mean) + 12;
}

}  // namespace isobit::runtime
