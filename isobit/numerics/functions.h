// Elementary functions of ordered-1.
//
// Determinism: every function here is a fixed sequence of IEEE operations (+ - * / sqrt and integers; the f64_ ones
// also fma), so it has the same bits on every machine. None calls the C library.
//
// cr_*: correctly rounded: the float32 nearest to the mathematical value (ties to even), for each of the 2^32 inputs;
// proved by functions_exhaustive_test for those that docs/elementary-functions.md lists as run, tested on samples for
// the others. Any NaN gives the one NaN 0x7fc00000. An exact zero keeps the sign the mathematics gives it (cr_sin(-0) =
// -0); a result that underflows keeps its sign.
//
// cr_pow: correctly rounded where x^y is exact or halfway between two float32 numbers, and wherever else it lies
// further than 2^-93 of itself from every midpoint. Of the 2^64 pairs of arguments none is expected nearer, which is no
// proof; it is the same written sequence for all of them (docs/elementary-functions.md).
//
// f64_*: float64, written polynomials, no claim of correct rounding: relative error below 1e-15 where the result is
// normal. Any NaN gives the one NaN 0x7ff8000000000000. An odd function keeps the sign of zero.
//
// exact_*: the exact real number, which is always representable.
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

float cr_expm1(float x);  // e^x - 1
float cr_log1p(float x);  // log(1 + x); log1p(-1) = -inf, log1p(x < -1) = NaN
float cr_tan(float x);    // radians, any finite x; tan(+-inf) = NaN
float cr_asin(float x);   // NaN outside [-1, 1]
float cr_acos(float x);   // in [0, pi]; NaN outside [-1, 1]
float cr_atan(float x);
float cr_sinh(float x);
float cr_cosh(float x);
float cr_asinh(float x);
float cr_acosh(float x);  // NaN below 1
float cr_atanh(float x);  // atanh(+-1) = +-inf; NaN outside [-1, 1]
// log(1 + e^x); -inf gives +0, +inf gives +inf
float cr_softplus(float x);
// x * tanh(log(1 + e^x)); -inf gives -0, +inf gives +inf
float cr_mish(float x);
// x^y, with C's special values: pow(x, +-0) = pow(1, y) = 1 even for NaN; negative x only to whole y, else NaN;
// pow(+-0, y < 0) is infinite, negative if x is -0 and y is odd; pow(-1, +-inf) = 1
float cr_pow(float x, float y);

// x - n y with n = x / y rounded towards zero: the sign of x, a magnitude below that of y. NaN if x is infinite or y is
// zero; x itself if y is infinite and x is not.
float exact_fmod(float x, float y);
double exact_fmod(double x, double y);

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

double f64_log1p(double x);
double f64_sin(double x);  // radians, any finite x
double f64_cos(double x);
double f64_tan(double x);
double f64_asin(double x);
double f64_acos(double x);
double f64_atan(double x);
double f64_sinh(double x);
double f64_cosh(double x);
double f64_asinh(double x);
double f64_acosh(double x);
double f64_atanh(double x);
double f64_softplus(double x);
double f64_mish(double x);
double f64_pow(double x, double y);  // special values as cr_pow; error below 1 ulp

}  // namespace isobit::numerics
