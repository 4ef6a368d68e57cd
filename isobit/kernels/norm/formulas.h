// The formulas of batch_norm.h, layer_norm.h, rms_norm.h and local_response_norm.h element by element, in their
// letters: one spelling for the references and for whoever computes single elements. T is float or double. Baseline
// translation units only.
#pragma once

#include <cstdint>

#include "isobit/kernels/reduce/scalar.h"

namespace isobit::kernels::reference {

// r of a variance, or of a mean square.
template <class T>
T inverse_root_of(T var, T eps) {
  const T d = var + eps;
  return rsqrt_of(d);
}

template <class T>
T mean_square_of(T squares, int64_t count) {
  return squares / static_cast<T>(count);
}

// h
template <class T>
T normalised(T x, T mean, T r) {
  const T t = x - mean;
  return t * r;
}

// dst of h; bias null: none.
template <class T>
T scaled_of(T h, T scale, const T* bias) {
  const T p = h * scale;
  return canonical(bias ? p + *bias : p);
}

template <class T>
T running_of(T running, T current, T momentum, int64_t count) {
  const T k = T(1) - momentum;
  const T f = count == 0 ? T(1) : static_cast<T>(count) / static_cast<T>(count - 1);
  const T a = running * momentum;
  const T v = count == 0 ? current : current * f;
  const T b = v * k;
  return canonical(a + b);
}

// w of the gradients: g - a, less h times b.
template <class T>
T centred_of(T g, T h, T a, T b) {
  const T u = g - a;
  const T v = h * b;
  return u - v;
}

// LRN of an element with q its window's sum of squares.
template <class T>
struct ResponseNorm {
  T alpha, beta, bias;
  int64_t size;
};
inline float power_of(float x, float y) { return numerics::cr_pow(x, y); }
inline double power_of(double x, double y) { return numerics::f64_pow(x, y); }
template <class T>
T response_norm_of(T x, T q, const ResponseNorm<T>& f) {
  const T a = f.alpha / static_cast<T>(f.size);
  const T p = a * q;
  const T d = f.bias + p;
  const T w = power_of(d, f.beta);
  return canonical(x / w);
}

}  // namespace isobit::kernels::reference
