// The fast path of exact_sum.h for per-ISA translation units. Everything is always_inline and static; only the
// undecided cases call out, to the baseline build of the exact integer code.
//
// All sums run in float64 in as many lanes as the target has. Float32 numbers and their squares are exact there, so
// with u = 2^-53 and `depth` the largest number of additions any element passes through, the computed sum is off by at
// most gamma_depth * sum|x|, gamma_m = m u / (1 - m u) (Higham, Accuracy and Stability of Numerical Algorithms, 4.2: it
// holds for any order). When the sum moved by that bound to either side rounds to one and the same float32, that is the
// answer.
#pragma once

#include <cstdint>

#include "isobit/numerics/exact_sum.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {
namespace {  // the types differ by ISA

#if defined(__AVX512F__)
#define ISOBIT_SUM_LANES 8
#elif defined(__AVX__)
#define ISOBIT_SUM_LANES 4
#else
#define ISOBIT_SUM_LANES 2
#endif

constexpr int kLanes = ISOBIT_SUM_LANES;
constexpr int kVectors = 4;  // independent accumulators, against the latency of an addition
constexpr int kStep = kLanes * kVectors;
constexpr int kFlush = 256;  // additions to one lane before the lanes are emptied into the total
constexpr int kBuffer = 256;
constexpr double kUnit = 0x1p-53;
constexpr double kSlack = 1 + 0x1p-10;  // covers gamma against m u, and the roundings of the bound itself

typedef double Lanes __attribute__((vector_size(8 * ISOBIT_SUM_LANES)));
typedef float HalfLanes __attribute__((vector_size(4 * ISOBIT_SUM_LANES)));
typedef int64_t LaneBits __attribute__((vector_size(8 * ISOBIT_SUM_LANES)));

// Two totals of one pass.
//   kSum:        first = sum x,        second = sum |x|
//   kSquares:    first = sum x^2,      second = the same
//   kDeviations: first = sum (x - c),  second = sum (x - c)^2
enum class Pass { kSum, kSquares, kDeviations };

struct Totals {
  double first = 0;
  double second = 0;
  double depth = 0;  // additions on the longest path
  int64_t count = 0;
};

template <Pass kPass>
ISOBIT_INLINE void take(const float* p, double c, Lanes& first, Lanes& second) {
  HalfLanes half;
  __builtin_memcpy(&half, p, sizeof half);
  const Lanes x = __builtin_convertvector(half, Lanes);
  if constexpr (kPass == Pass::kSum) {
    first += x;
    second += (Lanes)((LaneBits)x & INT64_MAX);
  } else if constexpr (kPass == Pass::kSquares) {
    first += x * x;
  } else {
    const Lanes y = x - c;
    first += y;
    second += y * y;
  }
}

// One accumulator per vector of a step, kept over segments until kFlush additions have gone into a lane.
template <Pass kPass>
struct Accumulators {
  Lanes first[kVectors] = {};
  Lanes second[kVectors] = {};
  int additions = 0;
  Totals totals;

  ISOBIT_INLINE_MEMBER void flush() {
    const Lanes a = (first[0] + first[1]) + (first[2] + first[3]);
    const Lanes b = (second[0] + second[1]) + (second[2] + second[3]);
    for (int l = 0; l < kLanes; ++l) {
      totals.first += a[l];
      totals.second += b[l];
    }
    for (int v = 0; v < kVectors; ++v) first[v] = second[v] = Lanes{};
    totals.depth += kLanes;
    additions = 0;
  }

