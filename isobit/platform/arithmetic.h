// What fixes the bits of a run: the arithmetics that a job can name.
//
//   ordered-1  float32; every operation in a written order. Any platform of `ordered`, the same bits.
//   correct-1  float32; inner products and sums correctly rounded. Any platform, the same bits.
//   logged-1   float64, every output rounded; the trainer's near-ties are written down and the auditor follows them.
//              Any platform that has the log, the trainer's bits.
//   rounded    logged-1 without the log: the same bits almost always.
//   float64    float64 as the platform's library computes it: no promise.
//   float32    float32 as the platform's library computes it: no promise.
// The last three are there to be measured against.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::platform {

struct Arithmetic {
  std::string name;
  DType computes_in = DType::kFloat32;  // the type of the values of a training step
  bool rounds = false;                  // outputs of operators are rounded (job table [rounding])
  bool logs = false;                    // near-ties are written to a log
  bool corrects = false;                // inner products are correctly rounded (kernels/correct)
  bool any_library = true;              // false: only our own ordered kernels
  bool promises = false;                // the same bits on every platform, by the log where there is one
  std::string scored_by = {};           // the arithmetic of evaluations where it is another one
  // The longest inner product that the analysis of its errors covers; graphs with a longer one are refused.
  int64_t most_terms = std::numeric_limits<int64_t>::max();
};

const std::vector<Arithmetic>& arithmetics();
// Null for an unknown name.
const Arithmetic* find_arithmetic(std::string_view name);
// kUnreadable for an unknown name, with those that there are.
Expected<const Arithmetic*> named_arithmetic(std::string_view name);
// REQUIRES a known name.
const Arithmetic& arithmetic_of(std::string_view name);

}  // namespace isobit::platform
