#include "isobit/kernels/softmax/reference.h"

#include <algorithm>
#include <limits>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/reduce/scalar.h"

namespace isobit::kernels::reference {
namespace {

// How many leading elements of row r are not masked.
int64_t visible(int64_t r, int64_t V, CausalMask mask) {
  return std::clamp<int64_t>(r % mask.T + mask.offset + 1, 0, V);
}

template <class T>
T max_of(const T* x, int64_t n) {
  T m = x[0];
  for (int64_t i = 1; i < n; ++i) {
    if (greater(x[i], m)) m = x[i];
  }
  return canonical(m);
}

// m, t, e, s of the contract for one row.
template <class T>
struct Row {
  Row(const T* x, int64_t n) : m(max_of(x, n)), t(static_cast<size_t>(n)), e(t) {
    for (int64_t i = 0; i < n; ++i) {
      t[i] = x[i] - m;
      e[i] = exp_of(t[i]);
    }
    s = sum_of(e);
  }
  T m;
  std::vector<T> t, e;
  T s;
};

}  // namespace

template <class T>
void softmax(int64_t rows, int64_t V, CausalMask mask, const T* src, T* dst, T* row_max, T* row_sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t n = visible(r, V, mask);
    T m = -std::numeric_limits<T>::infinity(), s = 0;
    if (n > 0) {
      const Row<T> row(src + r * V, n);
      for (int64_t i = 0; i < n; ++i) dst[r * V + i] = canonical(row.e[i] / row.s);
      m = row.m, s = row.s;
    }
    for (int64_t i = n; i < V; ++i) dst[r * V + i] = 0;
    if (row_max) row_max[r] = m;
    if (row_sum) row_sum[r] = s;
  }
}

template <class T>
void softmax_grad(int64_t rows, int64_t V, CausalMask mask, const T* dst, const T* diff_dst, T* diff_src, T* row_sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t n = visible(r, V, mask);
    std::vector<T> p(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) p[i] = dst[r * V + i] * diff_dst[r * V + i];
    const T s = sum_of(p);
    for (int64_t i = 0; i < n; ++i) {
      const T d = diff_dst[r * V + i] - s;
      diff_src[r * V + i] = canonical(dst[r * V + i] * d);
    }
    for (int64_t i = n; i < V; ++i) diff_src[r * V + i] = 0;
    if (row_sum) row_sum[r] = s;
  }
}

template <class T>
void log_softmax(int64_t rows, int64_t V, const T* src, T* dst, T* row_max, T* log_sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const Row<T> row(src + r * V, V);
    const T l = log_of(row.s);
    for (int64_t i = 0; i < V; ++i) dst[r * V + i] = canonical(row.t[i] - l);
    if (row_max) row_max[r] = row.m;
    if (log_sum) log_sum[r] = l;
  }
}

template <class T>
void log_softmax_grad(int64_t rows, int64_t V, const T* dst, const T* diff_dst, T* diff_src, T* row_sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const T s = sum_of(std::vector<T>(diff_dst + r * V, diff_dst + (r + 1) * V));
    for (int64_t i = r * V; i < (r + 1) * V; ++i) {
      const T p = exp_of(dst[i]);
      const T q = p * s;
      diff_src[i] = canonical(diff_dst[i] - q);
    }
    if (row_sum) row_sum[r] = s;
  }
}

template <class T>
T log_sum_exp(int64_t n, const T* src, T* max, T* sum) {
  const T m = n == 0 ? -std::numeric_limits<T>::infinity() : max_of(src, n);
  const T a = numerics::is_finite(m) ? m : T(0);
  std::vector<T> e(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const T t = src[i] - a;
    e[i] = exp_of(t);
  }
  const T s = sum_of(e);
  const T l = log_of(s);
  *max = m;
  *sum = s;
  return canonical(l + a);
}

template <class T>
void softmax_cross_entropy(int64_t rows, int64_t V, CrossEntropyOptions options, const T* logits, const int64_t* labels,
                           T* loss, T* row_max, T* log_sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const Row<T> row(logits + r * V, V);
    const T l = log_of(row.s);
    const bool ignored = options.has_ignore_index && labels[r] == options.ignore_index;
    loss[r] = ignored ? T(0) : canonical(l - row.t[labels[r]]);
    row_max[r] = row.m;
    log_sum[r] = l;
  }
}

template <class T>
T cross_entropy_mean(int64_t rows, const T* loss, int64_t count) {
  if (count == 0) return 0;
  return canonical(sum_of(std::vector<T>(loss, loss + rows)) / static_cast<T>(count));
}

template <class T>
void softmax_cross_entropy_grad(int64_t rows, int64_t V, CrossEntropyOptions options, const T* logits,
                                const int64_t* labels, const T* row_max, const T* log_sum, const T* g, int64_t g_stride,
                                T* diff_logits) {
  for (int64_t r = 0; r < rows; ++r) {
    const bool ignored = options.has_ignore_index && labels[r] == options.ignore_index;
    for (int64_t i = 0; i < V; ++i) {
      const T t = logits[r * V + i] - row_max[r];
      const T v = t - log_sum[r];
      const T p = exp_of(v);
      const T q = i == labels[r] ? p - T(1) : p;
      diff_logits[r * V + i] = ignored ? T(0) : canonical(q * g[r * g_stride]);
    }
  }
}

#define ISOBIT_INSTANTIATE(T)                                                                                          \
  template void softmax<T>(int64_t, int64_t, CausalMask, const T*, T*, T*, T*);                                        \
  template void softmax_grad<T>(int64_t, int64_t, CausalMask, const T*, const T*, T*, T*);                             \
  template void log_softmax<T>(int64_t, int64_t, const T*, T*, T*, T*);                                                \
  template void log_softmax_grad<T>(int64_t, int64_t, const T*, const T*, T*, T*);                                     \
  template void softmax_cross_entropy<T>(int64_t, int64_t, CrossEntropyOptions, const T*, const int64_t*, T*, T*, T*); \
  template T log_sum_exp<T>(int64_t, const T*, T*, T*);                                                                \
  template T cross_entropy_mean<T>(int64_t, const T*, int64_t);                                                        \
  template void softmax_cross_entropy_grad<T>(int64_t, int64_t, CrossEntropyOptions, const T*, const int64_t*,         \
                                              const T*, const T*, const T*, int64_t, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels::reference
