// Windows over images of any rank, for kernels that walk them tap by tap.
#pragma once

#include <algorithm>
#include <cstdint>

#include "isobit/base/scratch.h"

namespace isobit::kernels {

// One axis: windows o = 0 .. out - 1 with taps at o * stride - pad + i * dilation, 0 <= i < size, of which those in
// [0, in) are inside the image, and those before 0 or in [in, in + pad_end) on its padding. REQUIRES size, stride,
// dilation >= 1; in, out, pad, pad_end >= 0.
struct SlidingAxis {
  int64_t in = 1, out = 1;
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t pad = 0, pad_end = 0;

  int64_t at(int64_t o, int64_t i) const { return o * stride - pad + i * dilation; }

  struct Range {
    int64_t begin = 0, end = 0;

    int64_t length() const { return end - begin; }
  };
  // The windows whose tap i is inside.
  Range windows_of(int64_t i) const { return those_inside(at(0, i), stride, in, out); }
  // The taps of window o that are inside.
  Range taps_of(int64_t o) const { return those_inside(at(o, 0), dilation, in, size); }
  // How many taps of window o are inside or on padding.
  int64_t padded_taps_of(int64_t o) const {
    const int64_t room = in + pad_end - at(o, 0);
    return room <= 0 ? 0 : std::min(size, (room - 1) / dilation + 1);
  }

 private:
  // The q in [0, count) with 0 <= first + q * step < places.
  static Range those_inside(int64_t first, int64_t step, int64_t places, int64_t count) {
    const int64_t begin = std::min(first >= 0 ? 0 : (step - 1 - first) / step, count);
    const int64_t end = first >= places ? 0 : (places - 1 - first) / step + 1;
    return {begin, std::clamp(end, begin, count)};
  }
};

// The next of all indices below the extents, in row-major order; false behind the last one, when all are 0 again.
// extent(a): of axis a.
template <class Extent>
bool next_index(ScratchVector<int64_t>& index, Extent extent) {
  for (size_t a = index.size(); a-- > 0;) {
    if (++index[a] < extent(a)) return true;
    index[a] = 0;
  }
  return false;
}

// Of the extents of `rank` axes.
template <class Extent>
int64_t extents_product(size_t rank, Extent extent) {
  int64_t product = 1;
  for (size_t a = 0; a < rank; ++a) product *= extent(a);
  return product;
}

}  // namespace isobit::kernels
