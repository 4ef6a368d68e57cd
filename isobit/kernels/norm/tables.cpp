// Compiled once for every instruction set. Statistics, then element-wise loops.
#include "isobit/kernels/norm/table.h"
#include "isobit/kernels/reduce/lanes.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::norm {
namespace {

// Rounds mean and variance from the float64 sums S of d and Q of d^2, d = x - pivot, over n values.
//
// The mean is pivot + S / n and the variance (Q - S^2 / n) / n whatever the pivot. Each d is off by at most u |d|, and
// by Cauchy and Schwarz sum|d| <= sqrt(n Q), which bounds the error of S; the bounds take 2u for u, as in lanes.h.
ISOBIT_INLINE uint8_t round_stats(double n, double pivot, double S, double Q, double steps, float* mean, float* var) {
  const double k = (steps + 8) * 0x1p-52;
  const double S_error = __builtin_sqrt(n * Q) * k;
  const double m = pivot + S / n;
  const double m_error = S_error / n + (magnitude(S) / n + magnitude(m)) * 0x1p-51;
  const double square = S * S / n;
  const double rest = Q - square;
  const double rest_error = Q * k + (2 * magnitude(S) + S_error) * S_error / n + (square + magnitude(rest)) * 0x1p-50;
  const bool all_zero = Q == 0 && pivot == 0;
  const bool mean_known = decide(m, m_error, all_zero ? 0.0 : 1.0, mean);
  const bool var_known = decide(rest / n, rest_error / n, Q, var);
  return static_cast<uint8_t>((mean_known ? 0 : kFirst) | (var_known ? 0 : kSecond));
}

ISOBIT_INLINE void moments(const float* x, int64_t spans, int64_t stride, int64_t n, double pivot, double* S, double* Q,
                           double* steps) {
  constexpr int64_t kStep = 4 * kLanes;
  Doubles total_s = {}, total_q = {};
  double folds = 0;
  for (int64_t span = 0; span < spans; ++span) {
    const float* p = x + span * stride;
    int64_t i = 0;
    while (i < n) {
      const int64_t end = n - i < kChunkSteps * kStep ? n : i + kChunkSteps * kStep;
      Doubles s[4] = {}, q[4] = {};
      for (; i + kStep <= end; i += kStep) {
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const Doubles d = widen(load(p + i + u * kLanes)) - pivot;
          s[u] += d;
          q[u] += d * d;
        }
      }
      for (; i + kLanes <= end; i += kLanes) {
        const Doubles d = widen(load(p + i)) - pivot;
        s[0] += d;
        q[0] += d * d;
      }
      double tail_s = 0, tail_q = 0;
      for (; i < end; ++i) {
        const double d = static_cast<double>(p[i]) - pivot;
        tail_s += d;
        tail_q += d * d;
      }
      total_s += (s[0] + s[1]) + (s[2] + s[3]);
      total_q += (q[0] + q[1]) + (q[2] + q[3]);
      total_s[0] += tail_s;
      total_q[0] += tail_q;
      folds += 2;
    }
  }
  double s = 0, q = 0;
  for (int64_t l = 0; l < kLanes; ++l) {
    s += total_s[l];
    q += total_q[l];
  }
  *S = s;
  *Q = q;
  *steps = folds + static_cast<double>(kChunkSteps + 3 * kLanes + 8);
}

// The first value is as good a pivot as any, unless it is an outlier; then the mean is.
uint8_t stats(const float* x, int64_t spans, int64_t stride, int64_t n, float* mean, float* var) {
  const double count = static_cast<double>(spans * n);
  double pivot = static_cast<double>(x[0]), S, Q, steps;
  moments(x, spans, stride, n, pivot, &S, &Q, &steps);
  const uint8_t open = round_stats(count, pivot, S, Q, steps, mean, var);
  if (open == kDecided || !(Q < __builtin_inf())) return open;
  pivot += S / count;
  moments(x, spans, stride, n, pivot, &S, &Q, &steps);
  return round_stats(count, pivot, S, Q, steps, mean, var);
}