  ISOBIT_INLINE_MEMBER void contiguous(const float* p, int64_t n, double c) {
    while (n > 0) {
      if (additions >= kFlush) flush();
      int64_t steps = n / kStep;
      if (steps > kFlush - additions) steps = kFlush - additions;
      Lanes f0 = first[0], f1 = first[1], f2 = first[2], f3 = first[3];
      Lanes s0 = second[0], s1 = second[1], s2 = second[2], s3 = second[3];
      for (int64_t i = 0; i < steps; ++i, p += kStep) {
        take<kPass>(p, c, f0, s0);
        take<kPass>(p + kLanes, c, f1, s1);
        take<kPass>(p + 2 * kLanes, c, f2, s2);
        take<kPass>(p + 3 * kLanes, c, f3, s3);
      }
      n -= steps * kStep;
      additions += static_cast<int>(steps);
      if (n < kStep && n > 0) {
        for (; n >= kLanes; n -= kLanes, p += kLanes, ++additions) take<kPass>(p, c, f0, s0);
        if (n > 0) {
          // The rest is filled up with what adds nothing: +0, or c itself.
          float rest[kLanes];
          for (int l = 0; l < kLanes; ++l) rest[l] = kPass == Pass::kDeviations ? static_cast<float>(c) : 0.0f;
          for (int l = 0; l < n; ++l) rest[l] = p[l];
          take<kPass>(rest, c, f0, s0);
          ++additions;
          n = 0;
        }
      }
      first[0] = f0, first[1] = f1, first[2] = f2, first[3] = f3;
      second[0] = s0, second[1] = s1, second[2] = s2, second[3] = s3;
    }
  }
};

// c must be a float32 value.
template <Pass kPass>
ISOBIT_INLINE Totals run(const StridedSegment* segments, int64_t count, double c) {
  Accumulators<kPass> acc;
  for (int64_t s = 0; s < count; ++s) {
    const StridedSegment& segment = segments[s];
    acc.totals.count += segment.count;
    if (segment.stride == 1) {
      acc.contiguous(segment.data, segment.count, c);
      continue;
    }
    float buffer[kBuffer];
    for (int64_t i = 0; i < segment.count; i += kBuffer) {
      const int64_t n = segment.count - i < kBuffer ? segment.count - i : kBuffer;
      for (int64_t j = 0; j < n; ++j) buffer[j] = segment.data[(i + j) * segment.stride];
      acc.contiguous(buffer, n, c);
    }
  }
  acc.flush();
  if constexpr (kPass == Pass::kSquares) acc.totals.second = acc.totals.first;
  // A lane may take up to kVectors more additions than kFlush before it is looked at, and two in its flush.
  acc.totals.depth += kFlush + 2 * kVectors + 4;
  return acc.totals;
}

// How far the true sum may be from `first`, and a little more for the rounding of first +- bound and one division.
ISOBIT_INLINE double bound_of(const Totals& t) { return t.second * ((t.depth + 4) * kUnit * kSlack); }

constexpr double kInfinity64 = __builtin_inf();

ISOBIT_INLINE float special_f32(double x) {
  return x == x ? static_cast<float>(x) : __builtin_bit_cast(float, 0x7fc00000u);
}

ISOBIT_INLINE float sum_rounded(const StridedSegment* segments, int64_t count) {
  const Totals t = run<Pass::kSum>(segments, count, 0);
  if (!(t.second < kInfinity64)) return special_f32(t.first);
  const double bound = bound_of(t);
  const float low = static_cast<float>(t.first - bound);
  const float high = static_cast<float>(t.first + bound);
  // Sums are multiples of 2^-149: one that rounds to zero is zero, and zero is +0.
  return low == high ? low + 0.0f : sum_exactly(segments, count);
}

ISOBIT_INLINE float sum_of_squares_rounded(const StridedSegment* segments, int64_t count) {
  const Totals t = run<Pass::kSquares>(segments, count, 0);
  if (!(t.first < kInfinity64)) return special_f32(t.first);
  const double bound = bound_of(t);
  const float low = static_cast<float>(t.first - bound);
  const float high = static_cast<float>(t.first + bound);
  return low == high ? low + 0.0f : sum_of_squares_exactly(segments, count);
}

ISOBIT_INLINE float mean_rounded(const StridedSegment* segments, int64_t count) {
  const Totals t = run<Pass::kSum>(segments, count, 0);
  if (!(t.second < kInfinity64)) return special_f32(t.first);
  if (t.second == 0) return 0.0f;
  const double bound = bound_of(t);
  const double n = static_cast<double>(t.count);
  const float low = static_cast<float>((t.first - bound) / n);
  const float high = static_cast<float>((t.first + bound) / n);
  // A quotient that rounds to zero has the sign of the exact sum.
  return low == high && low != 0 ? low : mean_exactly(segments, count);
}

// With y = fl(x - mean), one rounding each: |first - sum (x - mean)| <= (depth + 2) u sum|y| and sum|y| <= sqrt(n
// second); |second - sum (x - mean)^2| <= (depth + 6) u second. The variance is second / n - (first / n)^2.
ISOBIT_INLINE MeanVariance mean_variance_rounded(const StridedSegment* segments, int64_t count) {
  const float mean = mean_rounded(segments, count);
  if (!(mean - mean == 0)) return {mean, __builtin_bit_cast(float, 0x7fc00000u)};
  const Totals t = run<Pass::kDeviations>(segments, count, static_cast<double>(mean));
  if (t.second == 0) return {mean, 0.0f};  // all equal
  const double n = static_cast<double>(t.count);
  const double square_mean = t.second / n;
  const double shift = t.first / n;
  const double variance = square_mean - shift * shift;
  const double unit = (t.depth + 16) * kUnit * kSlack;
  const double shift_bound = unit * __builtin_sqrt(square_mean);
  const double magnitude = shift < 0 ? -shift : shift;
  const double bound = (unit * (square_mean + shift * shift) + (2 * magnitude + shift_bound) * shift_bound) * kSlack;
  const float low = static_cast<float>(variance - bound);
  const float high = static_cast<float>(variance + bound);
  return {mean, low == high && low > 0 ? low : variance_exactly(segments, count)};
}

// kStep columns at a time down all rows; lanes are emptied every kFlush rows.
ISOBIT_INLINE void column_block(const float* src, int64_t rows, int64_t row_stride, int vectors, double* first,
                                double* second) {
  Lanes total_first[kVectors] = {}, total_second[kVectors] = {};
  for (int64_t r = 0; r < rows;) {
    const int64_t end = rows - r < kFlush ? rows : r + kFlush;
    Lanes f[kVectors] = {}, s[kVectors] = {};
    if (vectors == kVectors) {
      for (; r < end; ++r) {
        for (int v = 0; v < kVectors; ++v) take<Pass::kSum>(src + r * row_stride + v * kLanes, 0, f[v], s[v]);
      }
    } else {
      for (; r < end; ++r) take<Pass::kSum>(src + r * row_stride, 0, f[0], s[0]);
    }
    for (int v = 0; v < kVectors; ++v) total_first[v] += f[v], total_second[v] += s[v];
  }
  for (int v = 0; v < vectors; ++v) {
    __builtin_memcpy(first + v * kLanes, &total_first[v], sizeof(Lanes));
    __builtin_memcpy(second + v * kLanes, &total_second[v], sizeof(Lanes));
  }
}

ISOBIT_INLINE void sum_columns_rounded(const float* src, int64_t rows, int64_t cols, int64_t row_stride, float* dst) {
  if (rows == 0) {  // src may be null then, and must not be stepped over
    for (int64_t c = 0; c < cols; ++c) dst[c] = 0.0f;
    return;
  }
  const double depth = static_cast<double>(rows / kFlush + kFlush + 2);
  for (int64_t c = 0; c < cols;) {
    const int vectors = cols - c >= kStep ? kVectors : 1;
    const int64_t width = cols - c < kLanes ? 1 : vectors * kLanes;
    double first[kStep], second[kStep];
    if (width > 1) {
      column_block(src + c, rows, row_stride, vectors, first, second);
    } else {
      const StridedSegment column{src + c, rows, row_stride};
      dst[c++] = sum_rounded(&column, 1);
      continue;
    }
    for (int64_t l = 0; l < width; ++l) {
      const double bound = second[l] * ((depth + 4) * kUnit * kSlack);
      const float low = static_cast<float>(first[l] - bound);
      const float high = static_cast<float>(first[l] + bound);
      const StridedSegment column{src + c + l, rows, row_stride};
      dst[c + l] = !(second[l] < kInfinity64) ? special_f32(first[l])
                   : low == high              ? low + 0.0f
                                              : sum_exactly(&column, 1);
    }
    c += width;
  }
}

#undef ISOBIT_SUM_LANES

}  // namespace
}  // namespace isobit::numerics::impl
