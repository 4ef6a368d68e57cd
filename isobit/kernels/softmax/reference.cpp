#include "isobit/kernels/softmax/reference.h"

#include <algorithm>
#include <limits>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/kernels/softmax/formulas.h"

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

// m, e, s of the contract for one row.
template <class T>
struct Row {
  Row(const T* x, int64_t n) : m(max_of(x, n)), e(static_cast<size_t>(n)) {
    for (int64_t i = 0; i < n; ++i) e[i] = shifted_exp(x[i], m);
    s = sum_of(e);
  }
  T m;
  std::vector<T> e;
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
      for (int64_t i = 0; i < n; ++i) dst[r * V + i] = softmax_of(row.e[i], row.s);
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
    for (int64_t i = r * V; i < r * V + n; ++i) diff_src[i] = softmax_grad_of(dst[i], diff_dst[i], s);
    for (int64_t i = n; i < V; ++i) diff_src[r * V + i] = 0;
    if (row_sum) row_sum[r] = s;
  }
}

template <class T>
void log_softmax(int64_t rows, int64_t V, const T* src, T* dst, T* row_max, T* log_sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const Row<T> row(src + r * V, V);
    const T l = log_of(row.s);
    for (int64_t i = r * V; i < (r + 1) * V; ++i) dst[i] = log_softmax_of(src[i], row.m, l);
    if (row_max) row_max[r] = row.m;
    if (log_sum) log_sum[r] = l;
  }
}

template <class T>
void log_softmax_grad(int64_t rows, int64_t V, const T* dst, const T* diff_dst, T* diff_src, T* row_sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const T s = sum_of(std::vector<T>(diff_dst + r * V, diff_dst + (r + 1) * V));
    for (int64_t i = r * V; i < (r + 1) * V; ++i) diff_src[i] = log_softmax_grad_of(dst[i], diff_dst[i], s);
    if (row_sum) row_sum[r] = s;
  }
}

template <class T>
T log_sum_exp(int64_t n, const T* src, T* max, T* sum) {
  const T m = n == 0 ? -std::numeric_limits<T>::infinity() : max_of(src, n);
  const T a = finite_or_zero(m);
  std::vector<T> e(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) e[i] = shifted_exp(src[i], a);
  const T s = sum_of(e);
  *max = m;
  *sum = s;
  return log_sum_exp_of(m, s);
}

template <class T>
void softmax_cross_entropy(int64_t rows, int64_t V, CrossEntropyOptions options, const T* logits, const int64_t* labels,
                           T* loss, T* row_max, T* log_sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const Row<T> row(logits + r * V, V);
    const T l = log_of(row.s);
    const bool ignored = options.has_ignore_index && labels[r] == options.ignore_index;
    loss[r] = ignored ? T(0) : cross_entropy_of(logits[r * V + labels[r]], row.m, l);
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
      const T x = logits[r * V + i];
      diff_logits[r * V + i] =
          ignored ? T(0) : cross_entropy_grad_of(x, i == labels[r], row_max[r], log_sum[r], g[r * g_stride]);
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
