// What sampling makes of an axis: for each place of the result, the places of the source that it is made of. There may
// be many more bytes of them than of source and result.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/base/scratch.h"

namespace isobit::kernels {

struct WeightedPlace {
  int64_t place = 0;
  double weight = 1;
};

class AxisTaps {
 public:
  // Of `in` places of the source; the taps of the result's places are added one place after another.
  explicit AxisTaps(int64_t in) : in_(in) {}
  // Every place is itself, with weight 1.
  static AxisTaps identity(int64_t n);

  // A tap of the place that is made. REQUIRES 0 <= place < in().
  void add(int64_t place, double weight) { taps_.push_back({place, weight}); }
  // That was the last one. A place without taps lies outside of the source.
  void end_place() { ends_.push_back(static_cast<int64_t>(taps_.size())); }

  bool is_identity() const { return identity_; }
  int64_t in() const { return in_; }
  int64_t out() const { return identity_ ? in_ : static_cast<int64_t>(ends_.size()); }
  // Of place o. REQUIRES !is_identity().
  std::span<const WeightedPlace> of(int64_t o) const {
    const int64_t begin = o == 0 ? 0 : ends_[static_cast<size_t>(o - 1)], end = ends_[static_cast<size_t>(o)];
    return {taps_.data() + begin, static_cast<size_t>(end - begin)};
  }

 private:
  bool identity_ = false;
  int64_t in_;
  ScratchVector<int64_t> ends_;
  ScratchVector<WeightedPlace> taps_;
};

// The adjoint: place p of the result has a tap at o, of the same weight, for every tap of o at p, in ascending order of
// o, and of the taps of one o.
AxisTaps transposed(const AxisTaps& taps);

}  // namespace isobit::kernels
