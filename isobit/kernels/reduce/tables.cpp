// Compiled once for every instruction set.
#include "isobit/kernels/reduce/lanes.h"
#include "isobit/kernels/reduce/table.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::reduce {
namespace {

bool sum(const float* x, int64_t spans, int64_t stride, int64_t n, float* rounded) {
  Totals<1> totals;
  for (int64_t i = 0; i < spans; ++i) add_terms(totals, n, PlainTerms{x + i * stride});
  return decide(bounded(totals, 0), rounded);
}

// Squares of float32 are exact in float64 and positive, so the sum is its own size.
void sum_of_squares(const float* x, int64_t n, double* result, double* error) {
  Doubles total = {};
  double tail = 0, steps = static_cast<double>(kChunkSteps + 2 * kLanes + 8);
  int64_t i = 0;
  constexpr int64_t kStep = 4 * kLanes;
  while (i + kStep <= n) {
    const int64_t end = n - i < kChunkSteps * kStep ? n : i + kChunkSteps * kStep;
    Doubles s[4] = {};
    for (; i + kStep <= end; i += kStep) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const Doubles d = widen(load(x + i + u * kLanes));
        s[u] += d * d;
      }
    }
    total += (s[0] + s[1]) + (s[2] + s[3]);
    steps += 1;
  }
  for (; i < n; ++i) tail += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double s = tail;
  for (int64_t l = 0; l < kLanes; ++l) s += total[l];
  *result = s;
  *error = s * steps * 0x1p-52;
}

// kRows rows, added to what the columns have.
template <int kRows>
ISOBIT_INLINE void add_rows(const float* x, int64_t row_stride, int64_t cols, double* __restrict s,
                            double* __restrict a, float* __restrict least) {
  for (int64_t j = 0; j < cols; ++j) {
    double sum = s[j], size = a[j];
    float m = least[j];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float value = x[r * row_stride + j];
      const double d = static_cast<double>(value);
      sum += d;
      size += __builtin_fabs(d);
      const float magnitude = not_zero_magnitude(value);
      m = magnitude < m ? magnitude : m;
    }
    s[j] = sum;
    a[j] = size;
    least[j] = m;
  }
}

// Several rows at a time: fewer loads and stores of what they are added to, and more of memory's lines on their way.
void add_columns(const float* x, int64_t rows, int64_t row_stride, int64_t cols, double* __restrict sum_out,
                 double* __restrict size_out, float* __restrict least) {
  constexpr int kRows = 4;
  double s[kColumnBlock], a[kColumnBlock];
  for (int64_t first = 0; first < rows; first += kColumnChunk) {
    const int64_t last = rows - first < kColumnChunk ? rows : first + kColumnChunk;
    for (int64_t j = 0; j < cols; ++j) s[j] = a[j] = 0;
    int64_t r = first;
    for (; r + kRows <= last; r += kRows) add_rows<kRows>(x + r * row_stride, row_stride, cols, s, a, least);
    for (; r < last; ++r) add_rows<1>(x + r * row_stride, row_stride, cols, s, a, least);
    for (int64_t j = 0; j < cols; ++j) {
      sum_out[j] += s[j];
      size_out[j] += a[j];
    }
  }
}

int64_t round_columns(int64_t cols, const double* sum_in, const double* size_in, const float* least, double steps,
                      float* __restrict dst, uint8_t* __restrict undecided) {
  constexpr int64_t kBlock = 64;
  int32_t open[kBlock];
  int64_t count = 0;
  for (int64_t first = 0; first < cols; first += kBlock) {
    const int64_t n = cols - first < kBlock ? cols - first : kBlock;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t c = first + j;
      open[j] = decide({sum_in[c], size_in[c], steps}, least[c], &dst[c]) ? 0 : 1;
    }
    for (int64_t j = 0; j < n; ++j) {
      undecided[first + j] = static_cast<uint8_t>(open[j]);
      count += open[j];
    }
  }
  return count;
}

template <int kRows>
ISOBIT_INLINE void add_term_rows(int64_t n, const float* x, double* __restrict sum, float* __restrict largest,
                                 float* __restrict least) {
  for (int64_t j = 0; j < n; ++j) {
    double s = sum[j];
    float high = largest[j], low = least[j];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float value = x[r * n + j], any = __builtin_fabsf(value), magnitude = not_zero_magnitude(value);
      s += static_cast<double>(value);
      high = any > high ? any : high;
      low = magnitude < low ? magnitude : low;
    }
    sum[j] = s;
    largest[j] = high;
    least[j] = low;
  }
}

void add_terms(int64_t n, int64_t rows, const float* x, double* sum, float* largest, float* least) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) add_term_rows<4>(n, x + r * n, sum, largest, least);
  for (; r < rows; ++r) add_term_rows<1>(n, x + r * n, sum, largest, least);
}

float max(const float* x, int64_t n) { return from_order_key(max_key(x, n)); }

void max_columns(const float* x, int64_t rows, int64_t row_stride, int64_t cols, int32_t* __restrict best,
                 float* __restrict dst) {
  for (int64_t j = 0; j < cols; ++j) best[j] = order_key(x[j]);
  for (int64_t r = 1; r < rows; ++r) {
    const float* row = x + r * row_stride;
    for (int64_t j = 0; j < cols; ++j) {
      const int32_t key = order_key(row[j]);
      best[j] = key > best[j] ? key : best[j];
    }
  }
  for (int64_t j = 0; j < cols; ++j) dst[j] = from_order_key(best[j]);
}

constexpr Table kTable = {sum, sum_of_squares, add_columns, round_columns, add_terms, max, max_columns};

}  // namespace

ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA)

}  // namespace isobit::kernels::reduce
