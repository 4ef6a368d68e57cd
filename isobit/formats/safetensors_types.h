// What the format calls the types. Internal.
#pragma once

#include "isobit/tensor/dtype.h"

namespace isobit::formats {

struct SafetensorsType {
  const char* name;
  DType dtype;
};
inline constexpr SafetensorsType kSafetensorsTypes[] = {
    {"F32", DType::kFloat32}, {"F64", DType::kFloat64}, {"F16", DType::kFloat16}, {"BF16", DType::kBfloat16},
    {"I64", DType::kInt64},   {"I32", DType::kInt32},   {"I16", DType::kInt16},   {"I8", DType::kInt8},
    {"U64", DType::kUint64},  {"U32", DType::kUint32},  {"U16", DType::kUint16},  {"U8", DType::kUint8},
    {"BOOL", DType::kBool}};

}  // namespace isobit::formats
