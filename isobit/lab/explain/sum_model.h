// How a kernel computes a sum, as far as questions can tell, and what it would make of real operands.
#pragma once

#include "isobit/lab/explain/operator_sum.h"
#include "isobit/lab/reveal/tree.h"

namespace isobit::lab::explain {

// Where an inner product takes up what it adds on top.
enum class Added {
  kLast,    // behind the rounded sum
  kInside,  // behind the sum, before that is rounded to float32
  kFirst,   // its sum begins with that
};

struct SumModel {
  std::optional<reveal::SumTree> tree;  // none: of exact products, rounded once
  bool fused = false;                   // a product that joins a partial sum is not rounded before
  bool wide = false;                    // products and additions in float64, rounded to float32 once
  bool toward_zero = false;             // each addition
  bool flushes = false;                 // subnormal results of products and additions become 0
  int64_t divisor = 1;                  // of a mean
  bool by_reciprocal = false;           // the sum times the rounded 1 / divisor
  Added added = Added::kLast;
};

// The element of output 0 at this place, of the operands that were fed.
float modelled(const SumModel& model, const OperatorCall& call, const SumPlace& place);

}  // namespace isobit::lab::explain
