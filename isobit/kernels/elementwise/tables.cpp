// The family in plain loops that the compiler vectorises; compiled once for every instruction set.
#include <concepts>
#include <type_traits>

#include "isobit/kernels/elementwise/cube.h"
#include "isobit/kernels/elementwise/loop.h"
#include "isobit/kernels/elementwise/modular.h"
#include "isobit/kernels/elementwise/table.h"
#include "isobit/numerics/functions.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::elementwise {
namespace {

namespace impl = numerics::impl;

ISOBIT_INLINE float with_bits(uint32_t b) { return impl::from_bits32(b); }
ISOBIT_INLINE double with_bits(uint64_t b) { return impl::from_bits64(b); }

// ---- two operands ----

template <class T>
struct Number {
  ISOBIT_INLINE T add(T a, T b) { return tidy(a + b); }
  ISOBIT_INLINE T sub(T a, T b) { return tidy(a - b); }
  ISOBIT_INLINE T mul(T a, T b) { return tidy(a * b); }
  ISOBIT_INLINE T div(T a, T b) { return tidy(a / b); }
  // Equal operands differ at most in the sign of zero: both signs for max, either for min.
  ISOBIT_INLINE T max(T a, T b) {
    const T equal = with_bits(impl::to_bits(a) & impl::to_bits(b));
    const T larger = a > b ? a : b;
    const T m = a == b ? equal : larger;
    return tidy(a == a ? m : a);
  }
  ISOBIT_INLINE T min(T a, T b) {
    const T equal = with_bits(impl::to_bits(a) | impl::to_bits(b));
    const T smaller = a < b ? a : b;
    const T m = a == b ? equal : smaller;
    return tidy(a == a ? m : a);
  }
};

// Modulo 2^bits; no quotient traps.
template <std::integral T>
struct Number<T> {
  using U = Modular<T>;
  ISOBIT_INLINE T add(T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }
  ISOBIT_INLINE T sub(T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }
  ISOBIT_INLINE T mul(T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }
  ISOBIT_INLINE T div(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return sub(0, a);
    }
    return static_cast<T>(a / b);
  }
  ISOBIT_INLINE T max(T a, T b) { return a > b ? a : b; }
  ISOBIT_INLINE T min(T a, T b) { return a < b ? a : b; }
};

// clang-format off
template <class T> struct Add { ISOBIT_INLINE T of(T a, T b) { return Number<T>::add(a, b); } };
template <class T> struct Sub { ISOBIT_INLINE T of(T a, T b) { return Number<T>::sub(a, b); } };
template <class T> struct Mul { ISOBIT_INLINE T of(T a, T b) { return Number<T>::mul(a, b); } };
template <class T> struct Div { ISOBIT_INLINE T of(T a, T b) { return Number<T>::div(a, b); } };
template <class T> struct Max { ISOBIT_INLINE T of(T a, T b) { return Number<T>::max(a, b); } };
template <class T> struct Min { ISOBIT_INLINE T of(T a, T b) { return Number<T>::min(a, b); } };
// clang-format on

template <class Op, class T>
void row_of(Row row, int64_t n, const T* a, const T* b, T* dst) {
  if (row == Row::kBoth) {
    ISOBIT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) dst[i] = Op::of(a[i], b[i]);
  } else if (row == Row::kScalarA) {
    const T x = *a;
    ISOBIT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) dst[i] = Op::of(x, b[i]);
  } else {
    const T y = *b;
    ISOBIT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) dst[i] = Op::of(a[i], y);
  }
}

// Integer division has no vector instruction, and its cases branch.
template <class T>
void divide_integers(Row row, int64_t n, const T* a, const T* b, T* dst) {
  for (int64_t i = 0; i < n; ++i) {
    dst[i] = Number<T>::div(a[row == Row::kScalarA ? 0 : i], b[row == Row::kScalarB ? 0 : i]);
  }
}

template <class T>
void binary_row(BinaryOp op, Row row, int64_t n, const T* a, const T* b, T* dst) {
  switch (op) {
    case BinaryOp::kAdd:
      return row_of<Add<T>>(row, n, a, b, dst);
    case BinaryOp::kSub:
      return row_of<Sub<T>>(row, n, a, b, dst);
    case BinaryOp::kMul:
      return row_of<Mul<T>>(row, n, a, b, dst);
    case BinaryOp::kDiv:
      if constexpr (std::is_integral_v<T>)
        return divide_integers(row, n, a, b, dst);
      else
        return row_of<Div<T>>(row, n, a, b, dst);
    case BinaryOp::kMax:
      return row_of<Max<T>>(row, n, a, b, dst);
    case BinaryOp::kMin:
      return row_of<Min<T>>(row, n, a, b, dst);
  }
}

// ---- one operand ----

