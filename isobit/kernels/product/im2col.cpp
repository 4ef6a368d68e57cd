#include "isobit/kernels/product/im2col.h"

#include <algorithm>

#include "isobit/base/status.h"

namespace isobit::kernels::product {
namespace {

constexpr int64_t kWorthAThread = 1 << 14;  // elements

void check_forward(const Windows& w) { ISOBIT_CHECK(w.rows.divisor == 1 && w.columns.divisor == 1); }

int64_t grain_of(int64_t elements_of_one) { return 1 + kWorthAThread / std::max<int64_t>(1, elements_of_one); }

// One tap as a displacement: output (v, w) reads source row v * step_h + y and column w * step_w + x. [first, last) are
// the w whose column is inside the plane.
struct TapInside {
  int64_t y, x, first, last;

  TapInside(const Windows& w, const WindowGrid& grid, int64_t index) : y(grid.taps[index].y), x(grid.taps[index].x) {
    const WindowAxis::Hits hits = w.columns.hits(index % w.columns.taps, 0, grid.grid_w);
    last = std::min(hits.end, grid.grid_w);
    first = std::min(hits.begin, last);
  }
};

// Calls f(source row, w0, w1, place) for the pieces [w0, w1) of output rows that make up the positions [begin, end);
// `place` counts from begin.
template <class F>
void for_each_line(const WindowGrid& g, const TapInside& tap, int64_t begin, int64_t end, F f) {
  const int64_t ow = g.grid_w;
  int64_t v = begin / ow, w0 = begin - v * ow;
  for (int64_t at = begin; at < end; ++v, w0 = 0) {
    const int64_t w1 = std::min(ow, w0 + end - at);
    f(v * g.step_h + tap.y, w0, w1, at - begin);
    at += w1 - w0;
  }
}

// Where windows move by single elements and rows of dst are as long as those of src, the elements under a tap are one
// piece of the plane, but for the columns that fall on padding: short lines cost more than their elements.
struct Shift {
  bool possible;
  int64_t ow, size;

  explicit Shift(const WindowGrid& g)
      : possible(g.step_h == 1 && g.step_w == 1 && g.grid_w == g.plane_w), ow(g.grid_w), size(g.plane_h * g.plane_w) {}

