#include "isobit/platform/arithmetic.h"

#include "isobit/base/text.h"
#include "isobit/kernels/correct/engine.h"
#include "isobit/kernels/rounding/exact_value.h"

namespace isobit::platform {

const std::vector<Arithmetic>& arithmetics() {
  static const std::vector<Arithmetic> kAll = {
      {.name = "ordered-1", .any_library = false, .promises = true},
      {.name = "correct-1", .corrects = true, .promises = true, .most_terms = kernels::correct::kMostTerms},
      {.name = "logged-1",
       .computes_in = DType::kFloat64,
       .rounds = true,
       .logs = true,
       .promises = true,
       .scored_by = "correct-1",
       .most_terms = kernels::rounding::kMostTerms},
      {.name = "rounded", .computes_in = DType::kFloat64, .rounds = true, .scored_by = "correct-1"},
      {.name = "float64", .computes_in = DType::kFloat64, .scored_by = "correct-1"},
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

Expected<const Arithmetic*> named_arithmetic(std::string_view name) {
  if (const Arithmetic* found = find_arithmetic(name)) return found;
  std::vector<std::string> names;
  for (const Arithmetic& a : arithmetics()) names.push_back(a.name);
  return unreadable(text_of("arithmetic '", name, "' is not one of this version: ", join_or(names)));
}

const Arithmetic& arithmetic_of(std::string_view name) {
  const Arithmetic* found = find_arithmetic(name);
  ISOBIT_CHECK(found != nullptr);
  return *found;
}

}  // namespace isobit::platform
