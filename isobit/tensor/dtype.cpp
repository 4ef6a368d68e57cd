#include "isobit/tensor/dtype.h"

namespace isobit {
namespace {

struct Row {
  DType dtype;
  size_t size;
  const char* name;
};
constexpr Row kRows[] = {
#define ISOBIT_ROW(enumerator, T, number, name) {DType::enumerator, sizeof(T), name},
    ISOBIT_FOR_DTYPES(ISOBIT_ROW)
#undef ISOBIT_ROW
};

const Row& row_of(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row;
  }
  ISOBIT_CHECK(!"dtype");
}

}  // namespace

size_t size_of(DType dtype) { return row_of(dtype).size; }
const char* name_of(DType dtype) { return row_of(dtype).name; }

std::optional<DType> dtype_of_number(uint64_t number) {
  for (const Row& row : kRows) {
    if (static_cast<uint64_t>(row.dtype) == number) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace isobit