  int64_t displacement(const TapInside& tap) const { return tap.y * ow + tap.x; }
  // Calls f(from, to): the positions in [begin, end) whose rows, and whose places in the plane, exist.
  template <class F>
  void inside(const TapInside& tap, int64_t begin, int64_t end, F f) const {
    const int64_t first = std::max({begin, -tap.y * ow, -displacement(tap)});
    const int64_t last = std::min({end, size - tap.y * ow, size - displacement(tap)});
    f(std::min(first, end), std::max(std::min(first, end), last));
  }
  // Sets the positions whose columns fall on padding to +0.
  template <class T>
  void clear_padding(const TapInside& tap, int64_t begin, int64_t end, T* line) const {
    if (tap.first == 0 && tap.last == ow) return;
    for (int64_t row = begin / ow * ow; row < end; row += ow) {
      for (int64_t p = std::max(row, begin); p < std::min(row + tap.first, end); ++p) line[p - begin] = 0;
      for (int64_t p = std::max(row + tap.last, begin); p < std::min(row + ow, end); ++p) line[p - begin] = 0;
    }
  }
};

template <class T>
void read_line(const WindowGrid& g, const TapInside& tap, const T* plane, int64_t row, int64_t w0, int64_t w1, T* to) {
  if (row < 0 || row >= g.plane_h) {
    std::fill(to, to + (w1 - w0), T{0});
    return;
  }
  const int64_t first = std::clamp(tap.first, w0, w1), last = std::clamp(tap.last, first, w1);
  std::fill(to, to + (first - w0), T{0});
  if (first < last) {
    const T* from = plane + row * g.plane_w + (first * g.step_w + tap.x);
    T* inside = to + (first - w0);
    if (g.step_w == 1) {
      std::copy_n(from, last - first, inside);
    } else if (g.step_w == 2) {  // the usual one, so that the compiler knows it
      for (int64_t i = 0; i < last - first; ++i) inside[i] = from[i * 2];
    } else {
      for (int64_t i = 0; i < last - first; ++i) inside[i] = from[i * g.step_w];
    }
  }
  std::fill(to + (last - w0), to + (w1 - w0), T{0});
}

template <class T>
void add_line(const WindowGrid& g, const TapInside& tap, const T* from, int64_t row, int64_t w0, int64_t w1, T* plane) {
  if (row < 0 || row >= g.plane_h) return;
  const int64_t first = std::clamp(tap.first, w0, w1), last = std::clamp(tap.last, first, w1);
  if (first == last) return;
  T* to = plane + row * g.plane_w + (first * g.step_w + tap.x);
  from += first - w0;
  if (g.step_w == 1) {
    for (int64_t i = 0; i < last - first; ++i) to[i] += from[i];
  } else if (g.step_w == 2) {
    for (int64_t i = 0; i < last - first; ++i) to[i * 2] += from[i];
  } else {
    for (int64_t i = 0; i < last - first; ++i) to[i * g.step_w] += from[i];
  }
}

// The row of the matrix for one tap and one image.
template <class T>
void read_tap(const WindowGrid& g, const Shift& shift, const TapInside& tap, const T* plane, int64_t begin, int64_t end,
              T* to) {
  if (!shift.possible) {
    for_each_line(g, tap, begin, end, [&](int64_t y, int64_t w0, int64_t w1, int64_t place) {
      read_line(g, tap, plane, y, w0, w1, to + place);
    });
    return;
  }
  shift.inside(tap, begin, end, [&](int64_t first, int64_t last) {
    std::fill(to, to + (first - begin), T{0});
    if (first < last) std::copy_n(plane + (first + shift.displacement(tap)), last - first, to + (first - begin));
    std::fill(to + (last - begin), to + (end - begin), T{0});
  });
  shift.clear_padding(tap, begin, end, to);
}

// The adjoint. Adding the +0 of padding changes no sum: one that starts at +0 is never -0.
template <class T>
void add_tap(const WindowGrid& g, const Shift& shift, const TapInside& tap, T* from, int64_t begin, int64_t end,
             T* plane) {
  if (!shift.possible) {
    for_each_line(g, tap, begin, end, [&](int64_t y, int64_t w0, int64_t w1, int64_t place) {
      add_line(g, tap, from + place, y, w0, w1, plane);
    });
    return;
  }
  shift.clear_padding(tap, begin, end, from);
  shift.inside(tap, begin, end, [&](int64_t first, int64_t last) {
    if (first == last) return;
    T* to = plane + (first + shift.displacement(tap));
    const T* line = from + (first - begin);
    for (int64_t i = 0; i < last - first; ++i) to[i] += line[i];
  });
}

// Calls f(channel, place in the matrix, offset in the tensor, length) for the pieces of planes in the block.
template <class F>
void for_each_piece(ThreadPool& pool, const Planes& shape, const ColumnBlock& block, F f) {
  const int64_t length = block.end - block.begin;
  pool.parallel_for(shape.count * block.images, grain_of(length), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t channel = at / block.images, image = at % block.images;
      f(channel, at * length, (block.image + image) * shape.image_stride + channel * shape.area + block.begin, length);
    }
  });
}

}  // namespace

std::vector<ColumnBlock> column_blocks(int64_t images, int64_t area, int64_t most) {
  std::vector<ColumnBlock> blocks;
  if (images == 0) return blocks;
  if (area <= most) {
    const int64_t count = (images + most / area - 1) / (most / area), step = (images + count - 1) / count;
    for (int64_t image = 0; image < images; image += step) {
      blocks.push_back({image, std::min(step, images - image), 0, area});
    }
    return blocks;
  }
  const int64_t parts = (area + most - 1) / most, step = (area + parts - 1) / parts;
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t begin = 0; begin < area; begin += step) {
      blocks.push_back({image, 1, begin, std::min(begin + step, area)});
    }
  }
  return blocks;
}

