#include "isobit/runtime/stages/lines.h"

#include <algorithm>
#include <cmath>

#include "isobit/kernels/rounding/steps.h"

namespace isobit::runtime {

using kernels::rounding::steps_of;
using Norms = std::vector<double>;

Lines Lines::grouped(const double* data, int64_t lines, int64_t k, int64_t line_stride, int64_t run,
                     int64_t group_stride) {
  Lines l;
  l.data_ = data;
  l.count_ = lines;
  l.k_ = k;
  l.line_stride_ = line_stride;
  l.run_ = run;
  l.group_stride_ = group_stride;
  return l;
}

Lines Lines::windows(const double* data, const Windows& windows) {
  Lines l;
  l.kind_ = Kind::kWindows;
  l.data_ = data;
  l.count_ = windows.images * windows.positions();
  l.k_ = windows.channels * windows.taps();
  l.windows_ = windows;
  return l;
}

Lines Lines::taps(const double* data, const Windows& windows) {
  Lines l = Lines::windows(data, windows);
  l.kind_ = Kind::kTaps;
  std::swap(l.count_, l.k_);
  return l;
}

Lines::Place Lines::place(int64_t l) const {
  const Windows& w = windows_;
  const auto narrow = [](int64_t x) { return static_cast<int32_t>(x); };
  if (kind_ == Kind::kGrouped) return {l / run_ * group_stride_ + l % run_, 0, 0};
  if (kind_ == Kind::kWindows) {
    const int64_t t = l % w.taps();
    return {l / w.taps() * w.plane(), narrow(t / w.columns.taps), narrow(t % w.columns.taps)};
  }
  const int64_t p = l % w.positions();
  return {l / w.positions() * w.image_stride, narrow(p / w.width()), narrow(p % w.width())};
}

void Lines::gather(int64_t line, const std::vector<Place>& places, double* to) const {
  const Windows& w = windows_;
  if (kind_ == Kind::kGrouped) {
    const double* from = data_ + line * line_stride_;
    for (const Place& p : places) *to++ = from[p.offset];
    return;
  }
  const bool by_position = kind_ == Kind::kWindows;
  const int64_t inner = by_position ? line % w.positions() : line % w.taps();
  const int64_t width = by_position ? w.width() : w.columns.taps, y = inner / width, x = inner % width;
  const double* from = data_ + (by_position ? line / w.positions() * w.image_stride : line / w.taps() * w.plane());
  for (const Place& p : places) {
    const int64_t row = by_position ? w.row(p.row, y) : w.row(y, p.row);
    const int64_t column = by_position ? w.column(p.column, x) : w.column(x, p.column);
    *to++ = row < 0 || column < 0 ? 0.0 : from[p.offset + row * w.plane_width() + column];
  }
}

void Lines::prefetch(int64_t line) const {
  const Windows& w = windows_;
  if (kind_ != Kind::kWindows) return;
  const int64_t position = line % w.positions(), x = w.column(0, position % w.width());
  const double* image = data_ + line / w.positions() * w.image_stride + std::max<int64_t>(x, 0);
  for (int64_t ty = 0; ty < w.rows.taps; ++ty) {
    const int64_t row = w.row(ty, position / w.width());
    for (int64_t c = 0; row >= 0 && c < w.channels; ++c) {
      __builtin_prefetch(image + c * w.plane() + row * w.plane_width());
    }
  }
}

void Lines::read(int64_t line, double* to) const {
  const Windows& w = windows_;
  if (kind_ == Kind::kGrouped) {
    const double* from = data_ + line * line_stride_;
    if (run_ == 1) {
      for (int64_t l = 0; l < k_; ++l) to[l] = from[l * group_stride_];
    } else {
      for (int64_t l = 0; l < k_; l += run_, from += group_stride_) to = std::copy_n(from, run_, to);
    }
  } else if (kind_ == Kind::kWindows) {
    const int64_t position = line % w.positions(), y = position / w.width(), x = position % w.width();
    const double* image = data_ + line / w.positions() * w.image_stride;
    for (int64_t c = 0; c < w.channels; ++c) {
      for (int64_t ty = 0; ty < w.rows.taps; ++ty) {
        const int64_t row = w.row(ty, y);
        for (int64_t tx = 0; tx < w.columns.taps; ++tx) {
          const int64_t column = w.column(tx, x);
          *to++ = row < 0 || column < 0 ? 0.0 : image[c * w.plane() + row * w.plane_width() + column];
        }
      }
    }
  } else {
    const int64_t tap = line % w.taps(), ty = tap / w.columns.taps, tx = tap % w.columns.taps;
    const double* plane = data_ + line / w.taps() * w.plane();
    for (int64_t n = 0; n < w.images; ++n, plane += w.image_stride) {
      for (int64_t y = 0; y < w.height(); ++y) {
        const int64_t row = w.row(ty, y);
        for (int64_t x = 0; x < w.width(); ++x) {
          const int64_t column = row < 0 ? -1 : w.column(tx, x);
          *to++ = column < 0 ? 0.0 : plane[row * w.plane_width() + column];
        }
      }
    }
  }
}

Norms Lines::norm_bounds(const kernels::KernelContext& ctx) const {
  switch (kind_) {
    case Kind::kGrouped:
      return grouped_norms(ctx);
    case Kind::kWindows:
      return window_norms(ctx);
    case Kind::kTaps:
      return channel_norms(ctx);
  }
  return {};
}

Norms Lines::grouped_norms(const kernels::KernelContext& ctx) const {
  const kernels::rounding::Steps& steps = steps_of(ctx.isa);
  Norms norms(static_cast<size_t>(count_), 0.0);
  ctx.pool->parallel_for(count_, 16384 / (k_ + 1) + 1, [&](int64_t begin, int64_t end) {
    double* to = norms.data() + begin;
    if (run_ == 1 && line_stride_ == 1) {
      steps.column_squares(k_, end - begin, data_ + begin, group_stride_, to);
    } else {
      for (int64_t i = begin; i < end; ++i) {
        const double* from = data_ + i * line_stride_;
        for (int64_t l = 0; l < k_; l += run_, from += group_stride_) to[i - begin] += steps.squares(run_, from);
      }
    }
    for (int64_t i = begin; i < end; ++i, ++to) *to = std::sqrt(*to);
  });
  return norms;
}

// Squares added up over the channels of an image, then over the columns and the rows that a window meets.
Norms Lines::window_norms(const kernels::KernelContext& ctx) const {
  const Windows& w = windows_;
  const kernels::rounding::Steps& steps = steps_of(ctx.isa);
  Norms norms(static_cast<size_t>(count_), 0.0);
  ctx.pool->parallel_for(w.images, 1, [&](int64_t begin, int64_t end) {
    Norms squares(static_cast<size_t>(w.plane())), across(static_cast<size_t>(w.plane_height() * w.width()));
    for (int64_t n = begin; n < end; ++n) {
      std::fill(squares.begin(), squares.end(), 0.0);
      std::fill(across.begin(), across.end(), 0.0);
      steps.column_squares(w.channels, w.plane(), data_ + n * w.image_stride, w.plane(), squares.data());
      for (int64_t x = 0; x < w.width(); ++x) {
        for (int64_t t = 0; t < w.columns.taps; ++t) {
          const int64_t column = w.column(t, x);
          for (int64_t y = 0; column >= 0 && y < w.plane_height(); ++y) {
            across[static_cast<size_t>(y * w.width() + x)] +=
                squares[static_cast<size_t>(y * w.plane_width() + column)];
          }
        }
      }
      double* to = norms.data() + n * w.positions();
      for (int64_t y = 0; y < w.height(); ++y, to += w.width()) {
        for (int64_t t = 0; t < w.rows.taps; ++t) {
          const int64_t row = w.row(t, y);
          for (int64_t x = 0; row >= 0 && x < w.width(); ++x) to[x] += across[static_cast<size_t>(row * w.width() + x)];
        }
        for (int64_t x = 0; x < w.width(); ++x) to[x] = std::sqrt(to[x]);
      }
    }
  });
  return norms;
}

// Of the whole channel: a tap meets each of its elements once at most.
Norms Lines::channel_norms(const kernels::KernelContext& ctx) const {
  const Windows& w = windows_;
  const Lines planes = grouped(data_, w.channels, w.images * w.plane(), w.plane(), w.plane(), w.image_stride);
  const Norms of_channels = planes.grouped_norms(ctx);
  Norms norms;
  norms.reserve(static_cast<size_t>(count_));
  for (double norm : of_channels) norms.insert(norms.end(), static_cast<size_t>(w.taps()), norm);
  return norms;
}

}  // namespace isobit::runtime
