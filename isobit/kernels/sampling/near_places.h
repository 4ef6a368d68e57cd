// The places around one real coordinate of an image, with weights: what sampling at single points is made of.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/sampling/resize.h"
#include "isobit/kernels/sampling/taps.h"

namespace isobit::kernels {

// What lies outside of an image: zeros, the nearest place at the border, or the image mirrored there again and again.
enum class Padding { kZeros, kBorder, kReflection };

struct PointRule {
  Interpolation mode = Interpolation::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;  // the image ends at the centres of its outermost places, else half a place beyond them
};

// Of an axis of `extent` places. Everything is computed in float64, each operation rounded, in this order:
//
//   kNearest: x is rounded to the nearest integer, ties to even.
//   lo, hi = 0, extent - 1 with align_corners, else -0.5, extent - 0.5. Where x < lo or x > hi, kBorder puts it at the
//   nearer of 0 and extent - 1, and kReflection at mirrored(x): with range = hi - lo, d = lo - x or x - hi, n = floor(d
//   / range), e = d - n * range, that is lo + e or hi - e, whichever leads back from the border that x is beyond; the
//   other one where n is odd. (range = 0: lo.) f = floor(x), r = x - f. kNearest takes f with weight 1; kLinear f with
//   1 - r, f + 1 with r; kCubic f - 1 .. f + 2 with the weights of resize.h for a = -0.75. A place outside [0, extent)
//   is left out (kZeros), the nearest one inside (kBorder), or floor(mirrored(place)), the nearest one inside of that
//   (kReflection).
//
// The slope of a tap is what its weight changes by where x does, the tap staying where it is: 0 of kNearest; -1, 1 of
// kLinear; of kCubic, with w1(t) = (3a t - 10a) t + 8a and w0(t) = (3 (a + 2) t - 2 (a + 3)) t, w1(r + 1), w0(r),
// -w0(1 - r), -w1((1 - r) + 1). It is multiplied by 0 where kBorder has put x at a place, and by -1 where kReflection
// has turned the axis round.
//
// REQUIRES extent >= 1.
class NearPlaces {
 public:
  NearPlaces(double x, int64_t extent, const PointRule& rule, bool with_slopes = false);

  // False where x is not a number, or infinite: then there are no taps.
  bool is_finite() const { return finite_; }
  std::span<const WeightedPlace> taps() const { return {taps_, static_cast<size_t>(count_)}; }
  // By tap. REQUIRES with_slopes.
  std::span<const double> slopes() const { return {slopes_, static_cast<size_t>(count_)}; }

 private:
  void add(double place, double weight, double slope, int64_t extent, const PointRule& rule);

  bool finite_ = true;
  int count_ = 0;
  WeightedPlace taps_[4];
  double slopes_[4] = {};
};

// The weights of kCubic in resize.h, of f - 1 .. f + 2, and their slopes.
struct CubicWeights {
  double of[4];
};
CubicWeights cubic_weights(double a, double r);
CubicWeights cubic_slopes(double a, double r);

// +0, plus weight * (the same over the axes behind) of the taps of the first axis, each product and each sum rounded;
// of no axis, the element itself. `places`: one for each axis of the plane, `extents` the plane's; plane[i]: its
// element i, asked for once for each combination of taps, row-major.
template <class Plane>
double value_at(std::span<const NearPlaces> places, const int64_t* extents, const Plane& plane, int64_t line = 0) {
  if (places.empty()) return static_cast<double>(plane[line]);
  double v = 0;
  for (const WeightedPlace& tap : places[0].taps()) {
    v += tap.weight * value_at(places.subspan(1), extents + 1, plane, line * extents[0] + tap.place);
  }
  return v;
}

// As value_at, with the slopes of axis `axis` in place of its weights. REQUIRES axis < places.size().
template <class Plane>
double slope_at(std::span<const NearPlaces> places, size_t axis, const int64_t* extents, const Plane& plane,
                int64_t line = 0) {
  const std::span<const WeightedPlace> taps = places[0].taps();
  double v = 0;
  for (size_t i = 0; i < taps.size(); ++i) {
    const int64_t next = line * extents[0] + taps[i].place;
    v += axis == 0 ? places[0].slopes()[i] * value_at(places.subspan(1), extents + 1, plane, next)
                   : taps[i].weight * slope_at(places.subspan(1), axis - 1, extents + 1, plane, next);
  }
  return v;
}

// f(place in the plane, weight) of every combination of one tap of each axis, row-major; the weight is the product of
// theirs, multiplied from the first axis to the last.
template <class F>
void for_each_place(std::span<const NearPlaces> places, const int64_t* extents, F&& f, int64_t line = 0,
                    double weight = 1) {
  if (places.empty()) return f(line, weight);
  for (const WeightedPlace& tap : places[0].taps()) {
    for_each_place(places.subspan(1), extents + 1, f, line * extents[0] + tap.place, weight * tap.weight);
  }
}

}  // namespace isobit::kernels
