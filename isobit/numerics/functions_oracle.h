// Test only: the mathematical functions by MPFR and by the C library's float64, for both functions tests.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <cstdint>

#include "isobit/numerics/bits.h"

namespace isobit::numerics::oracle {

constexpr mpfr_prec_t kPrecision = 256;

class Real {
 public:
  Real() { mpfr_init2(v, kPrecision); }
  ~Real() { mpfr_clear(v); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  mpfr_t v;
};

// out = f(x) to nearly 256 bits; x exact in out on entry.
using Exact = void (*)(mpfr_t out);

inline void exact_exp(mpfr_t x) { mpfr_exp(x, x, MPFR_RNDN); }
inline void exact_log(mpfr_t x) { mpfr_log(x, x, MPFR_RNDN); }
inline void exact_tanh(mpfr_t x) { mpfr_tanh(x, x, MPFR_RNDN); }
inline void exact_erf(mpfr_t x) { mpfr_erf(x, x, MPFR_RNDN); }
inline void exact_erfc(mpfr_t x) { mpfr_erfc(x, x, MPFR_RNDN); }
inline void exact_expm1(mpfr_t x) { mpfr_expm1(x, x, MPFR_RNDN); }
inline void exact_sin(mpfr_t x) { mpfr_sin(x, x, MPFR_RNDN); }
inline void exact_cos(mpfr_t x) { mpfr_cos(x, x, MPFR_RNDN); }
inline void exact_sqrt(mpfr_t x) { mpfr_sqrt(x, x, MPFR_RNDN); }
inline void exact_rsqrt(mpfr_t x) { mpfr_rec_sqrt(x, x, MPFR_RNDN); }
// 1 / (1 + e^-x)
inline void exact_sigmoid(mpfr_t x) {
  mpfr_neg(x, x, MPFR_RNDN);
  mpfr_exp(x, x, MPFR_RNDN);
  mpfr_add_ui(x, x, 1, MPFR_RNDN);
  mpfr_ui_div(x, 1, x, MPFR_RNDN);
}
// x/2 erfc(-x / sqrt 2)
inline void exact_gelu_erf(mpfr_t x) {
  Real t;
  mpfr_sqrt_ui(t.v, 2, MPFR_RNDN);
  mpfr_div(t.v, x, t.v, MPFR_RNDN);
  mpfr_neg(t.v, t.v, MPFR_RNDN);
  mpfr_erfc(t.v, t.v, MPFR_RNDN);
  mpfr_mul(x, x, t.v, MPFR_RNDN);
  mpfr_div_2ui(x, x, 1, MPFR_RNDN);
}
// x / (1 + exp(-2 sqrt(2/pi) (x + 0.044715 x^3)))
inline void exact_gelu_tanh(mpfr_t x) {
  Real t, c;
  mpfr_set_str(c.v, "0.044715", 10, MPFR_RNDN);
  mpfr_sqr(t.v, x, MPFR_RNDN);
  mpfr_mul(t.v, t.v, c.v, MPFR_RNDN);
  mpfr_add_ui(t.v, t.v, 1, MPFR_RNDN);
  mpfr_mul(t.v, t.v, x, MPFR_RNDN);
  mpfr_const_pi(c.v, MPFR_RNDN);
  mpfr_ui_div(c.v, 8, c.v, MPFR_RNDN);
  mpfr_sqrt(c.v, c.v, MPFR_RNDN);
  mpfr_mul(t.v, t.v, c.v, MPFR_RNDN);
  exact_sigmoid(t.v);
  mpfr_mul(x, x, t.v, MPFR_RNDN);
}

inline void exact_log1p(mpfr_t x) { mpfr_log1p(x, x, MPFR_RNDN); }
inline void exact_tan(mpfr_t x) { mpfr_tan(x, x, MPFR_RNDN); }
inline void exact_asin(mpfr_t x) { mpfr_asin(x, x, MPFR_RNDN); }
inline void exact_acos(mpfr_t x) { mpfr_acos(x, x, MPFR_RNDN); }
inline void exact_atan(mpfr_t x) { mpfr_atan(x, x, MPFR_RNDN); }
inline void exact_sinh(mpfr_t x) { mpfr_sinh(x, x, MPFR_RNDN); }
inline void exact_cosh(mpfr_t x) { mpfr_cosh(x, x, MPFR_RNDN); }
inline void exact_asinh(mpfr_t x) { mpfr_asinh(x, x, MPFR_RNDN); }
inline void exact_acosh(mpfr_t x) { mpfr_acosh(x, x, MPFR_RNDN); }
inline void exact_atanh(mpfr_t x) { mpfr_atanh(x, x, MPFR_RNDN); }
inline void exact_softplus(mpfr_t x) {
  mpfr_exp(x, x, MPFR_RNDN);
  mpfr_log1p(x, x, MPFR_RNDN);
}
inline void exact_mish(mpfr_t x) {
  Real t;
  mpfr_set(t.v, x, MPFR_RNDN);
  exact_softplus(t.v);
  mpfr_tanh(t.v, t.v, MPFR_RNDN);
  mpfr_mul(x, x, t.v, MPFR_RNDN);
}

inline float exact_f32(Exact f, float x) {
  Real r;
  mpfr_set_flt(r.v, x, MPFR_RNDN);
  f(r.v);
  return canonical(mpfr_get_flt(r.v, MPFR_RNDN));
}

// Relative error of `value` as an approximation of f(x), in units of 2^-53; x finite, f(x) finite and not zero.
inline double error_in_units(Exact f, double x, double value) {
  Real r;
  mpfr_set_d(r.v, x, MPFR_RNDN);
  f(r.v);
  Real d;
  mpfr_sub_d(d.v, r.v, value, MPFR_RNDN);
  mpfr_div(d.v, d.v, r.v, MPFR_RNDN);
  mpfr_mul_2ui(d.v, d.v, 53, MPFR_RNDN);
  return std::fabs(mpfr_get_d(d.v, MPFR_RNDN));
}

// The same in float64 by the C library, to a few units of 2^-53; the two GELUs to 2^-44 (their exponents magnify).
inline double double_rsqrt(double x) { return 1 / std::sqrt(x); }
inline double double_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double double_gelu_erf(double x) {
  if (x == -HUGE_VAL) return -0.0;
  return x * std::erfc(x * -0.70710678118654752440) * 0.5;
}
inline double double_gelu_tanh(double x) {
  if (x == -HUGE_VAL) return -0.0;
  return x / (1 + std::exp(-1.5957691216057307118 * (x + 0.044715 * (x * x * x))));
}
inline double double_softplus(double x) { return (x > 0 ? x : 0.0) + std::log1p(std::exp(-std::fabs(x))); }
inline double double_mish(double x) { return x == -HUGE_VAL ? -0.0 : x * std::tanh(double_softplus(x)); }

struct Function {
  const char* name;
  double (*approximate)(double);
  double margin;  // relative; far above the error of `approximate`
  Exact exact;
};

inline const Function kFunctions[] = {
    {"exp", std::exp, 0x1p-45, exact_exp},
    {"log", std::log, 0x1p-45, exact_log},
    {"tanh", std::tanh, 0x1p-45, exact_tanh},
    {"erf", std::erf, 0x1p-45, exact_erf},
    {"sin", std::sin, 0x1p-45, exact_sin},
    {"cos", std::cos, 0x1p-45, exact_cos},
    {"sqrt", std::sqrt, 0x1p-45, exact_sqrt},
    {"rsqrt", double_rsqrt, 0x1p-45, exact_rsqrt},
    {"sigmoid", double_sigmoid, 0x1p-45, exact_sigmoid},
    {"gelu_erf", double_gelu_erf, 0x1p-42, exact_gelu_erf},
    {"gelu_tanh", double_gelu_tanh, 0x1p-42, exact_gelu_tanh},
    {"expm1", std::expm1, 0x1p-45, exact_expm1},
    {"log1p", std::log1p, 0x1p-45, exact_log1p},
    {"tan", std::tan, 0x1p-45, exact_tan},
    {"asin", std::asin, 0x1p-45, exact_asin},
    {"acos", std::acos, 0x1p-45, exact_acos},
    {"atan", std::atan, 0x1p-45, exact_atan},
    {"sinh", std::sinh, 0x1p-45, exact_sinh},
    {"cosh", std::cosh, 0x1p-45, exact_cosh},
    {"asinh", std::asinh, 0x1p-45, exact_asinh},
    {"acosh", std::acosh, 0x1p-45, exact_acosh},
    {"atanh", std::atanh, 0x1p-45, exact_atanh},
    {"softplus", double_softplus, 0x1p-45, exact_softplus},
    {"mish", double_mish, 0x1p-45, exact_mish},
};

// The correctly rounded value: by float64 where it is further than the margin from a rounding boundary, else by MPFR,
// and then *near_ties counts one up.
inline float correctly_rounded(const Function& f, float x, uint64_t* near_ties) {
  if (is_nan(x)) return nan_f32();
  const double value = f.approximate(static_cast<double>(x));
  const double margin = std::fabs(value) * f.margin;
  const float low = static_cast<float>(value - margin);
  const float high = static_cast<float>(value + margin);
  // Zeros and infinities (and 0 * inf) have no margin that means anything.
  if (value == 0 || !is_finite(low) || !is_finite(value)) return canonical(static_cast<float>(value));
  if (bits_of(low) == bits_of(high)) return low;
  ++*near_ties;
  return exact_f32(f.exact, x);
}

}  // namespace isobit::numerics::oracle