void stats_interleaved(const float* x, Interleaved v, float* mean, float* var, uint8_t* undecided) {
  const int64_t cols = v.groups * v.fold;
  double pivot[kColumns], S[kColumns], Q[kColumns], s[kColumns], q[kColumns];
  for (int64_t j = 0; j < cols; ++j) {
    pivot[j] = static_cast<double>(x[j / v.fold * v.fold]);
    S[j] = Q[j] = 0;
  }
  for (int64_t first = 0; first < v.rows; first += kChunkSteps) {
    const int64_t last = v.rows - first < kChunkSteps ? v.rows : first + kChunkSteps;
    for (int64_t j = 0; j < cols; ++j) s[j] = q[j] = 0;
    for (int64_t i = first; i < last; ++i) {
      const float* row = x + i * v.row_stride;
      for (int64_t j = 0; j < cols; ++j) {
        const double d = static_cast<double>(row[j]) - pivot[j];
        s[j] += d;
        q[j] += d * d;
      }
    }
    for (int64_t j = 0; j < cols; ++j) {
      S[j] += s[j];
      Q[j] += q[j];
    }
  }
  const double steps = static_cast<double>(kChunkSteps + v.rows / kChunkSteps + v.fold + 4);
  for (int64_t g = 0; g < v.groups; ++g) {
    double sum = 0, squares = 0;
    for (int64_t f = 0; f < v.fold; ++f) {
      sum += S[g * v.fold + f];
      squares += Q[g * v.fold + f];
    }
    undecided[g] =
        round_stats(static_cast<double>(v.rows * v.fold), pivot[g * v.fold], sum, squares, steps, &mean[g], &var[g]);
  }
}

// dy and dy * h, with what belongs to the channel in mean and r.
struct GradTerms {
  const float *x, *dy;
  float mean, r;
  ISOBIT_INLINE_MEMBER void vec(int64_t i, Floats* t) const {
    const Floats h = (load(x + i) - mean) * r;
    t[1] = load(dy + i);
    t[0] = t[1] * h;
  }
  ISOBIT_INLINE_MEMBER void one(int64_t i, float* t) const {
    const float h = (x[i] - mean) * r;
    t[1] = dy[i];
    t[0] = t[1] * h;
  }
};

// (dy * scale) * h and dy * scale of a row.
struct RowTerms {
  const float *x, *dy, *scale;
  float mean, r;
  ISOBIT_INLINE_MEMBER void vec(int64_t i, Floats* t) const {
    const Floats h = (load(x + i) - mean) * r;
    t[0] = load(dy + i) * load(scale + i);
    t[1] = t[0] * h;
  }
  ISOBIT_INLINE_MEMBER void one(int64_t i, float* t) const {
    const float h = (x[i] - mean) * r;
    t[0] = dy[i] * scale[i];
    t[1] = t[0] * h;
  }
};

ISOBIT_INLINE uint8_t decide_two(Bounded first, Bounded second, float* a, float* b) {
  const bool first_known = decide(first, a), second_known = decide(second, b);
  return static_cast<uint8_t>((first_known ? 0 : kFirst) | (second_known ? 0 : kSecond));
}

uint8_t grad_sums(const float* x, const float* dy, int64_t spans, int64_t stride, int64_t n, float mean, float r,
                  float* diff_scale, float* diff_bias) {
  Totals<2> totals;
  for (int64_t i = 0; i < spans; ++i) add_terms(totals, n, GradTerms{x + i * stride, dy + i * stride, mean, r});
  return decide_two(bounded(totals, 0), bounded(totals, 1), diff_scale, diff_bias);
}

uint8_t row_sums(int64_t n, const float* x, const float* dy, const float* scale, float mean, float r, float* sum_g,
                 float* sum_gh) {
  Totals<2> totals;
  add_terms(totals, n, RowTerms{x, dy, scale, mean, r});
  return decide_two(bounded(totals, 0), bounded(totals, 1), sum_g, sum_gh);
}

