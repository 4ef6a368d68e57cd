// The type of elements that a name means: "float32". None for a name that is no type of ours.
#pragma once

#include <optional>
#include <string_view>

#include "isobit/tensor/dtype.h"

namespace isobit {

inline std::optional<DType> dtype_named(std::string_view name) {
#define ISOBIT_MATCH(enumerator, T, number, text) \
  if (name == text) return DType::enumerator;
  ISOBIT_FOR_DTYPES(ISOBIT_MATCH)
#undef ISOBIT_MATCH
  return std::nullopt;
}

}  // namespace isobit
