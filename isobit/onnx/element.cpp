#include "isobit/base/text.h"
#include "isobit/onnx/model.h"

namespace isobit::onnx {
namespace {

struct Row {
  int64_t element;
  DType dtype;
};
constexpr Row kRows[] = {{1, DType::kFloat32},  {2, DType::kUint8},    {3, DType::kInt8},    {4, DType::kUint16},
                         {5, DType::kInt16},    {6, DType::kInt32},    {7, DType::kInt64},   {9, DType::kBool},
                         {10, DType::kFloat16}, {11, DType::kFloat64}, {12, DType::kUint32}, {13, DType::kUint64},
                         {16, DType::kBfloat16}};

struct OtherName {
  int64_t element;
  const char* name;
};
constexpr OtherName kOtherNames[] = {
    {0, "undefined"},       {8, "string"},      {14, "complex64"},      {15, "complex128"}, {17, "float8e4m3fn"},
    {18, "float8e4m3fnuz"}, {19, "float8e5m2"}, {20, "float8e5m2fnuz"}, {21, "uint4"},      {22, "int4"},
    {23, "float4e2m1"},     {24, "float8e8m0"}, {25, "uint2"},          {26, "int2"}};

}  // namespace

std::optional<DType> dtype_of_element(int64_t element) {
  for (const Row& row : kRows) {
    if (row.element == element) return row.dtype;
  }
  return std::nullopt;
}

int64_t element_of_dtype(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row.element;
  }
  ISOBIT_CHECK(!"dtype");
}

std::string element_name(int64_t element) {
  if (const auto dtype = dtype_of_element(element)) return name_of(*dtype);
  for (const OtherName& other : kOtherNames) {
    if (other.element == element) return other.name;
  }
  return text_of("type ", element);
}

std::string TypeDef::text() const {
  switch (kind) {
    case Kind::kSequence:
      return "sequence";
    case Kind::kOptional:
      return "optional";
    case Kind::kMap:
      return "map";
    case Kind::kNone:
      return "no type";
    case Kind::kSparse:
    case Kind::kTensor:
      break;
  }
  std::string out = (kind == Kind::kSparse ? "sparse " : "") + element_name(element);
  if (!has_shape) return out;
  out += " [";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += dims[i].extent >= 0 ? text_of(dims[i].extent) : dims[i].name.empty() ? "?" : dims[i].name;
  }
  return out + "]";
}

}  // namespace isobit::onnx
