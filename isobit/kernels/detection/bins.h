// How an axis of a region is cut into bins, and which places of the image belong to each: the arithmetic of regions.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "isobit/kernels/detection/regions.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {

// One axis of a region, cut into bins, of RoiAlign.
struct Bins {
  double start = 0, bin = 0;
  int64_t samples = 0, places = 0;

  Bins(double begin, double end, int64_t pooled, int64_t places_, const AlignRule& rule) : places(places_) {
    const double half = rule.half_pixel ? 0.5 : 0;
    start = begin * rule.spatial_scale - half;
    double extent = (end * rule.spatial_scale - half) - start;
    if (!rule.half_pixel) extent = std::max(extent, 1.0);
    bin = extent / static_cast<double>(pooled);
    if (!is_finite()) return;
    samples =
        rule.sampling_ratio > 0 ? rule.sampling_ratio : static_cast<int64_t>(std::clamp(std::ceil(bin), 0.0, 1024.0));
  }
  bool is_finite() const { return numerics::is_finite(start) && numerics::is_finite(bin); }

  // The two places around a sample, and how far it is from the first.
  struct Sample {
    int64_t low, high;
    double l;
    bool outside;
  };
  Sample sample(int64_t p, int64_t i) const {
    double x =
        (start + static_cast<double>(p) * bin) + (static_cast<double>(i) + 0.5) * bin / static_cast<double>(samples);
    if (!(x >= -1 && x <= static_cast<double>(places))) return {0, 0, 0, true};
    x = std::max(x, 0.0);
    const double low = std::floor(x);
    if (low >= static_cast<double>(places - 1)) return {places - 1, places - 1, 0, false};
    return {static_cast<int64_t>(low), static_cast<int64_t>(low) + 1, x - low, false};
  }
};

// The nearest integer, halves away from 0.
inline int64_t nearest_place(double x) {
  constexpr double kMost = 0x1p40;
  x = std::clamp(x, -kMost, kMost);
  return static_cast<int64_t>(x < 0 ? -std::floor(0.5 - x) : std::floor(x + 0.5));
}

// The places of one axis of a region, cut into bins, of MaxRoiPool.
struct Cells {
  int64_t begin = 0, size = 1, pooled = 1, places = 0;
  bool finite = true;

  Cells(double first, double last, int64_t pooled_, int64_t places_)
      : pooled(pooled_), places(places_), finite(numerics::is_finite(first) && numerics::is_finite(last)) {
    if (!finite) return;
    begin = nearest_place(first);
    size = std::max<int64_t>(nearest_place(last) - begin + 1, 1);
  }
  int64_t first_of(int64_t p) const { return std::clamp<int64_t>(begin + p * size / pooled, 0, places); }
  int64_t end_of(int64_t p) const {
    return std::clamp<int64_t>(begin + ((p + 1) * size + pooled - 1) / pooled, 0, places);
  }
};

// A region of one of n images, cut into bins.
template <class T>
struct PooledRegion {
  Cells rows, columns;
  int64_t image = -1;  // -1: of none

  PooledRegion(const RegionShape& s, int64_t n, double scale, const T* roi)
      : rows(place(roi, 2, scale), place(roi, 4, scale), s.pooled_h, s.h),
        columns(place(roi, 1, scale), place(roi, 3, scale), s.pooled_w, s.w) {
    // Compared as real numbers: what is no number is of no image.
    const auto number = static_cast<double>(roi[0]);
    if (number >= 0 && number < static_cast<double>(n) && rows.finite && columns.finite) {
      image = static_cast<int64_t>(number);
    }
  }
  static double place(const T* roi, int64_t i, double scale) { return static_cast<double>(roi[i]) * scale; }
};

}  // namespace isobit::kernels
