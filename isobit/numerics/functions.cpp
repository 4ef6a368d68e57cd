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

}  // namespace isobit::numerics
