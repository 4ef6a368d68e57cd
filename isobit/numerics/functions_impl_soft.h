// expm1, softplus and mish of functions_impl.h (included by it): plain float64 arithmetic, fast, and the inputs that it
// misrounds named one by one.
#pragma once

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_impl_f64.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

ISOBIT_INLINE float cr_expm1(float x) {
  float bounded = x > 89.0f ? 89.0f : x;
  bounded = bounded < -104.0f ? -104.0f : bounded;
  const float y = static_cast<float>(expm1_core(static_cast<double>(bounded)));
  return x == x ? (x == 0 ? x : y) : nan32();
}

// log(1 + u) for 0 <= u <= 1: what 1 + u is rounded by is added again, to first order.
ISOBIT_INLINE double log1p_core(double u) {
  const double sum = 1 + u;
  return log_core(sum) + (u - (sum - 1)) / sum;
}

// max(x, 0) + log(1 + e^-|x|)
ISOBIT_INLINE float cr_softplus(float x) {
  const float a = magnitude(x);
  const double u = exp_core(-static_cast<double>(a > 110.0f ? 110.0f : a), 0);
  float y = static_cast<float>((x > 0 ? static_cast<double>(x) : 0.0) + log1p_core(u));
  y = x == 0x1.d483ap-12f ? from_bits32(0x3f3180bdu) : y;
  return x == x ? y : nan32();
}

// tanh(log(1 + u)) = n / (n + 2) with n = u^2 + 2 u, u = e^x
ISOBIT_INLINE double mish_factor(double u) {
  const double n = u * (u + 2);
  return n / (n + 2);
}

ISOBIT_INLINE float cr_mish(float x) {
  float bounded = x > 30.0f ? 30.0f : x;
  bounded = bounded < -110.0f ? -110.0f : bounded;
  const double factor = x < -110.0f ? -110.0 : static_cast<double>(x);  // so that -inf gives -0
  float y = static_cast<float>(factor * mish_factor(exp_core(static_cast<double>(bounded), 0)));
  y = x == -0x1.4p-24f ? from_bits32(0xb33fffffu) : y;
  return x == x ? y : nan32();
}

ISOBIT_INLINE double f64_softplus(double x) {
  const double y = (x > 0 ? x : 0.0) + log1p_core(f64_exp(-magnitude(x)));
  return x == x ? y : nan64();
}

ISOBIT_INLINE double f64_mish(double x) {
  const double factor = x < -750 ? -750.0 : x;  // so that -inf gives -0
  const double y = factor * mish_factor(f64_exp(x > 30 ? 30.0 : x));
  return x == x ? y : nan64();
}

}  // namespace isobit::numerics::impl