template <class T>
void im2col(ThreadPool& pool, const Windows& w, const ColumnBlock& block, const T* planes, T* matrix) {
  check_forward(w);
  const WindowPart part(w, 0, Missing::kDisplaced);
  const int64_t taps = w.taps(), length = block.end - block.begin;
  const Shift shift(part.grid);
  pool.parallel_for(w.channels * taps, grain_of(block.columns()), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const TapInside tap(w, part.grid, row % taps);
      T* to = matrix + row * block.columns();
      for (int64_t image = 0; image < block.images; ++image, to += length) {
        const T* plane = planes + (block.image + image) * w.image_stride + row / taps * w.plane();
        read_tap(part.grid, shift, tap, plane, block.begin, block.end, to);
      }
    }
  });
}

template <class T>
void col2im(ThreadPool& pool, const Windows& w, const ColumnBlock& block, T* matrix, T* planes) {
  check_forward(w);
  const WindowPart part(w, 0, Missing::kDisplaced);
  const int64_t taps = w.taps(), length = block.end - block.begin;
  const Shift shift(part.grid);
  pool.parallel_for(w.channels * block.images, grain_of(taps * length), [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t channel = at / block.images, image = at % block.images;
      T* plane = planes + (block.image + image) * w.image_stride + channel * w.plane();
      if (block.begin == 0) std::fill(plane, plane + w.plane(), T{0});
      for (int64_t t = 0; t < taps; ++t) {
        const TapInside tap(w, part.grid, t);
        T* from = matrix + (channel * taps + t) * block.columns() + image * length;
        add_tap(part.grid, shift, tap, from, block.begin, block.end, plane);
      }
    }
  });
}

template <class T>
void gather_planes(ThreadPool& pool, const Planes& shape, const ColumnBlock& block, const T* planes, T* matrix) {
  for_each_piece(pool, shape, block, [&](int64_t, int64_t place, int64_t offset, int64_t length) {
    std::copy_n(planes + offset, length, matrix + place);
  });
}

template <class T>
void scatter_planes(ThreadPool& pool, const Planes& shape, const ColumnBlock& block, const T* matrix, const T* bias,
                    T* planes) {
  for_each_piece(pool, shape, block, [&](int64_t channel, int64_t place, int64_t offset, int64_t length) {
    const T* from = matrix + place;
    T* to = planes + offset;
    if (bias == nullptr) {
      std::copy_n(from, length, to);
      return;
    }
    const T b = bias[channel];
    for (int64_t i = 0; i < length; ++i) to[i] = from[i] + b;
  });
}

template <class T>
void add_bias_to_planes(ThreadPool& pool, const Planes& shape, const ColumnBlock& block, const T* bias, T* planes) {
  for_each_piece(pool, shape, block, [&](int64_t channel, int64_t, int64_t offset, int64_t length) {
    T* to = planes + offset;
    const T b = bias[channel];
    for (int64_t i = 0; i < length; ++i) to[i] += b;
  });
}

template void im2col(ThreadPool&, const Windows&, const ColumnBlock&, const float*, float*);
template void im2col(ThreadPool&, const Windows&, const ColumnBlock&, const double*, double*);
template void col2im(ThreadPool&, const Windows&, const ColumnBlock&, float*, float*);
template void col2im(ThreadPool&, const Windows&, const ColumnBlock&, double*, double*);
template void gather_planes(ThreadPool&, const Planes&, const ColumnBlock&, const float*, float*);
template void gather_planes(ThreadPool&, const Planes&, const ColumnBlock&, const double*, double*);
template void scatter_planes(ThreadPool&, const Planes&, const ColumnBlock&, const float*, const float*, float*);
template void scatter_planes(ThreadPool&, const Planes&, const ColumnBlock&, const double*, const double*, double*);
template void add_bias_to_planes(ThreadPool&, const Planes&, const ColumnBlock&, const float*, float*);
template void add_bias_to_planes(ThreadPool&, const Planes&, const ColumnBlock&, const double*, double*);

}  // namespace isobit::kernels::product
