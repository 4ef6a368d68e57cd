// Why two platforms make other bits of the same operands at one operator: decided by what they answer, never by what
// they are called.
#pragma once

#include "isobit/lab/explain/operator_answer.h"

namespace isobit::lab::explain {

enum class Kind {
  kUnknown,
  kSummationOrder,        // the additions of a sum are made in another order
  kFusedMultiplyAdd,      // a product is rounded before it is added, or it is not
  kAccumulatorWidth,      // partial sums are kept in float64
  kRounding,              // additions are rounded another way than to nearest even
  kFlushToZero,           // subnormal numbers are taken as 0
  kReciprocalDivision,    // x / c is computed as x * (1/c)
  kElementaryFunction,    // a function is not correctly rounded
  kConvolutionAlgorithm,  // tiles of the image are transformed, as Winograd's algorithm and Fourier transforms do
  kBiasCorrection,        // the powers in an optimizer's bias correction
};
const char* name_of(Kind kind);   // "summation_order", ...
std::string in_words(Kind kind);  // "another order of the additions"

struct Diagnosis {
  Kind kind = Kind::kUnknown;
  // Where several things differ and no single one of them is enough: the others.
  std::vector<Kind> also = {};
  // The change alone, evaluated on the operands that the network had, makes every bit of the other one that was
  // compared.
  bool confirmed = false;
  bool together = false;   // where no single change does: all of `kind` and `also`, changed at once, makes every bit
  int64_t compared = 0;    // elements
  std::string words = {};  // what was found, of a and b: whole sentences
};

// What the platforms are called in words.
struct Names {
  std::string a, b;
};

// `reference`: of an operator of one element each (OutputDef); null: there is none.
Diagnosis diagnose(const OperatorCall& call, const Answer& a, const Answer& b, const Reference* reference,
                   const Names& names);

}  // namespace isobit::lab::explain
