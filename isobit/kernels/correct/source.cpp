#include "isobit/kernels/correct/source.h"

#include <algorithm>
#include <cmath>

namespace isobit::kernels::correct {

using product::SideKind;
using product::Strides;
using product::WindowAxis;
using product::Windows;

// With few taps a channel or few channels, adding up what is laid out anyway is as fast.
Source::Source(const CorrectContext& ctx, const product::Lines<float>& lines) : lines_(lines) {
  const Windows& w = lines.side().windows;
  if (lines.side().kind == SideKind::kStrided || w.taps() < 4) return;
  const Table& loops = table_of(ctx.kernel.isa);
  if (lines.side().kind == SideKind::kTaps) {
    square_channels(loops, *ctx.kernel.pool);
  } else if (w.channels >= 4) {
    square_places(loops, *ctx.kernel.pool);
  }
}

bool Source::k_contiguous() const {
  const Strides& s = lines_.side().strides;
  switch (lines_.side().kind) {
    case SideKind::kStrided:
      return s.inner == 1 || s.line != 1;
    case SideKind::kPositions:
      return false;
    case SideKind::kTaps:
      break;
  }
  return true;
}

Source::Rows Source::rows() const {
  const Strides& s = lines_.side().strides;
  const bool dense = lines_.side().kind == SideKind::kStrided && s.line == 1 && s.period >= lines_.k();
  return dense ? Rows{lines_.data(), s.inner} : Rows{};
}

void Source::fill(const Table& loops, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
                  int64_t ld) const {
  const Windows& w = lines_.side().windows;
  switch (lines_.side().kind) {
    case SideKind::kStrided:
      fill_strided(loops, first, last, l0, l1, out, ld);
      break;
    case SideKind::kPositions:
      for (int64_t l = l0; l < l1; ++l, out += ld) read_row(w, lines_.data(), l, first, last, out, loops.widen);
      break;
    case SideKind::kTaps:
      for (int64_t i = first; i < last; ++i, out += ld) read_row(w, lines_.data(), i, l0, l1, out, loops.widen);
      break;
  }
}

void Source::fill_strided(const Table& loops, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
                          int64_t ld) const {
  const Strides& s = lines_.side().strides;
  if (!k_contiguous()) {
    for (int64_t l = l0; l < l1; ++l)
      loops.widen(last - first, lines_.data() + s.offset(l) + first, out + (l - l0) * ld);
    return;
  }
  for (int64_t line = first; line < last; ++line) {
    double* to = out + (line - first) * ld;
    const float* from = lines_.data() + line * s.line;
    for (int64_t l = l0; l < l1;) {
      const int64_t count = std::min(l1 - l, s.period - l % s.period);
      const float* run = from + s.offset(l);
      if (s.inner == 1) {
        loops.widen(count, run, to + (l - l0));
      } else {
        for (int64_t q = 0; q < count; ++q) to[l - l0 + q] = static_cast<double>(run[q * s.inner]);
      }
      l += count;
    }
  }
}

void Source::square_places(const Table& loops, ThreadPool& pool) {
  const Windows& w = lines_.side().windows;
  squares_.assign(static_cast<size_t>(w.images * w.plane()), 0.0);
  pool.parallel_for(w.images, 16384 / (w.channels * w.plane() + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      loops.column_squares_f32(w.channels, w.plane(), lines_.data() + image * w.image_stride, w.plane(),
                               squares_.data() + image * w.plane());
    }
  });
}

// Skipped where the windows leave out much of the tensor, since the sum of a channel is then much more than that of any
// of its lines. Given up where a sum is not finite: it would stand for finite lines of the same channel, too.
void Source::square_channels(const Table& loops, ThreadPool& pool) {
  const Windows& w = lines_.side().windows;
  if (w.positions() < w.plane() / 2) return;
  squares_.assign(static_cast<size_t>(w.channels), 0.0);
  pool.parallel_for(w.channels, 16384 / (w.images * w.plane() + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = 0; image < w.images; ++image) {
      const float* channels = lines_.data() + image * w.image_stride;
      for (int64_t c = begin; c < end; ++c) {
        squares_[static_cast<size_t>(c)] += loops.squares_f32(w.plane(), channels + c * w.plane());
      }
    }
  });
  if (!std::all_of(squares_.begin(), squares_.end(), [](double x) { return std::isfinite(x); })) squares_.clear();
}

void Source::line_squares(int64_t first, int64_t last, double* out) const {
  if (lines_.side().kind == SideKind::kPositions) {
    position_squares(first, last, out);
    return;
  }
  const int64_t taps = lines_.side().windows.taps();
  for (int64_t tap = first; tap < last; ++tap) *out++ = squares_[static_cast<size_t>(tap / taps)];
}

