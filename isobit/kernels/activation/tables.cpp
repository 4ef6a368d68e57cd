// The family in plain loops that the compiler vectorises; compiled once for every instruction set.
#include "isobit/kernels/activation/table.h"
#include "isobit/kernels/elementwise/loop.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::activation {
namespace {

namespace impl = numerics::impl;
using elementwise::each;
using elementwise::tidy;

// clang-format off
template <class T> struct Function;
template <> struct Function<float> {
  ISOBIT_INLINE float exp(float x) { return impl::cr_exp(x); }
  ISOBIT_INLINE float erf(float x) { return impl::cr_erf(x); }
  ISOBIT_INLINE float tanh(float x) { return impl::cr_tanh(x); }
  ISOBIT_INLINE float sigmoid(float x) { return impl::cr_sigmoid(x); }
  ISOBIT_INLINE float gelu_erf(float x) { return impl::cr_gelu_erf(x); }
  ISOBIT_INLINE float gelu_tanh(float x) { return impl::cr_gelu_tanh(x); }
};
template <> struct Function<double> {
  ISOBIT_INLINE double exp(double x) { return impl::f64_exp(x); }
  ISOBIT_INLINE double erf(double x) { return impl::f64_erf(x); }
  ISOBIT_INLINE double tanh(double x) { return impl::f64_tanh(x); }
  ISOBIT_INLINE double sigmoid(double x) { return impl::f64_sigmoid(x); }
  ISOBIT_INLINE double gelu_erf(double x) { return impl::f64_gelu_erf(x); }
  ISOBIT_INLINE double gelu_tanh(double x) { return impl::f64_gelu_tanh(x); }
};
// clang-format on

template <class T>
void relu(int64_t n, const T* src, T* dst) {
  each(n, src, dst, [](T x) {
    const T y = x > 0 ? x : T(0);
    return tidy(x == x ? y : x);
  });
}

template <class T>
void relu_grad(int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  each(n, src, diff_dst, diff_src, [](T x, T dy) {
    const T d = tidy(dy);
    return x > 0 ? d : T(0);
  });
}

template <class T>
void leaky_relu(int64_t n, T alpha, const T* src, T* dst) {
  each(n, src, dst, [alpha](T x) {
    const T below = alpha * x;
    return tidy(x >= 0 ? x : below);
  });
}

template <class T>
void leaky_relu_grad(int64_t n, T alpha, const T* src, const T* diff_dst, T* diff_src) {
  each(n, src, diff_dst, diff_src, [alpha](T x, T dy) {
    const T below = alpha * dy;
    return tidy(x > 0 ? dy : below);
  });
}

template <class T>
void sigmoid(int64_t n, const T* src, T* dst) {
  each(n, src, dst, [](T x) { return Function<T>::sigmoid(x); });
}

template <class T>
void sigmoid_grad(int64_t n, const T* dst, const T* diff_dst, T* diff_src) {
  each(n, dst, diff_dst, diff_src, [](T y, T dy) { return tidy((1 - y) * y * dy); });
}

template <class T>
void tanh(int64_t n, const T* src, T* dst) {
  each(n, src, dst, [](T x) { return Function<T>::tanh(x); });
}

template <class T>
void tanh_grad(int64_t n, const T* dst, const T* diff_dst, T* diff_src) {
  each(n, dst, diff_dst, diff_src, [](T y, T dy) { return tidy((1 - y) * (1 + y) * dy); });
}

template <class T>
void gelu_erf_of_each(int64_t n, const T* src, T* dst) {
  each(n, src, dst, [](T x) { return Function<T>::gelu_erf(x); });
}

constexpr int kBlock = 32;

// A near value's float is the right one where both ends of its error give the same float (NaN never does). False where
// one of the block is not sure; dst is then untouched, for it may be src.
ISOBIT_INLINE bool gelu_erf_block(const float* src, float* dst) {
  float nearest[kBlock];
  int32_t unsure = 0;
  for (int i = 0; i < kBlock; ++i) {
    const double y = impl::gelu_erf_near(src[i]);
    const auto low = static_cast<float>(y * (1 - impl::kGeluNearError));
    const auto high = static_cast<float>(y * (1 + impl::kGeluNearError));
    nearest[i] = low;
    unsure |= low == high ? 0 : 1;
  }
  if (unsure != 0) return false;
  for (int i = 0; i < kBlock; ++i) dst[i] = nearest[i];
  return true;
}

void gelu_erf(int64_t n, const double* src, double* dst) { gelu_erf_of_each(n, src, dst); }

void gelu_erf(int64_t n, const float* src, float* dst) {
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    if (!gelu_erf_block(src + i, dst + i)) gelu_erf_of_each(kBlock, src + i, dst + i);
  }
  gelu_erf_of_each(n - i, src + i, dst + i);
}