// Sums of p and dy of many columns.
struct ColumnTotals {
  double p[kColumns], p_size[kColumns], dy[kColumns], dy_size[kColumns];
  ISOBIT_INLINE_MEMBER void clear(int64_t cols) {
    for (int64_t j = 0; j < cols; ++j) p[j] = p_size[j] = dy[j] = dy_size[j] = 0;
  }
  ISOBIT_INLINE_MEMBER void add(const ColumnTotals& other, int64_t cols) {
    for (int64_t j = 0; j < cols; ++j) {
      p[j] += other.p[j];
      p_size[j] += other.p_size[j];
      dy[j] += other.dy[j];
      dy_size[j] += other.dy_size[j];
    }
  }
  // mean(j) and r(j) of column j in this row.
  template <class Mean, class R>
  ISOBIT_INLINE_MEMBER void add_row(const float* __restrict x, const float* __restrict g, int64_t cols, Mean mean,
                                    R r) {
    for (int64_t j = 0; j < cols; ++j) {
      const float h = (x[j] - mean(j)) * r(j);
      const double product = static_cast<double>(g[j] * h), plain = static_cast<double>(g[j]);
      p[j] += product;
      p_size[j] += __builtin_fabs(product);
      dy[j] += plain;
      dy_size[j] += __builtin_fabs(plain);
    }
  }
};

// Rounds the totals of `groups` groups of `fold` columns.
ISOBIT_INLINE void round_columns(const ColumnTotals& t, int64_t rows, int64_t groups, int64_t fold, float* diff_scale,
                                 float* diff_bias, uint8_t* undecided) {
  const double steps = static_cast<double>(kChunkSteps + rows / kChunkSteps + fold + 4);
  for (int64_t g = 0; g < groups; ++g) {
    Bounded p = {0, 0, steps}, dy = {0, 0, steps};
    for (int64_t j = g * fold; j < (g + 1) * fold; ++j) {
      p.sum += t.p[j];
      p.size += t.p_size[j];
      dy.sum += t.dy[j];
      dy.size += t.dy_size[j];
    }
    undecided[g] = decide_two(p, dy, &diff_scale[g], &diff_bias[g]);
  }
}

void grad_sums_interleaved(const float* x, const float* dy, Interleaved v, const float* mean, const float* r,
                           float* diff_scale, float* diff_bias, uint8_t* undecided) {
  const int64_t cols = v.groups * v.fold;
  float m[kColumns], s[kColumns];
  for (int64_t j = 0; j < cols; ++j) {
    m[j] = mean[j / v.fold];
    s[j] = r[j / v.fold];
  }
  ColumnTotals total, chunk;
  total.clear(cols);
  for (int64_t first = 0; first < v.rows; first += kChunkSteps) {
    const int64_t last = v.rows - first < kChunkSteps ? v.rows : first + kChunkSteps;
    chunk.clear(cols);
    for (int64_t i = first; i < last; ++i) {
      chunk.add_row(
          x + i * v.row_stride, dy + i * v.row_stride, cols, [&](int64_t j) { return m[j]; },
          [&](int64_t j) { return s[j]; });
    }
    total.add(chunk, cols);
  }
  round_columns(total, v.rows, v.groups, v.fold, diff_scale, diff_bias, undecided);
}

void grad_params(const float* x, const float* dy, int64_t rows, int64_t row_stride, int64_t cols, const float* mean,
                 const float* r, float* diff_scale, float* diff_bias, uint8_t* undecided) {
  ColumnTotals total, chunk;
  total.clear(cols);
  for (int64_t first = 0; first < rows; first += kChunkSteps) {
    const int64_t last = rows - first < kChunkSteps ? rows : first + kChunkSteps;
    chunk.clear(cols);
    for (int64_t i = first; i < last; ++i) {
      const float m = mean[i], s = r[i];
      chunk.add_row(
          x + i * row_stride, dy + i * row_stride, cols, [=](int64_t) { return m; }, [=](int64_t) { return s; });
    }
    total.add(chunk, cols);
  }
  round_columns(total, rows, cols, 1, diff_scale, diff_bias, undecided);
}

