#include "isobit/platform/arithmetic.h"

#include "isobit/base/status.h"

namespace isobit::platform {

const std::vector<Arithmetic>& arithmetics() {
  static const std::vector<Arithmetic> kAll = {
      {.name = "ordered-1", .any_library = false, .promises = true},
      // The numbers are kernels::correct::kMostTerms and kernels::rounding::kMostTerms.
      {.name = "correct-1", .corrects = true, .promises = true, .most_terms = (int64_t{1} << 31) - 1},
      {.name = "logged-1",
       .computes_in = DType::kFloat64,
       .rounds = true,
       .logs = true,
       .promises = true,
       .most_terms = int64_t{1} << 26},
      {.name = "rounded", .computes_in = DType::kFloat64, .rounds = true},
      {.name = "float64", .computes_in = DType::kFloat64},
      {.name = "float32"},
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
