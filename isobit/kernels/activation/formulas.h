// Activations as formulas for elementwise/map.h, each a sequence of operations of float64.
//
// Determinism class ordered-1. Of a double the sequence is the result. Of a float it is computed from the number that
// float64 holds too, and its result rounded once to float32: no claim of correct rounding, but with errors of a few
// units in the 53rd place that is wrong for few inputs of normal size (a subnormal result may be one unit off).
// Parameters (alpha ...) are float64. Every line is one operation rounded to nearest even; f64_expm1 and f64_sigmoid
// are those of numerics/functions.h. Any NaN gives the canonical NaN.
//
// InFloat64 makes a formula of any type of each.
#pragma once

#include <limits>
#include <type_traits>

#include "isobit/kernels/elementwise/truncated.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {

// f of the operand in float64, rounded once to its type; of an integer truncated toward zero, clamped, NaN giving 0.
template <class F>
struct InFloat64 {
  F f;
  template <class T>
  T operator()(T x) const {
    const double y = f(static_cast<double>(x));
    if constexpr (std::is_integral_v<T>) {
      return truncated<T>(y);
    } else {
      return numerics::canonical(static_cast<T>(y));
    }
  }
};

template <class F>
InFloat64(F) -> InFloat64<F>;

// x >= 0: x. Else e = e^x - 1;  y = alpha * e.
struct Elu {
  double alpha;
  double operator()(double x) const { return x < 0 ? alpha * numerics::f64_expm1(x) : x; }
};

// x >= 0: y = gamma * x. Else e = e^x - 1;  t = alpha * e;  y = gamma * t.
struct Selu {
  double alpha, gamma;
  double operator()(double x) const { return gamma * (x < 0 ? alpha * numerics::f64_expm1(x) : x); }
};

// x >= 0: x. Else q = x / alpha;  e = e^q - 1;  y = alpha * e. REQUIRES alpha != 0.
struct Celu {
  double alpha;
  double operator()(double x) const { return x < 0 ? alpha * numerics::f64_expm1(x / alpha) : x; }
};

// t = alpha * x;  u = t + beta;  y = u, at least 0 and at most 1.
struct HardSigmoid {
  double alpha, beta;
  double operator()(double x) const {
    const double t = alpha * x;
    const double u = t + beta;
    return u < 0 ? 0 : u > 1 ? 1 : u;
  }
};

// x >= 3: x.  x <= -3: -0.  Else s = x + 3;  t = x * s;  y = t / 6.
struct HardSwish {
  double operator()(double x) const {
    if (x >= 3) return x;
    if (x <= -3) return -0.0;
    const double s = x + 3;
    const double t = x * s;
    return t / 6;
  }
};

// m = |x|;  d = 1 + m;  y = x / d. Of an infinity 1 with its sign.
struct Softsign {
  double operator()(double x) const {
    const double m = x < 0 ? -x : x;
    if (m > std::numeric_limits<double>::max()) return x < 0 ? -1 : 1;
    const double d = 1 + m;
    return x / d;
  }
};

// t = alpha * x;  s = sigmoid(t);  y = x * s. Where s is 0, a 0 with the sign of x, of an infinity too.
struct Swish {
  double alpha;
  double operator()(double x) const {
    const double s = numerics::f64_sigmoid(alpha * x);
    if (s == 0) return x < 0 ? -0.0 : 0.0;
    return x * s;
  }
};

// x > alpha ? x : 0.
struct ThresholdedRelu {
  double alpha;
  double operator()(double x) const { return x > alpha || x != x ? x : 0; }
};

// x < -lambda: y = x + bias.  x > lambda: y = x - bias.  Else 0.
struct Shrink {
  double lambda, bias;
  double operator()(double x) const {
    if (x < -lambda) return x + bias;
    if (x > lambda) return x - bias;
    return x != x ? x : 0;
  }
};

}  // namespace isobit::kernels