ISOBIT_INLINE float normalised(float x, float mean, float r, float scale, float bias) {
  const float h = (x - mean) * r;
  const float p = h * scale;
  return canonical_f32(p + bias);
}

void apply(int64_t n, const float* x, float mean, float r, float scale, float bias, float* dst) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) dst[i] = normalised(x[i], mean, r, scale, bias);
}

void apply_row(int64_t n, const float* x, float mean, float r, const float* scale, const float* bias, float* dst) {
  if (bias) {
    ISOBIT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) dst[i] = normalised(x[i], mean, r, scale[i], bias[i]);
  } else {
    ISOBIT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const float h = (x[i] - mean) * r;
      dst[i] = canonical_f32(h * scale[i]);
    }
  }
}

void apply_interleaved(const float* x, Interleaved v, const float* mean, const float* r, const float* scale,
                       const float* bias, float* dst) {
  const int64_t cols = v.groups * v.fold;
  float m[kColumns], s[kColumns], g[kColumns], b[kColumns];
  for (int64_t j = 0; j < cols; ++j) {
    m[j] = mean[j / v.fold];
    s[j] = r[j / v.fold];
    g[j] = scale[j / v.fold];
    b[j] = bias[j / v.fold];
  }
  for (int64_t i = 0; i < v.rows; ++i) {
    const float* from = x + i * v.row_stride;
    float* to = dst + i * v.row_stride;
    ISOBIT_INDEPENDENT
    for (int64_t j = 0; j < cols; ++j) to[j] = normalised(from[j], m[j], s[j], g[j], b[j]);
  }
}

ISOBIT_INLINE float gradient(float x, float dy, Channel c) {
  const float h = (x - c.mean) * c.r;
  const float u = dy - c.a;
  const float v = h * c.b;
  const float w = u - v;
  return canonical_f32(w * c.k);
}

void grad_data(int64_t n, const float* x, const float* dy, Channel c, float* diff_src) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) diff_src[i] = gradient(x[i], dy[i], c);
}

void grad_data_interleaved(const float* x, const float* dy, Interleaved v, const Channels& c, float* diff_src) {
  const int64_t cols = v.groups * v.fold;
  float mean[kColumns], r[kColumns], a[kColumns], b[kColumns], k[kColumns];
  for (int64_t j = 0; j < cols; ++j) {
    mean[j] = c.mean[j / v.fold];
    r[j] = c.r[j / v.fold];
    a[j] = c.a[j / v.fold];
    b[j] = c.b[j / v.fold];
    k[j] = c.k[j / v.fold];
  }
  for (int64_t i = 0; i < v.rows; ++i) {
    const float *from = x + i * v.row_stride, *g = dy + i * v.row_stride;
    float* to = diff_src + i * v.row_stride;
    ISOBIT_INDEPENDENT
    for (int64_t j = 0; j < cols; ++j) to[j] = gradient(from[j], g[j], {mean[j], r[j], a[j], b[j], k[j]});
  }
}

void row_data(int64_t n, const float* x, const float* dy, const float* scale, float mean, float r, float a, float b,
              float* diff_src) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) diff_src[i] = gradient(x[i], dy[i] * scale[i], {mean, r, a, b, r});
}

constexpr Table kTable = {stats,
                          stats_interleaved,
                          apply,
                          apply_row,
                          apply_interleaved,
                          grad_sums,
                          grad_sums_interleaved,
                          grad_params,
                          grad_data,
                          grad_data_interleaved,
                          row_sums,
                          row_data};

}  // namespace

ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA)

}  // namespace isobit::kernels::norm
