// What a platform answers when an operator of its is asked how it computes: with the operands that the network had, and
// with operands made up for the purpose.
#pragma once

#include "isobit/lab/explain/sum_answer.h"

namespace isobit::lab::explain {

struct Answer {
  size_t platform = 0;           // of the comparison
  std::vector<Tensor> outputs;   // on the operands that the network had
  std::optional<SumAnswer> sum;  // where one was asked about
  // Of an operator that updates a parameter: its output 0, had the powers of its attributes (beta^t) been computed in
  // float32: correctly rounded, or one ulp off.
  std::vector<records::Hash128> float_powers;
  std::string problem;  // nothing is known
};

// In a process of its own. `place`: the sum that is asked about; null: none.
Answer ask(const OperatorCall& call, const platform::Platform& platform, const std::string& arithmetic,
           backends::Backend& backend, const SumPlace* place = nullptr);

// The same operands through our own kernels, which are correctly rounded for every function of one real number:
// in float32, and in float64 rounded once.
struct Reference {
  Tensor narrow, wide;
};
// kUnreadable: the operator is not there in float64, or its output 0 is no float32.
Expected<Reference> reference_of(const OperatorCall& call);

}  // namespace isobit::lab::explain
