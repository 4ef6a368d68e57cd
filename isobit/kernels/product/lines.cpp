#include "isobit/kernels/product/lines.h"

#include <algorithm>

namespace isobit::kernels::product {

int64_t Side::offset(int64_t line, int64_t l) const {
  if (kind == SideKind::kStrided) return line * strides.line + strides.offset(l);
  const Windows& w = windows;
  const bool by_position = kind == SideKind::kPositions;
  const int64_t row = by_position ? l : line, column = by_position ? line : l;
  const int64_t tap = row % w.taps(), position = column % w.positions();
  const int64_t y = w.rows.place(tap / w.columns.taps, position / w.columns.positions);
  const int64_t x = w.columns.place(tap % w.columns.taps, position % w.columns.positions);
  if (y < 0 || x < 0) return -1;
  const int64_t image = column / w.positions(), channel = row / w.taps();
  return image * w.image_stride + channel * w.plane() + y * w.columns.places + x;
}

template <class T>
T Lines<T>::element(int64_t line, int64_t l) const {
  const int64_t at = side_.offset(line, l);
  // Strides may be negative, and such lines miss nothing.
  return at < 0 && side_.kind != SideKind::kStrided ? T{0} : data_[at];
}

template <class T>
void Lines<T>::read(int64_t line, T* to) const {
  if (side_.k == 0) return;  // there may be no data to point into; so in gather()
  const Strides& s = side_.strides;
  switch (side_.kind) {
    case SideKind::kStrided:
      for (int64_t l = 0; l < side_.k; l += s.period) {
        const T* from = data_ + line * s.line + s.offset(l);
        const int64_t count = std::min(s.period, side_.k - l);
        if (s.inner == 1) {
          std::copy_n(from, count, to + l);
        } else {
          for (int64_t q = 0; q < count; ++q) to[l + q] = from[q * s.inner];
        }
      }
      break;
    case SideKind::kPositions:
      read_window(line, to);
      break;
    case SideKind::kTaps:
      read_row(side_.windows, data_, line, 0, side_.k, to,
               [](int64_t n, const T* from, T* out) { std::copy_n(from, n, out); });
      break;
  }
}

// Which places the taps meet is the same in every channel.
template <class T>
void Lines<T>::read_window(int64_t line, T* to) const {
  const Windows& w = side_.windows;
  const int64_t position = line % w.positions(), y = position / w.columns.positions, x = position % w.columns.positions;
  const T* image = data_ + line / w.positions() * w.image_stride;
  constexpr int64_t kMostTaps = 64;
  if (w.taps() > kMostTaps) {
    for (int64_t c = 0; c < w.channels; ++c) {
      for (int64_t ky = 0; ky < w.rows.taps; ++ky) {
        const int64_t row = w.rows.place(ky, y);
        for (int64_t kx = 0; kx < w.columns.taps; ++kx) {
          const int64_t column = w.columns.place(kx, x);
          *to++ = row < 0 || column < 0 ? T{0} : image[c * w.plane() + row * w.columns.places + column];
        }
      }
    }
    return;
  }
  int64_t places[kMostTaps];
  int64_t taps = 0;
  for (int64_t ky = 0; ky < w.rows.taps; ++ky) {
    const int64_t row = w.rows.place(ky, y);
    for (int64_t kx = 0; kx < w.columns.taps; ++kx) {
      const int64_t column = w.columns.place(kx, x);
      places[taps++] = row < 0 || column < 0 ? -1 : row * w.columns.places + column;
    }
  }
  for (int64_t c = 0; c < w.channels; ++c, image += w.plane()) {
    for (int64_t t = 0; t < taps; ++t) *to++ = places[t] < 0 ? T{0} : image[places[t]];
  }
}

// What `lines` have in a row that is so far from the last one that the processor does not foresee it.
template <class T>
void prefetch_row(const T* row, std::span<const int64_t> lines, int64_t step) {
  constexpr int64_t kCacheLine = 64 / sizeof(T);
  int64_t last = INT64_MIN / 2;
  for (const int64_t line : lines) {
    if (line * step - last < kCacheLine) continue;
    last = line * step;
    __builtin_prefetch(row + last);
  }
}

template <class T>
void Lines<T>::read(std::span<const int64_t> lines, T* to) const {
  const Strides& s = side_.strides;
  if (side_.kind != SideKind::kStrided || s.inner == 1) {
    for (const int64_t line : lines) {
      read(line, to);
      to += side_.k;
    }
    return;
  }
  // All lines for one element before the next: neighbours share a cache line. Eight elements at a time, so that what is
  // written stays in the first-level cache.
  constexpr int64_t kAtOnce = 8;
  for (int64_t l0 = 0; l0 < side_.k; l0 += kAtOnce) {
    const int64_t l1 = std::min(l0 + kAtOnce, side_.k);
    const T* at[kAtOnce];
    for (int64_t l = l0; l < l1; ++l) at[l - l0] = data_ + s.offset(l);
    for (int64_t l = l1; l < std::min(l1 + kAtOnce, side_.k); ++l) prefetch_row(data_ + s.offset(l), lines, s.line);
    for (size_t q = 0; q < lines.size(); ++q) {
      T* line = to + static_cast<int64_t>(q) * side_.k;
      for (int64_t l = l0; l < l1; ++l) line[l] = at[l - l0][lines[q] * s.line];
    }
  }
}

template <class T>
void Lines<T>::prefetch(int64_t line) const {
  if (side_.kind != SideKind::kPositions || side_.k == 0) return;
  const Windows& w = side_.windows;
  const int64_t position = line % w.positions(), x = w.columns.place(0, position % w.columns.positions);
  const T* image = data_ + line / w.positions() * w.image_stride + std::max<int64_t>(x, 0);
  for (int64_t ky = 0; ky < w.rows.taps; ++ky) {
    const int64_t row = w.rows.place(ky, position / w.columns.positions);
    for (int64_t c = 0; row >= 0 && c < w.channels; ++c) {
      __builtin_prefetch(image + c * w.plane() + row * w.columns.places);
    }
  }
}

template <class T>
typename Lines<T>::Place Lines<T>::place(int64_t l) const {
  const Strides& s = side_.strides;
  const Windows& w = side_.windows;
  const auto narrow = [](int64_t x) { return static_cast<int32_t>(x); };
  if (side_.kind == SideKind::kStrided) return {s.offset(l), 0, 0};
  if (side_.kind == SideKind::kPositions) {
    const int64_t t = l % w.taps();
    return {l / w.taps() * w.plane(), narrow(t / w.columns.taps), narrow(t % w.columns.taps)};
  }
  const int64_t p = l % w.positions();
  return {l / w.positions() * w.image_stride, narrow(p / w.columns.positions), narrow(p % w.columns.positions)};
}

template <class T>
void Lines<T>::gather(int64_t line, const std::vector<Place>& places, T* to) const {
  if (places.empty()) return;
  if (side_.kind == SideKind::kStrided) {
    const T* from = data_ + line * side_.strides.line;
    for (const Place& p : places) *to++ = from[p.offset];
    return;
  }
  const Windows& w = side_.windows;
  const bool by_position = side_.kind == SideKind::kPositions;
  const int64_t inner = by_position ? line % w.positions() : line % w.taps();
  const int64_t width = by_position ? w.columns.positions : w.columns.taps, y = inner / width, x = inner % width;
  const T* from = data_ + (by_position ? line / w.positions() * w.image_stride : line / w.taps() * w.plane());
  for (const Place& p : places) {
    const int64_t row = by_position ? w.rows.place(p.row, y) : w.rows.place(y, p.row);
    const int64_t column = by_position ? w.columns.place(p.column, x) : w.columns.place(x, p.column);
    *to++ = row < 0 || column < 0 ? T{0} : from[p.offset + row * w.columns.places + column];
  }
}

template class Lines<float>;
template class Lines<double>;

}  // namespace isobit::kernels::product
