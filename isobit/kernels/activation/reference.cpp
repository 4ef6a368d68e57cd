// The executable specification: the sequences of activation.h, one element at a time.
#include "isobit/kernels/activation/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels::activation {
namespace {

using numerics::canonical;

float exp_of(float x) { return numerics::cr_exp(x); }
double exp_of(double x) { return numerics::f64_exp(x); }
float erf_of(float x) { return numerics::cr_erf(x); }
double erf_of(double x) { return numerics::f64_erf(x); }
float tanh_of(float x) { return numerics::cr_tanh(x); }
double tanh_of(double x) { return numerics::f64_tanh(x); }
float sigmoid_of(float x) { return numerics::cr_sigmoid(x); }
double sigmoid_of(double x) { return numerics::f64_sigmoid(x); }
float gelu_of(GeluForm form, float x) {
  return form == GeluForm::kErf ? numerics::cr_gelu_erf(x) : numerics::cr_gelu_tanh(x);
}
double gelu_of(GeluForm form, double x) {
  return form == GeluForm::kErf ? numerics::f64_gelu_erf(x) : numerics::f64_gelu_tanh(x);
}

template <class T>
void relu(int64_t n, const T* src, T* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = src[i] != src[i] ? canonical(src[i]) : src[i] > 0 ? src[i] : T(0);
}

template <class T>
void relu_grad(int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  for (int64_t i = 0; i < n; ++i) diff_src[i] = src[i] > 0 ? canonical(diff_dst[i]) : T(0);
}

template <class T>
void leaky_relu(int64_t n, T alpha, const T* src, T* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = src[i] >= 0 ? src[i] : canonical(alpha * src[i]);
}

template <class T>
void leaky_relu_grad(int64_t n, T alpha, const T* src, const T* diff_dst, T* diff_src) {
  for (int64_t i = 0; i < n; ++i) diff_src[i] = canonical(src[i] > 0 ? diff_dst[i] : alpha * diff_dst[i]);
}

template <class T>
void sigmoid(int64_t n, const T* src, T* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = sigmoid_of(src[i]);
}

template <class T>
void sigmoid_grad(int64_t n, const T* dst, const T* diff_dst, T* diff_src) {
  for (int64_t i = 0; i < n; ++i) {
    const T y = dst[i];
    const T t = 1 - y;
    const T u = t * y;
    diff_src[i] = canonical(u * diff_dst[i]);
  }
}

template <class T>
void tanh(int64_t n, const T* src, T* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = tanh_of(src[i]);
}

template <class T>
void tanh_grad(int64_t n, const T* dst, const T* diff_dst, T* diff_src) {
  for (int64_t i = 0; i < n; ++i) {
    const T y = dst[i];
    const T t = 1 - y;
    const T u = 1 + y;
    const T v = t * u;
    diff_src[i] = canonical(v * diff_dst[i]);
  }
}

template <class T>
void gelu(GeluForm form, int64_t n, const T* src, T* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = gelu_of(form, src[i]);
}

template <class T>
T gelu_erf_slope(T c) {
  using K = GeluConstants<T>;
  const T z = K::kInverseRoot2 * c;
  const T e = erf_of(z);
  const T u = 1 + e;
  const T phi = T(0.5) * u;
  const T c2 = c * c;
  const T w = T(-0.5) * c2;
  const T g = exp_of(w);
  const T d = K::kInverseRoot2Pi * g;
  const T r = c * d;
  return phi + r;
}

template <class T>
T gelu_tanh_slope(T c) {
  using K = GeluConstants<T>;
  const T c2 = c * c;
  const T c3 = c2 * c;
  const T r = K::kCubic * c3;
  const T i = c + r;
  const T z = K::kRoot2OverPi * i;
  const T e = tanh_of(z);
  const T u = 1 + e;
  const T phi = T(0.5) * u;
  const T t = 1 - e;
  const T v = t * u;
  const T p = K::kThreeCubic * c2;
  const T o = 1 + p;
  const T l = K::kRoot2OverPi * o;
  const T h = T(0.5) * c;
  const T w = h * v;
  const T m = w * l;
  return phi + m;
}

template <class T>
void gelu_grad(GeluForm form, int64_t n, const T* src, const T* diff_dst, T* diff_src) {
  constexpr T kBound = GeluConstants<T>::kBound;
  for (int64_t i = 0; i < n; ++i) {
    const T c = src[i] > kBound ? kBound : src[i] < -kBound ? -kBound : src[i];
    const T s = form == GeluForm::kErf ? gelu_erf_slope(c) : gelu_tanh_slope(c);
    diff_src[i] = canonical(s * diff_dst[i]);
  }
}

template <class T>
constexpr Table<T> kTable{relu<T>, relu_grad<T>, leaky_relu<T>, leaky_relu_grad<T>, sigmoid<T>, sigmoid_grad<T>,
                          tanh<T>, tanh_grad<T>, gelu<T>,       gelu_grad<T>};

}  // namespace

ISOBIT_FOR_FLOATS(ISOBIT_DEFINE_TABLE, kReference)

}  // namespace isobit::kernels::activation
