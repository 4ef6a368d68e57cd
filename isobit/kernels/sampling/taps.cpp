#include "isobit/kernels/sampling/taps.h"

namespace isobit::kernels {

AxisTaps AxisTaps::identity(int64_t n) {
  AxisTaps taps(n);
  taps.identity_ = true;
  return taps;
}

AxisTaps transposed(const AxisTaps& taps) {
  if (taps.is_identity()) return taps;
  ScratchVector<int64_t> next(static_cast<size_t>(taps.in()) + 1, 0);  // where the taps of each place go
  for (int64_t o = 0; o < taps.out(); ++o) {
    for (const WeightedPlace& tap : taps.of(o)) ++next[static_cast<size_t>(tap.place) + 1];
  }
  for (size_t p = 1; p < next.size(); ++p) next[p] += next[p - 1];
  const ScratchVector<int64_t> begins = next;
  ScratchVector<WeightedPlace> sorted(static_cast<size_t>(begins.back()));
  for (int64_t o = 0; o < taps.out(); ++o) {
    for (const WeightedPlace& tap : taps.of(o)) {
      sorted[static_cast<size_t>(next[static_cast<size_t>(tap.place)]++)] = {o, tap.weight};
    }
  }
  AxisTaps out(taps.out());
  for (size_t p = 0; p + 1 < begins.size(); ++p) {
    for (int64_t i = begins[p]; i < begins[p + 1]; ++i) {
      out.add(sorted[static_cast<size_t>(i)].place, sorted[static_cast<size_t>(i)].weight);
    }
    out.end_place();
  }
  return out;
}

}  // namespace isobit::kernels
