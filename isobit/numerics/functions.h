// Elementary functions of ordered-1.
//
// Determinism: every function here is a fixed sequence of IEEE operations (+ - * / sqrt and integers; the f64_ ones
// also fma), so it has the same bits on every machine. None calls the C library.
//
// cr_*: correctly rounded: the float32 nearest to the mathematical value (ties to even), for each of the 2^32 inputs;
// proved by functions_exhaustive_test (docs/elementary-functions.md). Any NaN gives the one NaN 0x7fc00000. An exact
// zero keeps the sign the mathematics gives it (cr_sin(-0) = -0); a result that underflows keeps its sign.
//
// f64_*: float64, written polynomials, no claim of correct rounding: relative error below 1e-15 where the result is
// normal.
//
// Loops over arrays belong to kernels/: include functions_impl.h in a translation unit of each ISA; the bodies there
// vectorise and have internal linkage.
#pragma once

namespace isobit::numerics {

float cr_exp(float x);
float cr_log(float x);  // log(+-0) = -inf, log(x < 0) = NaN
float cr_tanh(float x);
float cr_erf(float x);
float cr_sin(float x);  // radians, any finite x; sin(+-inf) = NaN
float cr_cos(float x);
float cr_sqrt(float x);   // sqrt(-0) = -0, sqrt(x < 0) = NaN
float cr_rsqrt(float x);  // 1/sqrt(x) as one function; rsqrt(+-0) = +-inf, rsqrt(+inf) = +0, rsqrt(x < 0) = NaN

// 1 / (1 + e^-x)
float cr_sigmoid(float x);
// x * Phi(x) = x/2 * (1 + erf(x / sqrt 2)); -inf gives -0, +inf gives +inf
float cr_gelu_erf(float x);
// x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) with the real numbers sqrt(2/pi) and 0.044715, not their roundings
float cr_gelu_tanh(float x);

double f64_exp(double x);
double f64_expm1(double x);
double f64_log(double x);
double f64_tanh(double x);
double f64_erf(double x);
double f64_erfc(double x);
double f64_sqrt(double x);   // correctly rounded, as IEEE 754 demands
double f64_rsqrt(double x);  // 1 / sqrt(x), two roundings
double f64_sigmoid(double x);
double f64_gelu_erf(double x);
double f64_gelu_tanh(double x);  // -0 for x < -21, where it is below 1e-299

}  // namespace isobit::numerics
