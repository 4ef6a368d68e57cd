#include <algorithm>
#include <cmath>

#include "isobit/kernels/rounding/product_block.h"
#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {
namespace {

using product::Side;
using product::SideKind;
using product::Strides;
using product::Windows;
using Norms = std::vector<double>;

Norms strided_norms(const KernelContext& ctx, const Side& side, const double* data) {
  const Table& loops = table_of(ctx.isa);
  const Strides s = merged(side.strides, side.k);
  Norms norms(static_cast<size_t>(side.lines), 0.0);
  ctx.pool->parallel_for(side.lines, 16384 / (side.k + 1) + 1, [&](int64_t begin, int64_t end) {
    double* to = norms.data() + begin;
    if (s.inner != 1 && s.line == 1 && s.period >= side.k) {
      loops.column_squares(side.k, end - begin, data + begin, s.inner, to);
    } else {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t l = 0; l < side.k; l += s.period) {
          const double* from = data + i * s.line + s.offset(l);
          const int64_t run = std::min(s.period, side.k - l);
          if (s.inner == 1) {
            to[i - begin] += loops.squares(run, from);
          } else {
            for (int64_t q = 0; q < run; ++q) to[i - begin] += loops.squares(1, from + q * s.inner);
          }
        }
      }
    }
    for (int64_t i = begin; i < end; ++i, ++to) *to = std::sqrt(*to);
  });
  return norms;
}

// Squares added up over the channels of an image, then over the columns and the rows that a window meets.
Norms position_norms(const KernelContext& ctx, const Side& side, const double* data) {
  const Windows& w = side.windows;
  const Table& loops = table_of(ctx.isa);
  const int64_t width = w.columns.positions, height = w.rows.positions, plane_width = w.columns.places;
  Norms norms(static_cast<size_t>(side.lines), 0.0);
  ctx.pool->parallel_for(w.images, 1, [&](int64_t begin, int64_t end) {
    Norms squares(static_cast<size_t>(w.plane())), across(static_cast<size_t>(w.rows.places * width));
    for (int64_t n = begin; n < end; ++n) {
      std::fill(squares.begin(), squares.end(), 0.0);
      std::fill(across.begin(), across.end(), 0.0);
      loops.column_squares(w.channels, w.plane(), data + n * w.image_stride, w.plane(), squares.data());
      for (int64_t x = 0; x < width; ++x) {
        for (int64_t t = 0; t < w.columns.taps; ++t) {
          const int64_t column = w.columns.place(t, x);
          for (int64_t y = 0; column >= 0 && y < w.rows.places; ++y) {
            across[static_cast<size_t>(y * width + x)] += squares[static_cast<size_t>(y * plane_width + column)];
          }
        }
      }
      double* to = norms.data() + n * w.positions();
      for (int64_t y = 0; y < height; ++y, to += width) {
        for (int64_t t = 0; t < w.rows.taps; ++t) {
          const int64_t row = w.rows.place(t, y);
          for (int64_t x = 0; row >= 0 && x < width; ++x) to[x] += across[static_cast<size_t>(row * width + x)];
        }
        for (int64_t x = 0; x < width; ++x) to[x] = std::sqrt(to[x]);
      }
    }
  });
  return norms;
}

// Of the whole channel: a tap meets each of its elements once at most.
Norms tap_norms(const KernelContext& ctx, const Side& side, const double* data) {
  const Windows& w = side.windows;
  Side planes;
  planes.lines = w.channels;
  planes.k = w.images * w.plane();
  planes.strides = {w.plane(), 1, std::max<int64_t>(1, w.plane()), w.image_stride};
  Norms norms;
  norms.reserve(static_cast<size_t>(side.lines));
  for (double norm : strided_norms(ctx, planes, data)) {
    norms.insert(norms.end(), static_cast<size_t>(w.taps()), norm);
  }
  return norms;
}

}  // namespace

std::vector<double> norm_bounds(const KernelContext& ctx, const product::Lines<double>& lines) {
  switch (lines.side().kind) {
    case SideKind::kStrided:
      return strided_norms(ctx, lines.side(), lines.data());
    case SideKind::kPositions:
      return position_norms(ctx, lines.side(), lines.data());
    case SideKind::kTaps:
      return tap_norms(ctx, lines.side(), lines.data());
  }
  return {};
}

}  // namespace isobit::kernels::rounding
