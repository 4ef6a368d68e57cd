// The specification of rms_norm.h. T is float or double.
#include <span>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/norm/formulas.h"
#include "isobit/kernels/norm/reference.h"
#include "isobit/kernels/reduce/reference.h"
#include "isobit/kernels/reduce/scalar.h"

namespace isobit::kernels::reference {
namespace {

template <class T>
T squares_of(const T* x, int64_t n) {
  const ConstPart<T> all{x, n};
  return global_sum_of_squares<T>(std::span(&all, 1));
}

template <class T>
T inverse_root(T squares, int64_t count, T eps) {
  return inverse_root_of(mean_square_of(squares, count), eps);
}

}  // namespace

template <class T>
void rms_norm(int64_t rows, int64_t C, T eps, const T* src, const T* scale, T* dst, T* squares) {
  for (int64_t row = 0; row < rows; ++row) {
    const T q = squares_of(src + row * C, C);
    const T r = inverse_root(q, C, eps);
    if (squares) squares[row] = q;
    for (int64_t c = 0; c < C; ++c) {
      const T h = src[row * C + c] * r;
      dst[row * C + c] = canonical(h * scale[c]);
    }
  }
}

template <class T>
void rms_norm_grad(int64_t rows, int64_t C, T eps, const RmsNormGradInputs<T>& in, const RmsNormGradOutputs<T>& out) {
  std::vector<std::vector<T>> p(static_cast<size_t>(C));
  std::vector<T> g(static_cast<size_t>(C)), h(g), e(g);
  for (int64_t row = 0; row < rows; ++row) {
    const T q = squares_of(in.src + row * C, C);
    const T r = inverse_root(q, C, eps);
    for (int64_t c = 0; c < C; ++c) {
      h[c] = in.src[row * C + c] * r;
      g[c] = in.diff_dst[row * C + c] * in.scale[c];
      e[c] = g[c] * h[c];
      p[c].push_back(in.diff_dst[row * C + c] * h[c]);
    }
    const T sum = sum_of(e);
    const T b = sum / static_cast<T>(C);
    for (int64_t c = 0; c < C; ++c) {
      const T v = h[c] * b;
      const T w = g[c] - v;
      out.diff_src[row * C + c] = canonical(w * r);
    }
    if (out.squares) out.squares[row] = q;
    if (out.sum_gh) out.sum_gh[row] = sum;
  }
  for (int64_t c = 0; c < C; ++c) out.diff_scale[c] = sum_of(p[c]);
}

#define ISOBIT_INSTANTIATE(T)                                                 \
  template void rms_norm<T>(int64_t, int64_t, T, const T*, const T*, T*, T*); \
  template void rms_norm_grad<T>(int64_t, int64_t, T, const RmsNormGradInputs<T>&, const RmsNormGradOutputs<T>&);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels::reference
