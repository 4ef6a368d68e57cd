// Functions of a real number as formulas for map.h.
//
// Determinism class ordered-1. Of a float each is correctly rounded (cr_* of numerics/functions.h); of a double it is
// the written sequence f64_* there. Floor, Ceil and Round are exact. A NaN result is the canonical one.
#pragma once

#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {

#define ISOBIT_FUNCTION(Name, name)                                       \
  struct Name {                                                           \
    float operator()(float x) const { return numerics::cr_##name(x); }    \
    double operator()(double x) const { return numerics::f64_##name(x); } \
  };
ISOBIT_FUNCTION(Tangent, tan)
ISOBIT_FUNCTION(ArcSine, asin)
ISOBIT_FUNCTION(ArcCosine, acos)
ISOBIT_FUNCTION(ArcTangent, atan)
ISOBIT_FUNCTION(HyperbolicSine, sinh)
ISOBIT_FUNCTION(HyperbolicCosine, cosh)
ISOBIT_FUNCTION(AreaSine, asinh)
ISOBIT_FUNCTION(AreaCosine, acosh)
ISOBIT_FUNCTION(AreaTangent, atanh)
ISOBIT_FUNCTION(Softplus, softplus)  // log(1 + e^x)
ISOBIT_FUNCTION(Mish, mish)          // x * tanh(log(1 + e^x))
#undef ISOBIT_FUNCTION

// The nearest whole number, ties to even, with the sign of x if it is 0; infinities stay.
struct Round {
  float operator()(float x) const { return whole(x, 0x1p23f); }
  double operator()(double x) const { return whole(x, 0x1p52); }

 private:
  // Between `first` and twice as much numbers are 1 apart, and from it on all are whole.
  template <class T>
  static T whole(T x, T first) {
    const T magnitude = x < 0 ? -x : x;
    if (!(magnitude < first)) return numerics::canonical(x);
    const T rounded = (magnitude + first) - first;
    return numerics::bits_of(x) >> (8 * sizeof(T) - 1) ? -rounded : rounded;
  }
};
// The largest whole number that is not above x; -0 of -0.
struct Floor {
  template <class T>
  T operator()(T x) const {
    const T nearest = Round()(x);
    return nearest > x ? nearest - 1 : nearest;
  }
};
// The smallest whole number that is not below x; -0 of what is above -1 and not above -0.
struct Ceil {
  template <class T>
  T operator()(T x) const {
    return numerics::canonical(-Floor()(-x));
  }
};

}  // namespace isobit::kernels
