// Compiled once for every instruction set. Windows are taken in two steps, first down the columns of the rows a window
// covers, then along the row: both run over contiguous memory.
#include "isobit/kernels/pool/table.h"
#include "isobit/kernels/reduce/lanes.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::pool {
namespace {

// f(y) for the rows inside the image that windows of row oh cover.
template <class F>
ISOBIT_INLINE void for_each_row(const PoolShape& p, int64_t oh, F f) {
  for (int64_t i = 0; i < p.kh; ++i) {
    const int64_t y = oh * p.stride_h - p.pad_top + i * p.dilation_h;
    if (y >= 0 && y < p.ih) f(y);
  }
}

template <class T>
ISOBIT_INLINE void split_phases(const PoolShape& p, const T* __restrict row, T* __restrict phases) {
  const int64_t length = phase_length(p);
  if (p.stride_w == 2) {
    T* __restrict odd = phases + length;
    for (int64_t q = 0; q < p.iw / 2; ++q) {
      phases[q] = row[2 * q];
      odd[q] = row[2 * q + 1];
    }
    if (p.iw % 2) phases[p.iw / 2] = row[p.iw - 1];
    return;
  }
  for (int64_t r = 0; r < p.stride_w; ++r) {
    for (int64_t x = r, q = r * length; x < p.iw; x += p.stride_w) phases[q++] = row[x];
  }
}

void max_row(const PoolShape& p, const TapRange* taps, int64_t oh, const float* image, const Scratch& s, float* dst,
             int64_t* indices) {
  constexpr int32_t kNone = -2147483647 - 1;  // below every key
  int32_t *column = s.key[0], *column_place = s.place[0], *best = s.key[2], *place = s.place[2];
  for (int64_t x = 0; x < p.iw; ++x) {
    column[x] = kNone;
    column_place[x] = -1;
  }
  for_each_row(p, oh, [&](int64_t y) {
    const float* row = image + y * p.iw;
    const int32_t start = static_cast<int32_t>(y * p.iw);
    ISOBIT_INDEPENDENT
    for (int32_t x = 0; x < static_cast<int32_t>(p.iw); ++x) {
      const int32_t key = order_key(row[x]);
      column_place[x] = key > column[x] ? start + x : column_place[x];
      column[x] = key > column[x] ? key : column[x];
    }
  });
  split_phases(p, column, s.key[1]);
  split_phases(p, column_place, s.place[1]);
  for (int64_t ow = 0; ow < p.ow; ++ow) {
    best[ow] = kNone;
    place[ow] = -1;
  }
  for (int64_t j = 0; j < p.kw; ++j) {
    const TapRange range = taps[j];
    const int32_t *keys = s.key[1], *places = s.place[1];
    ISOBIT_INDEPENDENT
    for (int64_t ow = range.begin; ow < range.end; ++ow) {
      // The columns came in another order than the contract's, so ties go by the place.
      const bool take = (keys[ow + range.shift] > best[ow]) |
                        ((keys[ow + range.shift] == best[ow]) & (places[ow + range.shift] < place[ow]));
      place[ow] = take ? places[ow + range.shift] : place[ow];
      best[ow] = take ? keys[ow + range.shift] : best[ow];
    }
  }
  ISOBIT_INDEPENDENT
  for (int64_t ow = 0; ow < p.ow; ++ow) {
    dst[ow] = best[ow] == kNone ? -__builtin_inff() : from_order_key(best[ow]);
  }
  if (!indices) return;
  ISOBIT_INDEPENDENT
  for (int64_t ow = 0; ow < p.ow; ++ow) indices[ow] = place[ow];
}

// The greater of two taps with its place; the earlier one among equals.
struct Tap {
  int32_t key, place;
};
ISOBIT_INLINE Tap greater(Tap a, Tap b) {
  // No branch, which would be guessed wrongly half of the time: short rows are not vectorised.
  const int32_t take = -static_cast<int32_t>(b.key > a.key);
  return {a.key ^ ((a.key ^ b.key) & take), a.place ^ ((a.place ^ b.place) & take)};
}

template <bool kPlaces>
ISOBIT_INLINE void halve_row(const float* __restrict row, int64_t iw, int64_t ow, int64_t first, float* __restrict dst,
                             int64_t* __restrict indices) {
  const float* __restrict below = row + iw;
  ISOBIT_INDEPENDENT
  for (int32_t o = 0; o < static_cast<int32_t>(ow); ++o) {
    const int32_t left = 2 * o, right = left + 1, down = static_cast<int32_t>(iw);
    const Tap above = greater({order_key(row[left]), left}, {order_key(row[right]), right});
    const Tap under = greater({order_key(below[left]), left + down}, {order_key(below[right]), right + down});
    const Tap best = greater(above, under);
    dst[o] = from_order_key(best.key);
    if constexpr (kPlaces) indices[o] = first + best.place;
  }
}

void max_halved(const PoolShape& p, int64_t first, const float* image, float* dst, int64_t* indices) {
  for (int64_t oh = 0; oh < p.oh; ++oh) {
    const int64_t from = 2 * oh * p.iw, to = oh * p.ow;
    if (indices)
      halve_row<true>(image + from, p.iw, p.ow, first + from, dst + to, indices + to);
    else
      halve_row<false>(image + from, p.iw, p.ow, first + from, dst + to, nullptr);
  }
}

int64_t average_row(const PoolShape& p, const TapRange* taps, int64_t oh, const float* image, const float* divisor,
                    const Scratch& s, float* dst, uint8_t* undecided) {
  for (int64_t x = 0; x < p.iw; ++x) {
    s.sum[0][x] = s.size[0][x] = 0;
    s.least[0][x] = __builtin_inff();
  }
  for_each_row(p, oh, [&](int64_t y) {
    const float* row = image + y * p.iw;
    double *sum = s.sum[0], *size = s.size[0];
    float* least = s.least[0];
    ISOBIT_INDEPENDENT
    for (int64_t x = 0; x < p.iw; ++x) {
      const double d = static_cast<double>(row[x]);
      const float m = not_zero_magnitude(row[x]);
      sum[x] += d;
      size[x] += __builtin_fabs(d);
      least[x] = m < least[x] ? m : least[x];
    }
  });
  split_phases(p, s.sum[0], s.sum[1]);
  split_phases(p, s.size[0], s.size[1]);
  split_phases(p, s.least[0], s.least[1]);
  double *sum = s.sum[2], *size = s.size[2];
  float* least = s.least[2];
  for (int64_t ow = 0; ow < p.ow; ++ow) {
    sum[ow] = size[ow] = 0;
    least[ow] = __builtin_inff();
  }
  for (int64_t j = 0; j < p.kw; ++j) {
    const TapRange range = taps[j];
    const double *sums = s.sum[1], *sizes = s.size[1];
    const float* leasts = s.least[1];
    ISOBIT_INDEPENDENT
    for (int64_t ow = range.begin; ow < range.end; ++ow) {
      sum[ow] += sums[ow + range.shift];
      size[ow] += sizes[ow + range.shift];
      least[ow] = leasts[ow + range.shift] < least[ow] ? leasts[ow + range.shift] : least[ow];
    }
  }
  const double steps = static_cast<double>(p.kh * p.kw + 4);
  int64_t count = 0;
  for (int64_t ow = 0; ow < p.ow; ++ow) {
    float rounded;
    const bool ok = decide({sum[ow], size[ow], steps}, least[ow], &rounded);
    dst[ow] = canonical_f32(rounded / divisor[ow]);
    undecided[ow] = ok ? 0 : 1;
    count += ok ? 0 : 1;
  }
  return count;
}

ISOBIT_INLINE void join_phases(const PoolShape& p, const float* phases, float* row) {
  const int64_t length = phase_length(p);
  if (p.stride_w == 2) {
    const float* odd = phases + length;
    ISOBIT_INDEPENDENT
    for (int64_t q = 0; q < p.iw / 2; ++q) {
      row[2 * q] = canonical_f32(phases[q]);
      row[2 * q + 1] = canonical_f32(odd[q]);
    }
    if (p.iw % 2) row[p.iw - 1] = canonical_f32(phases[p.iw / 2]);
    return;
  }
  for (int64_t r = 0; r < p.stride_w; ++r) {
    for (int64_t x = r, q = r * length; x < p.iw; x += p.stride_w) row[x] = canonical_f32(phases[q++]);
  }
}

// A place gets its additions in ascending (oh, ow): of each row of windows, one tap row reaches it, and there a later
// window reaches it with an earlier tap, hence the taps from last to first.
void average_grad(const PoolShape& p, const TapRange* taps, const float* g, float* phases, float* image) {
  for (int64_t y = 0; y < p.ih; ++y) {
    for (int64_t k = 0; k < phase_length(p) * p.stride_w; ++k) phases[k] = 0;
    // The rows of windows that can reach y; a division each would cost more than the additions.
    const int64_t above = y + p.pad_top - (p.kh - 1) * p.dilation_h;
    const int64_t first = above <= 0 ? 0 : (above + p.stride_h - 1) / p.stride_h;
    for (int64_t oh = first; oh < p.oh; ++oh) {
      const int64_t down = y + p.pad_top - oh * p.stride_h;
      if (down < 0) break;
      if (p.dilation_h != 1 && down % p.dilation_h != 0) continue;
      const float* from = g + oh * p.ow;
      for (int64_t j = p.kw - 1; j >= 0; --j) {
        const TapRange range = taps[j];
        ISOBIT_INDEPENDENT
        for (int64_t ow = range.begin; ow < range.end; ++ow) phases[ow + range.shift] += from[ow];
      }
    }
    join_phases(p, phases, image + y * p.iw);
  }
}

constexpr Table kTable = {max_row, max_halved, average_row, average_grad};

}  // namespace

ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA)

}  // namespace isobit::kernels::pool
