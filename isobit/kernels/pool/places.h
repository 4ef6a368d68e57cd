// Adding the gradients of windows at the places of their maxima.
#pragma once

#include <algorithm>
#include <cstdint>

#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels::pool {

struct PlaneSizes {
  int64_t planes = 0, windows = 0, places = 0;  // windows and places: of one plane
};

// diff_src = +0, plus diff_dst of every window whose index is this place, one add each in ascending order of all
// windows. place_of(index): the place in row-major order of an index that is not -1. Planes are added up at the same
// time where no window has its maximum in another plane.
template <class T, class PlaceOf>
void add_at_places(const KernelContext& ctx, const PlaneSizes& s, const T* diff_dst, const int64_t* indices,
                   T* diff_src, PlaceOf place_of) {
  const auto add = [&](int64_t first, int64_t last) {
    std::fill(diff_src + first * s.places, diff_src + last * s.places, T(0));
    for (int64_t o = first * s.windows; o < last * s.windows; ++o) {
      if (indices[o] < 0) continue;
      T& d = diff_src[place_of(indices[o])];
      d = numerics::canonical(d + diff_dst[o]);
    }
  };
  bool own = true;
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    const int64_t *of_plane = indices + plane * s.windows, first = plane * s.places;
    for (int64_t o = 0; o < s.windows; ++o) {
      own &= (of_plane[o] < 0) | ((of_plane[o] >= first) & (of_plane[o] - first < s.places));
    }
  }
  if (!own) return add(0, s.planes);
  parallel_items(ctx, s.planes, s.windows + s.places, add);
}

}  // namespace isobit::kernels::pool