template <class T>
struct Function;
template <>
struct Function<float> {
  ISOBIT_INLINE float neg(float x) { return tidy(-x); }
  ISOBIT_INLINE float abs(float x) { return tidy(impl::magnitude(x)); }
  ISOBIT_INLINE float sqrt(float x) { return impl::cr_sqrt(x); }
  ISOBIT_INLINE float exp(float x) { return impl::cr_exp(x); }
  ISOBIT_INLINE float log(float x) { return impl::cr_log(x); }
  ISOBIT_INLINE float erf(float x) { return impl::cr_erf(x); }
  ISOBIT_INLINE float rsqrt(float x) { return impl::cr_rsqrt(x); }
};
template <>
struct Function<double> {
  ISOBIT_INLINE double neg(double x) { return tidy(-x); }
  ISOBIT_INLINE double abs(double x) { return tidy(impl::magnitude(x)); }
  ISOBIT_INLINE double sqrt(double x) { return impl::f64_sqrt(x); }
  ISOBIT_INLINE double exp(double x) { return impl::f64_exp(x); }
  ISOBIT_INLINE double log(double x) { return impl::f64_log(x); }
  ISOBIT_INLINE double erf(double x) { return impl::f64_erf(x); }
  ISOBIT_INLINE double rsqrt(double x) { return impl::f64_rsqrt(x); }
};

// sin and cos of large arguments are scalar code; a block without any goes through the vectors.
constexpr int64_t kTrigBlock = 256;

template <bool kSine>
void trig_range(int64_t n, const float* src, float* dst) {
  for (int64_t begin = 0; begin < n; begin += kTrigBlock) {
    const int64_t end = begin + kTrigBlock < n ? begin + kTrigBlock : n;
    int large = 0;
    for (int64_t i = begin; i < end; ++i) large |= impl::magnitude(src[i]) <= impl::kModerate ? 0 : 1;
    if (large) {
      for (int64_t i = begin; i < end; ++i) dst[i] = kSine ? impl::cr_sin(src[i]) : impl::cr_cos(src[i]);
    } else {
      ISOBIT_INDEPENDENT
      for (int64_t i = begin; i < end; ++i) dst[i] = kSine ? impl::sin_moderate(src[i]) : impl::cos_moderate(src[i]);
    }
  }
}

// float64 is for comparison, so that it may take a call each.
template <bool kSine>
void trig_range(int64_t n, const double* src, double* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = kSine ? numerics::f64_sin(src[i]) : numerics::f64_cos(src[i]);
}

template <class T>
void unary_range(UnaryOp op, int64_t n, const T* src, T* dst) {
  using F = Function<T>;
  switch (op) {
    case UnaryOp::kNeg:
      return each(n, src, dst, [](T x) { return F::neg(x); });
    case UnaryOp::kAbs:
      return each(n, src, dst, [](T x) { return F::abs(x); });
    case UnaryOp::kSqrt:
      return each(n, src, dst, [](T x) { return F::sqrt(x); });
    case UnaryOp::kExp:
      return each(n, src, dst, [](T x) { return F::exp(x); });
    case UnaryOp::kLog:
      return each(n, src, dst, [](T x) { return F::log(x); });
    case UnaryOp::kErf:
      return each(n, src, dst, [](T x) { return F::erf(x); });
    case UnaryOp::kReciprocal:
      return each(n, src, dst, [](T x) { return tidy(1 / x); });
    case UnaryOp::kRsqrt:
      return each(n, src, dst, [](T x) { return F::rsqrt(x); });
    case UnaryOp::kSin:
      return trig_range<true>(n, src, dst);
    case UnaryOp::kCos:
      return trig_range<false>(n, src, dst);
  }
}

template <class T>
void scale_range(int64_t n, T factor, const T* src, T* dst) {
  each(n, src, dst, [factor](T x) { return tidy(factor * x); });
}

void cube_range(int64_t n, const float* src, float* dst) {
  each(n, src, dst, [](float x) { return cube_rounded(x); });
}

template <class T>
constexpr Table<T> table_of_loops() {
  if constexpr (std::is_integral_v<T>) {
    return {.binary_row = binary_row<T>, .unary = nullptr, .scale = nullptr};
  } else if constexpr (std::is_same_v<T, float>) {
    return {.binary_row = binary_row<T>, .unary = unary_range<T>, .scale = scale_range<T>, .cube = cube_range};
  } else {
    return {.binary_row = binary_row<T>, .unary = unary_range<T>, .scale = scale_range<T>};
  }
}
template <class T>
constexpr Table<T> kTable = table_of_loops<T>();

}  // namespace

ISOBIT_FOR_NUMBERS(ISOBIT_DEFINE_TABLE, ISOBIT_ISA)

}  // namespace isobit::kernels::elementwise
