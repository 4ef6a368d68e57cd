#include "isobit/log/counts.h"

#include <cmath>

namespace isobit::log {

double most_expected_moves(const Counts& counts) {
  const double mean = static_cast<double>(counts.entries) / 8;
  return mean + 6 * std::sqrt(mean) + 12;
}

}  // namespace isobit::log