template <class T>
void gelu(GeluForm form, int64_t n, const T* src, T* dst) {
  if (form == GeluForm::kErf) {
    gelu_erf(n, src, dst);
  } else {
    each(n, src, dst, [](T x) { return Function<T>::gelu_tanh(x); });
  }
}

template <class T>
ISOBIT_INLINE T bounded(T x) {
  constexpr T kBound = GeluConstants<T>::kBound;
  const T c = x > kBound ? kBound : x;
  return c < -kBound ? -kBound : c;
}

template <class T>
ISOBIT_INLINE T gelu_erf_slope(T c) {
  using K = GeluConstants<T>;
  const T phi = T(0.5) * (1 + Function<T>::erf(K::kInverseRoot2 * c));
  const T density = K::kInverseRoot2Pi * Function<T>::exp(T(-0.5) * (c * c));
  return phi + c * density;
}

template <class T>
ISOBIT_INLINE T gelu_tanh_slope(T c) {
  using K = GeluConstants<T>;
  const T c2 = c * c;
  const T e = Function<T>::tanh(K::kRoot2OverPi * (c + K::kCubic * (c2 * c)));
  const T u = 1 + e;
  const T v = (1 - e) * u;
  const T l = K::kRoot2OverPi * (1 + K::kThreeCubic * c2);
  return T(0.5) * u + T(0.5) * c * v * l;
}

template <class T>
void gelu_erf_grad_of_each(int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  each(n, src, diff_dst, diff_src, [](T x, T dy) { return tidy(gelu_erf_slope(bounded(x)) * dy); });
}

// As gelu_erf_block. The first sum, 1 + erf, is the same wherever both ends of erf's error make it: it grows with erf.
ISOBIT_INLINE bool gelu_erf_grad_block(const float* src, const float* diff_dst, float* diff_src) {
  using K = GeluConstants<float>;
  float slope[kBlock];
  int32_t unsure = 0;
  for (int i = 0; i < kBlock; ++i) {
    const float c = bounded(src[i]);
    const impl::ErfAndExp near = impl::erf_and_exp_near(K::kInverseRoot2 * c, -0.5f * (c * c));
    const float u = 1 + static_cast<float>(near.erf - impl::kErfNearError);
    const float u_above = 1 + static_cast<float>(near.erf + impl::kErfNearError);
    const auto g = static_cast<float>(near.exp * (1 - impl::kExpNearError));
    const auto g_above = static_cast<float>(near.exp * (1 + impl::kExpNearError));
    unsure |= u == u_above && g == g_above ? 0 : 1;
    slope[i] = 0.5f * u + c * (K::kInverseRoot2Pi * g);
  }
  if (unsure != 0) return false;
  for (int i = 0; i < kBlock; ++i) diff_src[i] = tidy(slope[i] * diff_dst[i]);
  return true;
}

void gelu_erf_grad(int64_t n, const double* src, const double* diff_dst, double* diff_src) {
  gelu_erf_grad_of_each(n, src, diff_dst, diff_src);
}

// Without fma the near values take longer than the rounded functions.
void gelu_erf_grad(int64_t n, const float* src, const float* diff_dst, float* diff_src) {
  int64_t i = 0;
  for (; ISOBIT_HARDWARE_FMA && i + kBlock <= n; i += kBlock) {
    if (gelu_erf_grad_block(src + i, diff_dst + i, diff_src + i)) continue;
    gelu_erf_grad_of_each(kBlock, src + i, diff_dst + i, diff_src + i);
  }
  gelu_erf_grad_of_each(n - i, src + i, diff_dst + i, diff_src + i);
}

template <class T>
void gelu_grad(GeluForm form, int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  if (form == GeluForm::kErf) {
    gelu_erf_grad(n, src, diff_dst, diff_src);
  } else {
    each(n, src, diff_dst, diff_src, [](T x, T dy) { return tidy(gelu_tanh_slope(bounded(x)) * dy); });
  }
}

template <class T>
constexpr Table<T> kTable{relu<T>, relu_grad<T>, leaky_relu<T>, leaky_relu_grad<T>, sigmoid<T>, sigmoid_grad<T>,
                          tanh<T>, tanh_grad<T>, gelu<T>,       gelu_grad<T>};

}  // namespace

ISOBIT_FOR_FLOATS(ISOBIT_DEFINE_TABLE, ISOBIT_ISA)

}  // namespace isobit::kernels::activation
