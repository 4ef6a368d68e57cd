#include "isobit/platform/arithmetic.h"

#include "isobit/base/status.h"

namespace isobit::platform {

const std::vector<Arithmetic>& arithmetics() {
  static const std::vector<Arithmetic> kAll = {
      {"ordered-1", DType::kFloat32, false, false, false},
      // The numbers are kernels::correct::kMostTerms and runtime::kMostTerms, in rooms that this one does not see.
      {"correct-1", DType::kFloat32, false, false, true, (int64_t{1} << 31) - 1},
      {"logged-1", DType::kFloat64, true, true, true, int64_t{1} << 26},
      {"rounded", DType::kFloat64, true},
      {"float64", DType::kFloat64},
      {"float32", DType::kFloat32},
  };
  return kAll;
}

const Arithmetic* find_arithmetic(std::string_view name) {
  for (const Arithmetic& a : arithmetics()) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

const Arithmetic& arithmetic_of(std::string_view name) {
  const Arithmetic* found = find_arithmetic(name);
  ISOBIT_CHECK(found != nullptr);
  return *found;
}

}  // namespace isobit::platform
