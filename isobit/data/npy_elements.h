// Elements of the types that a .npy file may have, read from bytes.
#pragma once

#include <cmath>
#include <string>
#include <type_traits>

#include "isobit/base/bytes.h"
#include "isobit/base/text.h"
#include "isobit/tensor/dtype.h"

namespace isobit::data {

// f(v) for each element in order. v is of the type in memory; a boolean is the uint8 0 or 1 that it is stored as.
template <class F>
void for_each_element(DType dtype, ByteView bytes, F&& f) {
  by_dtype(dtype, [&]<class T>(T) {
    using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const auto* values = reinterpret_cast<const Stored*>(bytes.data());
    for (size_t i = 0; i < bytes.size() / sizeof(Stored); ++i) f(values[i]);
  });
}

// The nearest float32; infinite where there is none.
template <class T>
float as_float32(T v) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    return numerics::widened(v);
  } else {
    return static_cast<float>(v);
  }
}

// Of a value, not of what is nearest to it in float32.
template <class T>
bool is_finite(T v) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    return std::isfinite(numerics::widened(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(v);
  } else {
    return true;
  }
}

template <class T>
std::string text_of_element(T v) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    return text_of(numerics::widened(v));
  } else {
    return text_of(v);
  }
}

// The whole number; -1 for one that int64 does not have, and for what is none.
template <class T>
int64_t as_whole(T v) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    return v >> 63 == 0 ? static_cast<int64_t>(v) : -1;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(v);
  } else {
    return -1;
  }
}

}  // namespace isobit::data
