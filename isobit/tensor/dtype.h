// The types of elements: the one list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "isobit/base/status.h"
#include "isobit/numerics/half.h"

namespace isobit {

using numerics::Bfloat16;
using numerics::Float16;

// X(name of the enumerator, element in memory, number, name)
// The numbers are part of docs/formats/tensor_root.md; never renumber.
#define ISOBIT_FOR_DTYPES(X)          \
  X(kFloat32, float, 1, "float32")    \
  X(kFloat64, double, 2, "float64")   \
  X(kInt64, int64_t, 3, "int64")      \
  X(kInt32, int32_t, 4, "int32")      \
  X(kUint8, uint8_t, 5, "uint8")      \
  X(kBool, bool, 6, "bool")           \
  X(kInt8, int8_t, 7, "int8")         \
  X(kInt16, int16_t, 8, "int16")      \
  X(kUint16, uint16_t, 9, "uint16")   \
  X(kUint32, uint32_t, 10, "uint32")  \
  X(kUint64, uint64_t, 11, "uint64")  \
  X(kFloat16, Float16, 12, "float16") \
  X(kBfloat16, Bfloat16, 13, "bfloat16")

enum class DType : uint8_t {
#define ISOBIT_ENUMERATOR(enumerator, T, number, name) enumerator = number,
  ISOBIT_FOR_DTYPES(ISOBIT_ENUMERATOR)
#undef ISOBIT_ENUMERATOR
};

// f(T{}) where T is the type of an element in memory.
template <class F>
constexpr decltype(auto) by_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define ISOBIT_CASE(enumerator, T, number, name) \
  case DType::enumerator:                        \
    return f(T{});
    ISOBIT_FOR_DTYPES(ISOBIT_CASE)
#undef ISOBIT_CASE
  }
  ISOBIT_CHECK(!"dtype");
}

template <class T>
constexpr DType dtype_of() {
#define ISOBIT_MATCH(enumerator, U, number, name) \
  if constexpr (std::is_same_v<T, U>)             \
    return DType::enumerator;                     \
  else
  ISOBIT_FOR_DTYPES(ISOBIT_MATCH)
#undef ISOBIT_MATCH
  static_assert(!sizeof(T), "not a tensor element type");
}

size_t size_of(DType dtype);       // of an element
const char* name_of(DType dtype);  // "float32"
std::optional<DType> dtype_of_number(uint64_t number);

// Some of the types. Kernels say by one of these what they compute.
template <class... T>
struct Types {
  static constexpr bool contains(DType dtype) { return ((dtype_of<T>() == dtype) || ...); }
};
using FloatTypes = Types<float, double>;
using HalfTypes = Types<Float16, Bfloat16>;
using RealTypes = Types<float, double, Float16, Bfloat16>;
using SignedTypes = Types<int8_t, int16_t, int32_t, int64_t>;
using IntegerTypes = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
// What is computed with as it is: float16 and bfloat16 are widened first.
using NumberTypes = Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

// f(T{}) for the one of these types that `dtype` is; false, and nothing done, when it is none of them.
template <class... T, class F>
constexpr bool by_type(Types<T...>, DType dtype, F&& f) {
  return ((dtype == dtype_of<T>() && (static_cast<void>(f(T{})), true)) || ...);
}

}  // namespace isobit
