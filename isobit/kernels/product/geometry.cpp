#include "isobit/kernels/product/geometry.h"

#include <algorithm>

#include "isobit/base/status.h"

namespace isobit::kernels::product {
namespace {

Side strided(int64_t lines, int64_t k, int64_t batch_stride, const Strides& strides) {
  Side side;
  side.lines = lines;
  side.k = k;
  side.batch_stride = batch_stride;
  side.strides = strides;
  return side;
}

Side windowed(SideKind kind, const Windows& w) {
  // Single taps and positions are numbered by 32 bits (Lines::Place).
  for (const WindowAxis* axis : {&w.rows, &w.columns}) {
    ISOBIT_CHECK(axis->taps <= INT32_MAX && axis->positions <= INT32_MAX);
  }
  Side side;
  side.kind = kind;
  side.lines = w.images * w.positions();
  side.k = w.channels * w.taps();
  if (kind == SideKind::kTaps) std::swap(side.lines, side.k);
  side.batch_stride = w.channels * w.plane();
  side.windows = w;
  return side;
}

// Of an output [n, channels of all groups, height, width], of which a batch has `channels`.
Placement planes(int64_t channels, int64_t groups, int64_t area) {
  Placement out;
  out.batch_stride = channels * area;
  out.row_stride = area;
  out.image_stride = groups * channels * area;
  out.columns = area;
  return out;
}

Order image_order(const ConvShape& s) {
  const int64_t area = s.oh() * s.ow();
  if (area <= 128) return {.periods = 1, .period = s.n * area, .chunk = 256 / area * area};
  return {.periods = s.n, .period = area, .chunk = std::max<int64_t>(1, 256 / s.ow()) * s.ow()};
}

}  // namespace

Strides merged(const Strides& s, int64_t k) {
  const int64_t whole = std::max<int64_t>(1, k);
  if (s.period == 1) return {s.line, s.outer, whole, 0};
  if (s.period >= k || s.outer == s.period * s.inner) return {s.line, s.inner, whole, 0};
  return s;
}

int64_t Order::element(int64_t p) const {
  if (taps == 1) return p;
  const int64_t block = p / (kChannelBlock * taps), rest = p % (kChannelBlock * taps);
  const int64_t size = std::min(kChannelBlock, channels - block * kChannelBlock);
  return (block * kChannelBlock + rest % size) * taps + rest / size;
}

int64_t Order::end_of_chunks(int64_t p, int64_t most) const {
  while (p < most) {
    const int64_t within = p % period, end_of_period = p - within + period;
    if (within == 0 && period <= most - p) {
      p += (most - p) / period * period;
      continue;
    }
    const int64_t end = std::min(p - within % chunk + chunk, end_of_period);
    if (end > most) break;
    p = end + (std::min(most, end_of_period) - end) / chunk * chunk;
  }
  return p;
}

Order channel_order(int64_t channels, int64_t kernel_taps, int64_t taps) {
  const int64_t chunk = channel_blocks_per_chunk(kernel_taps) * kChannelBlock * taps;
  return {.periods = 1,
          .period = channels * taps,
          .chunk = std::max<int64_t>(1, chunk),
          .channels = channels,
          .taps = taps};
}

Placement placement_of(const Placement& whole, const Windows& w, const WindowPart& part) {
  if (part.stride_h == 1 && part.stride_w == 1) return whole;
  Placement out = whole;
  out.first += part.first_h * w.columns.positions + part.first_w;
  out.lines = part.grid.grid_h;
  out.line_stride = part.stride_h * w.columns.positions;
  out.columns = part.grid.grid_w;
  out.column_stride = part.stride_w;
  return out;
}

Geometry conv_geometry(const ConvShape& s, Direction direction) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, taps = s.kh * s.kw, area = s.oh() * s.ow();
  Geometry g;
  g.batches = s.groups;
  switch (direction) {
    case Direction::kForward:
      g.left = strided(ocg, icg * taps, ocg * icg * taps, {icg * taps, 1, std::max<int64_t>(1, icg * taps), 0});
      g.right = windowed(SideKind::kPositions, forward_windows(s));
      g.out = planes(ocg, s.groups, area);
      g.order = channel_order(icg, taps, taps);
      g.bias_side = BiasSide::kRows;
      g.bias_batch_stride = ocg;
      break;
    case Direction::kGradSrc:
      g.left = strided(icg, ocg * taps, ocg * icg * taps, {taps, 1, taps, icg * taps});
      g.right = windowed(SideKind::kPositions, backward_windows(s));
      g.out = planes(icg, s.groups, s.ih * s.iw);
      g.order = channel_order(ocg, taps, taps);
      break;
    case Direction::kGradWeights:
      g.left = strided(ocg, s.n * area, ocg * area, {area, 1, area, s.oc * area});
      g.right = windowed(SideKind::kTaps, forward_windows(s));
      g.out.batch_stride = ocg * icg * taps;
      g.out.row_stride = g.out.columns = icg * taps;
      g.order = image_order(s);
      break;
  }
  g.m = g.left.lines;
  g.n = g.right.lines;
  g.k = g.left.k;
  return g;
}

Geometry matmul_geometry(const MatmulShape& s) {
  const int64_t period = std::max<int64_t>(1, s.k);
  Geometry g;
  g.batches = s.batch;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.left = strided(s.m, s.k, s.a_batch_stride, {s.a_row_stride, s.a_col_stride, period, 0});
  g.right = strided(s.n, s.k, s.b_batch_stride, {s.b_col_stride, s.b_row_stride, period, 0});
  g.out.batch_stride = s.c_batch_stride;
  g.out.row_stride = s.c_row_stride;
  g.out.columns = std::max<int64_t>(1, s.n);
  g.order = {.periods = 1, .period = s.k, .chunk = kMatmulChunk};
  return g;
}

}  // namespace isobit::kernels::product
