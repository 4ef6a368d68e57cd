// What tests and benchmarks of this folder may ask of engine.h; nothing else does. Internal.
#pragma once

#include <cstdint>

namespace isobit::kernels::correct {

// Deliberate mistakes, so that a test can show that it would notice them.
enum class Mutation {
  kNone,
  kNoBound,           // d = 0
  kSmallBound,        // d / 1024
  kFewTermsAreExact,  // sums of up to three terms are believed to have been rounded nowhere
  kGridUnchecked,     // a sum of few bits is believed to be exact
  kNoDoubledStep,     // a plain float64 sum under the bound of the doubled-precision one
  kNoExactStep,       // the doubled-precision sum is believed where it cannot decide
  kWrongModulus,      // integer/: one modulus is not what residues are taken by
  kFewModuli,         // integer/: lines are scaled for one modulus more than there is
  kUnfiltered,        // convert, multiply, round: what correct rounding is measured against
};

// Sees what the filter decides by, before anything is decided.
class BoundObserver {
 public:
  virtual ~BoundObserver() = default;
  // Output (i, j) of one product: the float64 approximation x (bias included) and the bound d on its distance from the
  // exact sum. Called by several threads at a time; with special values neither need be finite.
  virtual void on_bound(int64_t i, int64_t j, double x, double d) = 0;
};

struct Instruments {
  Mutation mutation = Mutation::kNone;
  BoundObserver* bounds = nullptr;  // not owned
};

}  // namespace isobit::kernels::correct
