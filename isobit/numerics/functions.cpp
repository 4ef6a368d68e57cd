#include "isobit/numerics/functions.h"

#include "isobit/numerics/functions_impl.h"

namespace isobit::numerics {

float cr_exp(float x) { return impl::cr_exp(x); }
float cr_log(float x) { return impl::cr_log(x); }
float cr_tanh(float x) { return impl::cr_tanh(x); }
float cr_erf(float x) { return impl::cr_erf(x); }
float cr_sin(float x) { return impl::cr_sin(x); }
float cr_cos(float x) { return impl::cr_cos(x); }
float cr_sqrt(float x) { return impl::cr_sqrt(x); }
float cr_rsqrt(float x) { return impl::cr_rsqrt(x); }
float cr_sigmoid(float x) { return impl::cr_sigmoid(x); }
float cr_gelu_erf(float x) { return impl::cr_gelu_erf(x); }
float cr_gelu_tanh(float x) { return impl::cr_gelu_tanh(x); }
float cr_expm1(float x) { return impl::cr_expm1(x); }
float cr_log1p(float x) { return impl::cr_log1p(x); }
float cr_tan(float x) { return impl::cr_tan(x); }
float cr_asin(float x) { return impl::cr_asin(x); }
float cr_acos(float x) { return impl::cr_acos(x); }
float cr_atan(float x) { return impl::cr_atan(x); }
float cr_sinh(float x) { return impl::cr_sinh(x); }
float cr_cosh(float x) { return impl::cr_cosh(x); }
float cr_asinh(float x) { return impl::cr_asinh(x); }
float cr_acosh(float x) { return impl::cr_acosh(x); }
float cr_atanh(float x) { return impl::cr_atanh(x); }
float cr_softplus(float x) { return impl::cr_softplus(x); }
float cr_mish(float x) { return impl::cr_mish(x); }
float cr_pow(float x, float y) { return impl::cr_pow(x, y); }

float exact_fmod(float x, float y) { return impl::exact_fmod(x, y); }
double exact_fmod(double x, double y) { return impl::exact_fmod(x, y); }

double f64_exp(double x) { return impl::f64_exp(x); }
double f64_expm1(double x) { return impl::f64_expm1(x); }
double f64_log(double x) { return impl::f64_log(x); }
double f64_tanh(double x) { return impl::f64_tanh(x); }
double f64_erf(double x) { return impl::f64_erf(x); }
double f64_erfc(double x) { return impl::f64_erfc(x); }
double f64_sqrt(double x) { return impl::f64_sqrt(x); }
double f64_rsqrt(double x) { return impl::f64_rsqrt(x); }
double f64_sigmoid(double x) { return impl::f64_sigmoid(x); }
double f64_gelu_erf(double x) { return impl::f64_gelu_erf(x); }
double f64_gelu_tanh(double x) { return impl::f64_gelu_tanh(x); }
double f64_log1p(double x) { return impl::f64_log1p(x); }
double f64_sin(double x) { return impl::f64_sin(x); }
double f64_cos(double x) { return impl::f64_cos(x); }
double f64_tan(double x) { return impl::f64_tan(x); }
double f64_asin(double x) { return impl::f64_asin(x); }
double f64_acos(double x) { return impl::f64_acos(x); }
double f64_atan(double x) { return impl::f64_atan(x); }
double f64_sinh(double x) { return impl::f64_sinh(x); }
double f64_cosh(double x) { return impl::f64_cosh(x); }
double f64_asinh(double x) { return impl::f64_asinh(x); }
double f64_acosh(double x) { return impl::f64_acosh(x); }
double f64_atanh(double x) { return impl::f64_atanh(x); }
double f64_softplus(double x) { return impl::f64_softplus(x); }
double f64_mish(double x) { return impl::f64_mish(x); }
double f64_pow(double x, double y) { return impl::f64_pow(x, y); }

}  // namespace isobit::numerics
