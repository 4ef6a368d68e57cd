// Powers of numbers of any type to exponents of any type.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "isobit/kernels/elementwise/cube.h"
#include "isobit/kernels/elementwise/modular.h"
#include "isobit/kernels/elementwise/truncated.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {

// x^n modulo 2^bits.
template <class T>
T integer_power(T x, uint64_t n) {
  Modular<T> power = 1, square = static_cast<Modular<T>>(x);
  for (; n > 0; n >>= 1) {
    if (n & 1) power *= square;
    square *= square;
  }
  return static_cast<T>(power);
}

// 1 / x^n truncated toward zero, n > 0: 1 and -1 have such powers, all others give 0 (0, too, as a quotient by 0 does).
template <class T>
T reciprocal_power(T x, bool n_is_odd) {
  if (x == T(1)) return 1;
  if (x != T(-1)) return 0;
  return n_is_odd ? x : T(1);
}

// x to the y, in the type of x: float, double, int32_t or int64_t; y is any of NumberTypes.
//   float     an exponent is taken as the float64 p nearest to it. Where p is a float32: the float32 nearest to x^p,
//             with the special values of cr_pow (numerics/functions.h); else f64_pow(x, p), rounded to float32
//   double    p as above; x where p = 1, x * x where p = 2, else f64_pow(x, p)
//   integers  whole exponents, below 2^63 in magnitude if they are floats: x^y modulo 2^bits; to a negative one
//             reciprocal_power. Any other: z = f64_pow(x, y), or the whole number that z is within 2^-50 |z| of (so
//             that 4^0.5 is 2 whatever the last place of z), truncated toward zero and clamped to the range; NaN gives
//             0
struct Power {
  template <class E>
  float operator()(float x, E y) const {
    const double p = static_cast<double>(y);
    const float narrow = static_cast<float>(p);
    if (p == 1) return numerics::canonical(x);
    if (p == 2) return numerics::canonical(x * x);
    if (p == 3) return cube_rounded(x);
    if (static_cast<double>(narrow) == p || p != p) return numerics::canonical(numerics::cr_pow(x, narrow));
    return numerics::canonical(static_cast<float>(numerics::f64_pow(static_cast<double>(x), p)));
  }

  template <class E>
  double operator()(double x, E y) const {
    const double p = static_cast<double>(y);
    return numerics::canonical(p == 1 ? x : p == 2 ? x * x : numerics::f64_pow(x, p));
  }

  template <std::signed_integral T, class E>
  T operator()(T x, E y) const {
    if constexpr (std::unsigned_integral<E>) {
      return integer_power(x, y);
    } else if constexpr (std::is_integral_v<E>) {
      return y < 0 ? reciprocal_power(x, y % 2 != 0) : integer_power(x, static_cast<uint64_t>(y));
    } else {
      const double p = static_cast<double>(y);
      if (p > -0x1p63 && p < 0x1p63 && static_cast<double>(static_cast<int64_t>(p)) == p) {
        return (*this)(x, static_cast<int64_t>(p));
      }
      return settled<T>(numerics::f64_pow(static_cast<double>(x), p));
    }
  }

 private:
  template <class T>
  static T settled(double z) {
    if (z > -0x1p51 && z < 0x1p51) {
      constexpr double kMagic = 0x1.8p52;  // what is added to it is rounded to a whole number
      const double whole = (z + kMagic) - kMagic, off = whole - z;
      if ((off < 0 ? -off : off) <= 0x1p-50 * (z < 0 ? -z : z)) z = whole;
    }
    return truncated<T>(z);
  }
};

}  // namespace isobit::kernels
