// Compiled once, for the baseline machine: networks that have it spend their time elsewhere.
#include "isobit/kernels/norm/local_response_norm.h"

#include <algorithm>
#include <span>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/norm/formulas.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {
namespace {

// The sum of `count` squares, `stride` apart.
float sum_of_squares(const float* x, int64_t count, int64_t stride) {
  double sum = 0;  // the squares are exact
  for (int64_t i = 0; i < count; ++i) {
    const double d = static_cast<double>(x[i * stride]);
    sum += d * d;
  }
  const double error = sum * static_cast<double>(count + 4) * 0x1p-52;
  const float low = static_cast<float>(sum - error), high = static_cast<float>(sum + error);
  if (low == high) return low;
  const numerics::StridedSegment segment{x, count, stride};
  return numerics::sum_of_squares_exactly(&segment, 1);
}
double sum_of_squares(const double* x, int64_t count, int64_t stride) {
  const numerics::StridedSegmentF64 segment{x, count, stride};
  return numerics::sum_of_squares_ordered_f64(std::span(&segment, 1));
}

}  // namespace

template <class T>
void local_response_norm(const KernelContext& ctx, ResponseNormShape shape, const ResponseNormFactors<T>& f,
                         const T* src, T* dst, T* squares) {
  const reference::ResponseNorm<T> factors = {f.alpha, f.beta, f.bias, shape.size};
  const int64_t before = (shape.size - 1) / 2, behind = shape.size / 2;
  parallel_items(ctx, shape.n * shape.c, shape.s * (std::min(shape.size, shape.c) + 64), [=](int64_t b, int64_t end) {
    for (int64_t plane = b; plane < end; ++plane) {
      const int64_t c = plane % shape.c;
      const int64_t first = c - std::min(c, before), last = c + std::min(shape.c - 1 - c, behind);
      const T *x = src + plane * shape.s, *window = x - (c - first) * shape.s;
      for (int64_t i = 0; i < shape.s; ++i) {
        const T q = sum_of_squares(window + i, last - first + 1, shape.s);
        dst[plane * shape.s + i] = reference::response_norm_of(x[i], q, factors);
        if (squares) squares[plane * shape.s + i] = q;
      }
    }
  });
}

#define ISOBIT_INSTANTIATE(T)                                                                                  \
  template void local_response_norm<T>(const KernelContext&, ResponseNormShape, const ResponseNormFactors<T>&, \
                                       const T*, T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