void Source::position_squares(int64_t first, int64_t last, double* out) const {
  const Windows& w = lines_.side().windows;
  const int64_t width = w.columns.positions;
  int64_t x = first % width, y = first / width % w.rows.positions, image = first / w.positions();
  for (int64_t count; first < last; first += count, out += count, x = 0, ++y) {
    if (y == w.rows.positions) {
      y = 0;
      ++image;
    }
    count = std::min(last - first, width - x);
    std::fill(out, out + count, 0.0);
    for (int64_t ky = 0; ky < w.rows.taps; ++ky) {
      const int64_t place = w.rows.place(ky, y);
      if (place < 0) continue;
      const double* line = squares_.data() + (image * w.rows.places + place) * w.columns.places;
      for (int64_t kx = 0; kx < w.columns.taps; ++kx) {
        const WindowAxis::Hits hits = w.columns.hits(kx, x, x + count);
        double* to = out - x;
        if (hits.stride == 1 && hits.place_step == 1) {
          const double* from = line + hits.place - hits.begin;
          for (int64_t p = hits.begin; p < hits.end; ++p) to[p] += from[p];
          continue;
        }
        int64_t from = hits.place;
        for (int64_t p = hits.begin; p < hits.end; p += hits.stride, from += hits.place_step) to[p] += line[from];
      }
    }
  }
}

namespace {

// Zero, or all of their squares where the operand knows them.
void start_norms(const CorrectContext& ctx, LaidOut& side) {
  side.norms.assign(static_cast<size_t>(side.last - side.first), 0.0);
  const bool wanted = ctx.instruments.mutation != Mutation::kUnfiltered;
  side.add_squares = wanted && !side.source->knows_squares();
  if (!wanted || side.add_squares) return;
  ctx.kernel.pool->parallel_for(side.last - side.first, 1024, [&](int64_t begin, int64_t end) {
    side.source->line_squares(side.first + begin, side.first + end, side.norms.data() + begin);
  });
}

}  // namespace

void load(const CorrectContext& ctx, LaidOut& side, int64_t first, int64_t last, int64_t l0, int64_t l1,
          bool last_block) {
  if (side.first == first && side.last == last && side.l0 == l0 && side.l1 == l1) return;
  const Table& loops = table_of(ctx.kernel.isa);
  side.first = first;
  side.last = last;
  side.l0 = l0;
  side.l1 = l1;
  if (l0 == 0) start_norms(ctx, side);
  const int64_t ld = side.ld();
  ctx.kernel.pool->parallel_for(last - first, 16384 / (l1 - l0) + 1, [&](int64_t begin, int64_t end) {
    if (side.source->k_contiguous()) {
      for (int64_t line = begin; line < end; ++line) {
        double* to = side.block + line * ld;
        side.source->fill(loops, first + line, first + line + 1, l0, l1, to, ld);
        if (side.add_squares) side.norms[static_cast<size_t>(line)] += loops.squares(l1 - l0, to);
      }
      return;
    }
    constexpr int64_t kRows = 16;  // few enough to be still in cache when they are squared
    for (int64_t l = l0; l < l1; l += kRows) {
      const int64_t stop = std::min(l + kRows, l1);
      double* to = side.block + (l - l0) * ld + begin;
      side.source->fill(loops, first + begin, first + end, l, stop, to, ld);
      if (side.add_squares) loops.column_squares(stop - l, end - begin, to, ld, side.norms.data() + begin);
    }
  });
  if (last_block) {
    for (double& norm : side.norms) norm = std::sqrt(norm);
  }
}

void measure(const CorrectContext& ctx, LaidOut& side, int64_t first, int64_t last, int64_t k) {
  if (side.first == first && side.last == last && side.l0 == 0 && side.l1 == k) return;
  side.first = first;
  side.last = last;
  side.l0 = 0;
  side.l1 = k;
  start_norms(ctx, side);
  const Table& loops = table_of(ctx.kernel.isa);
  const Source& source = *side.source;
  ctx.kernel.pool->parallel_for(last - first, 16384 / k + 1, [&](int64_t begin, int64_t end) {
    constexpr int64_t kBuffer = 4096, kRows = 16, kColumns = kBuffer / kRows;
    double buffer[kBuffer];
    double* const norms = side.norms.data();
    for (int64_t i = begin; side.add_squares && source.k_contiguous() && i < end; ++i) {
      if (const float* line = source.contiguous(first + i)) {
        norms[i] = loops.squares_f32(k, line);
        continue;
      }
      for (int64_t l = 0; l < k; l += kBuffer) {
        const int64_t count = std::min(kBuffer, k - l);
        source.fill(loops, first + i, first + i + 1, l, l + count, buffer, count);
        norms[i] += loops.squares(count, buffer);
      }
    }
    for (int64_t i = begin; side.add_squares && !source.k_contiguous() && i < end; i += kColumns) {
      const int64_t count = std::min(kColumns, end - i);
      if (const Source::Rows rows = source.rows(); rows.from != nullptr) {
        loops.column_squares_f32(k, count, rows.from + first + i, rows.ld, norms + i);
        continue;
      }
      for (int64_t l = 0; l < k; l += kRows) {
        const int64_t rows = std::min(kRows, k - l);
        source.fill(loops, first + i, first + i + count, l, l + rows, buffer, count);
        loops.column_squares(rows, count, buffer, count, norms + i);
      }
    }
    for (int64_t i = begin; i < end; ++i) norms[i] = std::sqrt(norms[i]);
  });
}

}  // namespace isobit::kernels::correct
