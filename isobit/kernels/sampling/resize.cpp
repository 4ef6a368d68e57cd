#include "isobit/kernels/sampling/resize.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "isobit/kernels/sampling/near_places.h"

namespace isobit::kernels {
namespace {

// The filters of antialias.
double linear_filter(double t) { return std::max(0.0, 1 - std::fabs(t)); }
double cubic_filter(double a, double t) {
  t = std::fabs(t);
  const double t2 = t * t, t3 = t * t2;
  if (t <= 1) return (a + 2) * t3 - (a + 3) * t2 + 1;
  return t < 2 ? a * t3 - 5 * a * t2 + 8 * a * t - 4 * a : 0;
}

class Resizing {
 public:
  Resizing(const ResizeAxis& axis, const ResizeRule& rule)
      : axis_(axis), rule_(rule), in_(static_cast<double>(axis.in)), taps_(axis.in) {}

  AxisTaps run() && {
    for (int64_t o = 0; o < axis_.out; ++o) {
      const double x = coordinate(static_cast<double>(o));
      if (rule_.coordinates != Coordinates::kCropAndResize || (x >= 0 && x <= in_ - 1)) add_taps(x);
      taps_.end_place();
    }
    return std::move(taps_);
  }

 private:
  double coordinate(double o) const {
    const double length = axis_.length, scale = axis_.scale;
    switch (rule_.coordinates) {
      case Coordinates::kHalfPixel:
        return (o + 0.5) / scale - 0.5;
      case Coordinates::kHalfPixelSymmetric:
        return in_ / 2 * (1 - static_cast<double>(axis_.out) / length) + (o + 0.5) / scale - 0.5;
      case Coordinates::kPytorchHalfPixel:
        return length > 1 ? (o + 0.5) / scale - 0.5 : 0;
      case Coordinates::kAlignCorners:
        return length == 1 ? 0 : o * (in_ - 1) / (length - 1);
      case Coordinates::kAsymmetric:
        return o / scale;
      case Coordinates::kCropAndResize: {
        const double part = axis_.end - axis_.begin;
        const double within = length == 1 ? part * (in_ - 1) / 2 : o * part * (in_ - 1) / (length - 1);
        return within + axis_.begin * (in_ - 1);
      }
    }
    return 0;
  }

  void add_taps(double x) {
    const double f = std::floor(x), r = x - f;
    weights_.clear();
    if (rule_.mode == Interpolation::kNearest) {
      first_ = f + (takes_next(r) ? 1 : 0);
      weights_.push_back(1);
    } else if (rule_.antialias) {
      antialiased(f, r);
    } else if (rule_.mode == Interpolation::kLinear) {
      first_ = f;
      weights_.assign({1 - r, r});
    } else {
      const CubicWeights weights = cubic_weights(rule_.cubic_a, r);
      first_ = f - 1;
      weights_.assign(weights.of, weights.of + 4);
    }
    if (rule_.mode != Interpolation::kNearest) normalise();
    bool any = false;
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0) continue;
      taps_.add(inside(first_ + static_cast<double>(i)), weights_[i]);
      any = true;
    }
    if (!any) taps_.add(inside(f), 1);
  }

  bool takes_next(double r) const {
    if (r == 0) return false;
    switch (rule_.nearest) {
      case Nearest::kRoundPreferFloor:
        return r > 0.5;
      case Nearest::kRoundPreferCeil:
        return r >= 0.5;
      case Nearest::kFloor:
        return false;
      case Nearest::kCeil:
        return true;
    }
    return false;
  }

  void antialiased(double f, double r) {
    const bool linear = rule_.mode == Interpolation::kLinear;
    const double s = std::min(axis_.scale, 1.0), last = -std::floor((linear ? -1 : -2) / s);
    first_ = f + (1 - last);
    for (double i = 1 - last; i <= last; ++i) {
      const double t = (i - r) * s;
      weights_.push_back(linear ? linear_filter(t) : cubic_filter(rule_.cubic_a, t));
    }
  }

  void normalise() {
    if (!rule_.antialias && !rule_.exclude_outside) return;
    double sum = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const double place = first_ + static_cast<double>(i);
      if (rule_.exclude_outside && (place < 0 || place > in_ - 1)) weights_[i] = 0;
      sum += weights_[i];
    }
    for (double& w : weights_) w = sum == 0 ? 0 : w / sum;
  }

  // Compared as real numbers, since a place may be beyond every integer.
  int64_t inside(double place) const { return static_cast<int64_t>(std::clamp(place, 0.0, in_ - 1)); }

  const ResizeAxis& axis_;
  const ResizeRule& rule_;
  double in_;
  AxisTaps taps_;
  double first_ = 0;  // the place that the first weight belongs to
  std::vector<double> weights_;
};

}  // namespace

AxisTaps resize_taps(const ResizeAxis& axis, const ResizeRule& rule) {
  if (axis.in == axis.out && axis.scale == 1 && rule.coordinates != Coordinates::kCropAndResize) {
    return AxisTaps::identity(axis.in);
  }
  return Resizing(axis, rule).run();
}

}  // namespace isobit::kernels
