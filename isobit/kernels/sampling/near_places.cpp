#include "isobit/kernels/sampling/near_places.h"

#include <algorithm>
#include <cmath>

#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

// x beyond lo or hi, mirrored at them until it lies between.
double mirrored(double x, double lo, double hi) {
  if (x >= lo && x <= hi) return x;
  const double range = hi - lo;
  if (range <= 0) return lo;
  const bool below = x < lo;
  const double d = below ? lo - x : x - hi, n = std::floor(d / range), e = d - n * range;
  const bool odd = n - 2 * std::floor(n / 2) != 0;
  return below != odd ? lo + e : hi - e;
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

}  // namespace

CubicWeights cubic_weights(double a, double r) {
  return {{cubic_far(a, r), cubic_near(a, r), cubic_near(a, 1 - r), cubic_far(a, 1 - r)}};
}

NearPlaces::NearPlaces(double x, int64_t extent, const PointRule& rule) : finite_(numerics::is_finite(x)) {
  if (!finite_) return;
  if (rule.mode == Interpolation::kNearest) x = rounded(x);
  const auto [lo, hi] = borders_of(extent, rule);
  if (x < lo || x > hi) {
    if (rule.padding == Padding::kBorder) x = std::clamp(x, 0.0, static_cast<double>(extent - 1));
    if (rule.padding == Padding::kReflection) x = mirrored(x, lo, hi);
  }
  const double f = std::floor(x), r = x - f;
  switch (rule.mode) {
    case Interpolation::kNearest:
      add(f, 1, extent, rule);
      break;
    case Interpolation::kLinear:
      add(f, 1 - r, extent, rule);
      add(f + 1, r, extent, rule);
      break;
    case Interpolation::kCubic: {
      const CubicWeights weights = cubic_weights(-0.75, r);
      for (int i = 0; i < 4; ++i) add(f - 1 + i, weights.of[i], extent, rule);
    }
  }
}

void NearPlaces::add(double place, double weight, int64_t extent, const PointRule& rule) {
  const double last = static_cast<double>(extent - 1);
  // Asked so that what is no number is outside: far from the image a mirrored place may be a difference of infinities.
  if (!(place >= 0 && place <= last)) {
    if (rule.padding == Padding::kZeros) return;
    if (rule.padding == Padding::kReflection) {
      const auto [lo, hi] = borders_of(extent, rule);
      place = std::floor(mirrored(place, lo, hi));
    }
    place = place > 0 ? std::min(place, last) : 0;
  }
  taps_[count_++] = {static_cast<int64_t>(place), weight};
}

}  // namespace isobit::kernels
