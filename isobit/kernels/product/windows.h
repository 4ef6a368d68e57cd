// The windows of a convolution, forward and backward, and which elements of an image lie under their taps.
//
// A window has taps (ky, kx); it is put on positions (y, x); in each channel of an image, a tap at a position meets one
// place of the channel's plane, or none (padding; in the gradient of src also a place between the strides). The matrix
// of a set of windows has a row for each (channel, ky, kx) and a column for each (image, y, x); its element is that of
// the plane at the place, or +0 where there is none. Nothing ever holds this matrix as a whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/product/layout.h"

namespace isobit::kernels::product {

// One direction of the windows. Tap t at position p meets place (p * step + origin + t * tap_step) / divisor, if that
// is a whole number in [0, places). REQUIRES step == 1 or divisor == 1.
struct WindowAxis {
  int64_t taps = 1, positions = 1, places = 1;
  int64_t step = 1, origin = 0, tap_step = 0, divisor = 1;

  // The place, or -1 for none.
  int64_t place(int64_t tap, int64_t position) const {
    int64_t at = position * step + origin + tap * tap_step;
    if (at < 0) return -1;
    if (divisor != 1) {
      if (at % divisor != 0) return -1;
      at /= divisor;
    }
    return at < places ? at : -1;
  }

  // The positions in [first, last) at which a tap meets a place: begin, begin + stride, ... < end; their places are
  // place, place + place_step, ... begin == end for none, else first <= begin.
  struct Hits {
    int64_t begin, end, stride, place, place_step;
  };
  Hits hits(int64_t tap, int64_t first, int64_t last) const {
    const int64_t at = origin + tap * tap_step;
    if (divisor == 1) {
      const int64_t reached = at >= 0 ? 0 : step == 1 ? -at : (-at + step - 1) / step;
      const int64_t beyond = at >= places ? 0 : step == 1 ? places - at : (places - 1 - at) / step + 1;
      const int64_t begin = std::max(first, reached), end = std::min(last, beyond);
      return {begin, std::max(begin, end), 1, begin * step + at, step};
    }
    const int64_t reached = std::max(first, -at), off = (reached + at) % divisor;
    const int64_t begin = off == 0 ? reached : reached + divisor - off;
    const int64_t end = std::min(last, places * divisor - at);
    return {begin, std::max(begin, end), divisor, (begin + at) / divisor, 1};
  }
};

struct Windows {
  WindowAxis rows, columns;
  int64_t images = 0, channels = 0;
  int64_t image_stride = 0;  // elements from one image to the next; channels are dense

  int64_t taps() const { return rows.taps * columns.taps; }
  int64_t positions() const { return rows.positions * columns.positions; }  // of one image
  int64_t plane() const { return rows.places * columns.places; }
};

// Of src, as the forward convolution and the gradient of weights see it; `channels` of one group.
Windows forward_windows(const ConvShape& shape);
// Of diff_dst, as the gradient of src sees it: positions are those of src, and a tap meets the output whose window puts
// that tap there.
Windows backward_windows(const ConvShape& shape);

// How many parts make up the positions: one where no divisor is greater than 1.
int64_t part_count(const Windows& windows);

// What becomes of a tap that meets no place on a whole part: it is left out of the part, or displaced out of the plane.
enum class Missing { kSkipped, kDisplaced };

// A part of the positions on which every tap is a displacement: each divisor-th one of either direction.
class WindowPart {
 public:
  // part: in [0, part_count).
  WindowPart(const Windows& windows, int64_t part, Missing missing);
  WindowPart(const WindowPart&) = delete;
  WindowPart& operator=(const WindowPart&) = delete;

  int64_t first_h, first_w;    // its first position
  int64_t stride_h, stride_w;  // from one of its positions to the next
  WindowGrid grid;             // whose taps this part owns

 private:
  static constexpr int64_t kFewTaps = 64;  // no memory is asked for up to here
  Tap few_[kFewTaps];
  std::vector<Tap> many_;
};

// Where windows leave the plane it is by an element or two as a rule: for those no call of memset.
template <class T>
void fill_border(T* begin, T* end) {
  if (end - begin > 2) {
    std::fill(begin, end, T{0});
    return;
  }
  if (begin < end) begin[0] = T{0};
  if (begin + 1 < end) begin[1] = T{0};
}

// Writes the elements of row `row` = (channel, ky, kx) of the matrix in columns [first, last) to out; copy(n, from, to)
// converts n neighbours.
template <class T, class Out, class Copy>
void read_row(const Windows& w, const T* data, int64_t row, int64_t first, int64_t last, Out* out, const Copy& copy) {
  if (first >= last) return;  // then there may be no data
  const int64_t kx = row % w.columns.taps, ky = row / w.columns.taps % w.rows.taps;
  const int64_t width = w.columns.positions, height = w.rows.positions;
  const WindowAxis::Hits whole = w.columns.hits(kx, 0, width);
  int64_t x = first % width, y = first / width % height;
  const T* plane = data + row / w.taps() * w.plane() + first / (width * height) * w.image_stride;
  while (first < last) {
    const int64_t count = std::min(last - first, width - x);
    const int64_t place = w.rows.place(ky, y);
    const WindowAxis::Hits hits = count == width ? whole : w.columns.hits(kx, x, x + count);
    Out* const end = out + count;
    if (place < 0 || hits.begin >= hits.end) {
      std::fill(out, end, Out{0});
    } else if (hits.stride == 1) {
      const T* from = plane + place * w.columns.places + hits.place;
      Out* const to = out + (hits.begin - x);
      const int64_t length = hits.end - hits.begin;
      fill_border(out, to);
      if (hits.place_step == 1) {
        copy(length, from, to);
      } else if (hits.place_step == 2) {  // the usual one, so that the compiler knows it
        for (int64_t q = 0; q < length; ++q) to[q] = static_cast<Out>(from[2 * q]);
      } else {
        for (int64_t q = 0; q < length; ++q) to[q] = static_cast<Out>(from[q * hits.place_step]);
      }
      fill_border(to + length, end);
    } else {
      std::fill(out, end, Out{0});
      const T* from = plane + place * w.columns.places + hits.place;
      for (int64_t p = hits.begin - x; p < hits.end - x; p += hits.stride) out[p] = static_cast<Out>(*from++);
    }
    first += count;
    out = end;
    x = 0;
    if (++y == height) {
      y = 0;
      plane += w.image_stride;
    }
  }
}

}  // namespace isobit::kernels::product
