#include "isobit/kernels/determinant/determinant.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

// Eliminates column k below row k. Whether its pivot is not 0; rows and det are changed as the header says.
bool eliminate(double* a, int64_t n, int64_t k, double& det) {
  int64_t p = k;
  for (int64_t i = k + 1; i < n; ++i) {
    if (std::fabs(a[i * n + k]) > std::fabs(a[p * n + k])) p = i;
  }
  double* pivot = a + k * n;
  if (p != k) {
    std::swap_ranges(pivot + k, pivot + n, a + p * n + k);
    det = -det;
  }
  if (pivot[k] == 0) return false;
  det = det * pivot[k];
  for (int64_t i = k + 1; i < n; ++i) {
    double* row = a + i * n;
    const double f = row[k] / pivot[k];
    for (int64_t j = k + 1; j < n; ++j) row[j] = row[j] - f * pivot[j];
  }
  return true;
}

template <class T>
T of_one(int64_t n, const T* src, double* a) {
  bool finite = true;
  for (int64_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<double>(src[i]);
    finite = finite && std::isfinite(a[i]);
  }
  if (!finite) return numerics::canonical(std::numeric_limits<T>::quiet_NaN());
  double det = 1;
  for (int64_t k = 0; k < n; ++k) {
    if (!eliminate(a, n, k, det)) return 0;
  }
  return numerics::canonical(static_cast<T>(det));
}

template <class T>
void of_all(const KernelContext& ctx, int64_t count, int64_t n, const T* src, T* dst) {
  const double rows = static_cast<double>(n);
  const auto work = static_cast<int64_t>(std::min(rows * rows * rows, 0x1p40)) + 1;
  parallel_items(ctx, count, work, [=](int64_t begin, int64_t end) {
    ScratchVector<double> a(static_cast<size_t>(n * n));
    for (int64_t m = begin; m < end; ++m) dst[m] = of_one(n, src + m * n * n, a.data());
  });
}

}  // namespace

void determinant(const KernelContext& ctx, int64_t count, int64_t n, const float* src, float* dst) {
  of_all(ctx, count, n, src, dst);
}
void determinant(const KernelContext& ctx, int64_t count, int64_t n, const double* src, double* dst) {
  of_all(ctx, count, n, src, dst);
}

}  // namespace isobit::kernels
