#include "isobit/numerics/turns.h"

namespace isobit::numerics {
namespace {

constexpr double kQuarterPi = 0x1.921fb54442d18p-1;

// Taylor's series on [0, pi / 4]: the first term left out is below 2^-60 of the result.
double sin_small(double x) {
  const double q = x * x;
  double sum = 1.0 / 355687428096000.0;  // 1 / 17!
  sum = sum * q - 1.0 / 1307674368000.0;
  sum = sum * q + 1.0 / 6227020800.0;
  sum = sum * q - 1.0 / 39916800.0;
  sum = sum * q + 1.0 / 362880.0;
  sum = sum * q - 1.0 / 5040.0;
  sum = sum * q + 1.0 / 120.0;
  sum = sum * q - 1.0 / 6.0;
  return x + x * q * sum;
}

double cos_small(double x) {
  const double q = x * x;
  double sum = 1.0 / 20922789888000.0;  // 1 / 16!
  sum = sum * q - 1.0 / 87178291200.0;
  sum = sum * q + 1.0 / 479001600.0;
  sum = sum * q - 1.0 / 3628800.0;
  sum = sum * q + 1.0 / 40320.0;
  sum = sum * q - 1.0 / 720.0;
  sum = sum * q + 1.0 / 24.0;
  return 1.0 - (0.5 * q - q * q * sum);
}

}  // namespace

SinCos sin_cos_of_turn(int64_t j, int64_t n) {
  j %= n;
  if (j < 0) j += n;
  // Octant and the rest in it, both exact: j < n <= 2^59.
  const int64_t octant = 8 * j / n, rest = 8 * j - octant * n;
  const int64_t away = octant % 2 == 0 ? rest : n - rest;  // from the nearest multiple of a quarter turn
  const double x = kQuarterPi * (static_cast<double>(away) / static_cast<double>(n));
  const double s = sin_small(x), c = away == n ? s : cos_small(x);  // equal at 45 degrees, seen from either side
  switch (octant) {                                                 // 0 - s, so that no zero is negative
    case 0:
      return {s, c};
    case 1:
      return {c, s};
    case 2:
      return {c, 0 - s};
    case 3:
      return {s, 0 - c};
    case 4:
      return {0 - s, 0 - c};
    case 5:
      return {0 - c, 0 - s};
    case 6:
      return {0 - c, s};
    default:
      return {0 - s, c};
  }
}

}  // namespace isobit::numerics
