// The executable specification: one element at a time, compiled for the baseline machine.
#include <limits>
#include <type_traits>

#include "isobit/kernels/elementwise/cube.h"
#include "isobit/kernels/elementwise/modular.h"
#include "isobit/kernels/elementwise/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels::elementwise {
namespace {

using numerics::bits_of;
using numerics::canonical;

template <class T>
bool negative_zero_first(T a, T b) {
  return a == b ? (bits_of(a) >> (8 * sizeof(T) - 1)) != 0 : a < b;
}

template <class T>
T one_real(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::kAdd:
      return canonical(a + b);
    case BinaryOp::kSub:
      return canonical(a - b);
    case BinaryOp::kMul:
      return canonical(a * b);
    case BinaryOp::kDiv:
      return canonical(a / b);
    case BinaryOp::kMax:
      if (a != a || b != b) return canonical(a + b);
      return negative_zero_first(a, b) ? b : a;
    case BinaryOp::kMin:
      if (a != a || b != b) return canonical(a + b);
      return negative_zero_first(a, b) ? a : b;
  }
  return a;
}

template <class T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (a == std::numeric_limits<T>::lowest() && b == -1) return a;
  }
  return static_cast<T>(a / b);
}

template <class T>
T one_integer(BinaryOp op, T a, T b) {
  const auto x = static_cast<Modular<T>>(a), y = static_cast<Modular<T>>(b);
  switch (op) {
    case BinaryOp::kAdd:
      return static_cast<T>(x + y);
    case BinaryOp::kSub:
      return static_cast<T>(x - y);
    case BinaryOp::kMul:
      return static_cast<T>(x * y);
    case BinaryOp::kDiv:
      return quotient(a, b);
    case BinaryOp::kMax:
      return a > b ? a : b;
    case BinaryOp::kMin:
      return a < b ? a : b;
  }
  return a;
}

template <class T>
T one(BinaryOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return one_integer(op, a, b);
  } else {
    return one_real(op, a, b);
  }
}

template <class T>
void binary_row(BinaryOp op, Row row, int64_t n, const T* a, const T* b, T* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = one(op, a[row == Row::kScalarA ? 0 : i], b[row == Row::kScalarB ? 0 : i]);
}

float one(UnaryOp op, float x) {
  switch (op) {
    case UnaryOp::kNeg:
      return canonical(-x);
    case UnaryOp::kAbs:
      return canonical(numerics::f32_from_bits(bits_of(x) & 0x7fffffffu));
    case UnaryOp::kSqrt:
      return numerics::cr_sqrt(x);
    case UnaryOp::kExp:
      return numerics::cr_exp(x);
    case UnaryOp::kLog:
      return numerics::cr_log(x);
    case UnaryOp::kErf:
      return numerics::cr_erf(x);
    case UnaryOp::kSin:
      return numerics::cr_sin(x);
    case UnaryOp::kCos:
      return numerics::cr_cos(x);
    case UnaryOp::kReciprocal:
      return canonical(1 / x);
    case UnaryOp::kRsqrt:
      return numerics::cr_rsqrt(x);
  }
  return x;
}

double one(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kNeg:
      return canonical(-x);
    case UnaryOp::kAbs:
      return canonical(numerics::f64_from_bits(bits_of(x) & 0x7fffffffffffffffull));
    case UnaryOp::kSqrt:
      return numerics::f64_sqrt(x);
    case UnaryOp::kExp:
      return numerics::f64_exp(x);
    case UnaryOp::kLog:
      return numerics::f64_log(x);
    case UnaryOp::kErf:
      return numerics::f64_erf(x);
    case UnaryOp::kReciprocal:
      return canonical(1 / x);
    case UnaryOp::kRsqrt:
      return numerics::f64_rsqrt(x);
    case UnaryOp::kSin:
      return numerics::f64_sin(x);
    case UnaryOp::kCos:
      return numerics::f64_cos(x);
  }
  return x;
}

template <class T>
void unary_range(UnaryOp op, int64_t n, const T* src, T* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = one(op, src[i]);
}

template <class T>
void scale_range(int64_t n, T factor, const T* src, T* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = canonical(factor * src[i]);
}

void cube_range(int64_t n, const float* src, float* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = cube_rounded(src[i]);
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

ISOBIT_FOR_NUMBERS(ISOBIT_DEFINE_TABLE, kReference)

}  // namespace isobit::kernels::elementwise
