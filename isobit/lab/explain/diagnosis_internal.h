// The parts of a diagnosis, each for operators of one form. None: the operator is not of that form, or nothing that was
// looked at differs.
#pragma once

#include "isobit/lab/explain/diagnosis.h"
#include "isobit/numerics/bits.h"

namespace isobit::lab::explain {

inline bool same(float x, float y) { return numerics::bits_of(x) == numerics::bits_of(y); }

// What a diagnosis is made of. Output 0 of both platforms is float32 of the same shape.
struct Evidence {
  const OperatorCall& call;
  const Answer& a;
  const Answer& b;
  const Reference* reference;
  const Names& names;

  std::span<const float> out_a() const { return a.outputs.front().span<float>(); }
  std::span<const float> out_b() const { return b.outputs.front().span<float>(); }
};

std::optional<Diagnosis> powers(const Evidence& e);        // of an optimizer
std::optional<Diagnosis> flushed(const Evidence& e);       // results, whatever the operator
std::optional<Diagnosis> divided(const Evidence& e);       // x / y
std::optional<Diagnosis> function(const Evidence& e);      // of single elements
std::optional<Diagnosis> soft_maximum(const Evidence& e);  // e^x over their sum
std::optional<Diagnosis> summed(const Evidence& e);        // sums, means and inner products

}  // namespace isobit::lab::explain
