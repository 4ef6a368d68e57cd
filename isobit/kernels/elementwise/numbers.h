// Formulas of numbers and truths, for map.h; T is any of NumberTypes where nothing else is said. What the standard
// library has (std::less, std::bit_and, std::logical_not ...) is used as it is.
//
// Determinism class ordered-1: exact, or one operation rounded to nearest even; a NaN result is the canonical one.
// Integers are computed with modulo 2^bits.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isobit/kernels/elementwise/modular.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {

// x itself; the canonical NaN for any.
struct Itself {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return numerics::canonical(x);
    }
  }
};

// 1, +0 or -1; of +-0 it is +0.
struct Sign {
  template <class T>
  T operator()(T x) const {
    if (x > T(0)) return T(1);
    if (x == T(0)) return T(0);
    if constexpr (std::is_signed_v<T>) {
      if (x < T(0)) return static_cast<T>(-1);
    }
    return Itself()(x);
  }
};

// Of integers; those of floats are UnaryOp::kNeg and kAbs and relu (activation/activation.h). The lowest number of a
// signed type is its own negative and its own magnitude.
struct NegatedInteger {
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(Modular<T>{0} - static_cast<Modular<T>>(x));
  }
};
struct MagnitudeOfInteger {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_signed_v<T>) {
      if (x < 0) return NegatedInteger()(x);
    }
    return x;
  }
};
struct PositivePartOfInteger {
  template <class T>
  T operator()(T x) const {
    return x > 0 ? x : T(0);
  }
};

// The remainder of a / b. With the sign of the dividend, a - trunc(a / b) * b: of floats exact_fmod of
// numerics/functions.h. With that of the divisor, a - floor(a / b) * b: REQUIRES integers. Of integers the remainder by
// 0 is 0.
struct Remainder {
  bool sign_of_dividend;
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (!std::is_integral_v<T>) {
      return numerics::canonical(numerics::exact_fmod(a, b));
    } else if constexpr (std::is_signed_v<T>) {
      if (b == 0 || b == -1) return 0;
      const T r = static_cast<T>(a % b);
      const bool other_sign = r != 0 && (r < 0) != (b < 0);
      return other_sign && !sign_of_dividend ? static_cast<T>(r + b) : r;
    } else {
      return b == 0 ? T(0) : static_cast<T>(a % b);
    }
  }
};

// x < 0 ? slope * x : x. The product of floats is rounded once.
struct LeakyBySlope {
  template <class T>
  T operator()(T x, T slope) const {
    if constexpr (!std::is_integral_v<T>) {
      return numerics::canonical(x < 0 ? slope * x : x);
    } else if constexpr (std::is_signed_v<T>) {
      return x < 0 ? static_cast<T>(static_cast<Modular<T>>(slope) * static_cast<Modular<T>>(x)) : x;
    } else {
      return x;
    }
  }
};

// ---- truths ----

struct IsNan {
  template <class T>
  bool operator()(T x) const {
    return x != x;
  }
};
struct IsInfinite {
  bool negative = true, positive = true;  // which ones count
  template <class T>
  bool operator()(T x) const {
    if (numerics::is_nan(x) || numerics::is_finite(x)) return false;
    return x < 0 ? negative : positive;
  }
};

// Of truths; std::equal_to would tell one byte that is true from another.
struct SameTruth {
  bool operator()(uint8_t a, uint8_t b) const { return (a != 0) == (b != 0); }
};
struct OtherTruth {
  bool operator()(uint8_t a, uint8_t b) const { return (a != 0) != (b != 0); }
};

// x where the condition is true, else y. T: anything of 1, 2, 4 or 8 bytes; no bit changes.
struct Choice {
  template <class T>
  T operator()(uint8_t condition, T x, T y) const {
    return condition != 0 ? x : y;
  }
};

// ---- bits of unsigned integers ----

// By as many places as the type has, or more: 0.
struct Shift {
  bool left;
  template <class T>
  T operator()(T x, T places) const {
    if (places >= 8 * sizeof(T)) return 0;
    const auto wide = static_cast<Modular<T>>(x);
    return static_cast<T>(left ? wide << places : wide >> places);
  }
};

}  // namespace isobit::kernels
