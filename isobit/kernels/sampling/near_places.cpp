#include "isobit/kernels/sampling/near_places.h"

#include <algorithm>
#include <cmath>

#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

// x beyond lo or hi, mirrored at them until it lies between, and in which direction it goes there when x grows: 1, -1,
// or 0 where it stands still.
struct Mirrored {
  double x, direction;
};
Mirrored mirrored(double x, double lo, double hi) {
  if (x >= lo && x <= hi) return {x, 1};
  const double range = hi - lo;
  if (range <= 0) return {lo, 0};
  const bool below = x < lo;
  const double d = below ? lo - x : x - hi, n = std::floor(d / range), e = d - n * range;
  const bool odd = n - 2 * std::floor(n / 2) != 0;
  const bool from_lo = below != odd;
  return {from_lo ? lo + e : hi - e, from_lo == below ? -1.0 : 1.0};
}

// The nearest integer, ties to even.
double rounded(double x) {
  const double f = std::floor(x), r = x - f;
  if (r != 0.5) return r < 0.5 ? f : f + 1;
  return f - 2 * std::floor(f / 2) == 0 ? f : f + 1;
}

struct Borders {
  double lo, hi;
};

Borders borders_of(int64_t extent, const PointRule& rule) {
  const auto d = static_cast<double>(extent);
  return rule.align_corners ? Borders{0, d - 1} : Borders{-0.5, d - 0.5};
}

double cubic_far(double a, double r) { return ((a * (r + 1) - 5 * a) * (r + 1) + 8 * a) * (r + 1) - 4 * a; }
double cubic_near(double a, double r) { return ((a + 2) * r - (a + 3)) * r * r + 1; }
double cubic_far_slope(double a, double r) { return (3 * a * (r + 1) - 10 * a) * (r + 1) + 8 * a; }
double cubic_near_slope(double a, double r) { return (3 * (a + 2) * r - 2 * (a + 3)) * r; }

}  // namespace

CubicWeights cubic_weights(double a, double r) {
  return {{cubic_far(a, r), cubic_near(a, r), cubic_near(a, 1 - r), cubic_far(a, 1 - r)}};
}

CubicWeights cubic_slopes(double a, double r) {
  return {{cubic_far_slope(a, r), cubic_near_slope(a, r), -cubic_near_slope(a, 1 - r), -cubic_far_slope(a, 1 - r)}};
}

NearPlaces::NearPlaces(double x, int64_t extent, const PointRule& rule, bool with_slopes)
    : finite_(numerics::is_finite(x)) {
  if (!finite_) return;
  double direction = 1;
  if (rule.mode == Interpolation::kNearest) x = rounded(x);
  const auto [lo, hi] = borders_of(extent, rule);
  if (x < lo || x > hi) {
    if (rule.padding == Padding::kBorder) {
      x = std::clamp(x, 0.0, static_cast<double>(extent - 1));
      direction = 0;
    }
    if (rule.padding == Padding::kReflection) {
      const Mirrored inside = mirrored(x, lo, hi);
      x = inside.x;
      direction = inside.direction;
    }
  }
  const double f = std::floor(x), r = x - f;
  switch (rule.mode) {
    case Interpolation::kNearest:
      add(f, 1, 0, extent, rule);
      break;
    case Interpolation::kLinear:
      add(f, 1 - r, -direction, extent, rule);
      add(f + 1, r, direction, extent, rule);
      break;
    case Interpolation::kCubic: {
      const CubicWeights weights = cubic_weights(-0.75, r);
      const CubicWeights slopes = with_slopes ? cubic_slopes(-0.75, r) : CubicWeights{};
      for (int i = 0; i < 4; ++i) add(f - 1 + i, weights.of[i], direction * slopes.of[i], extent, rule);
    }
  }
}

void NearPlaces::add(double place, double weight, double slope, int64_t extent, const PointRule& rule) {
  const double last = static_cast<double>(extent - 1);
  // Asked so that what is no number is outside: far from the image a mirrored place may be a difference of infinities.
  if (!(place >= 0 && place <= last)) {
    if (rule.padding == Padding::kZeros) return;
    if (rule.padding == Padding::kReflection) {
      const auto [lo, hi] = borders_of(extent, rule);
      place = std::floor(mirrored(place, lo, hi).x);
    }
    place = place > 0 ? std::min(place, last) : 0;
  }
  slopes_[count_] = slope;
  taps_[count_++] = {static_cast<int64_t>(place), weight};
}

}  // namespace isobit::kernels
