// What a platform answers when an operator of its is asked how it computes: with the operands that the network had, and
// with operands made up for the purpose.
#pragma once

#include "isobit/lab/explain/sum_model.h"
#include "isobit/lab/reveal/probes.h"
#include "isobit/lab/reveal/reveal.h"

namespace isobit::lab::explain {

// Along an axis of operand 0: where the terms of an element lie, and which places reach its bits.
struct Reach {
  int64_t first = 0, last = 0;  // of its terms
  int64_t reached_first = 0, reached_last = 0;
  bool beyond() const { return reached_first < first || reached_last > last; }
  int64_t places() const { return reached_last - reached_first + 1; }
  bool operator==(const Reach&) const = default;
};

// Of an operator that is a sum (is_sum()).
struct SumAnswer {
  std::string problem = {};  // why it was not asked: it would take too long, say
  reveal::Verdict verdict = reveal::Verdict::kNotATree;
  std::string reason = {};  // where there is no tree
  SumModel model = {};
  std::string accumulator = {}, rounding = {};  // findings of reveal::probe_arithmetic; empty: not asked
  std::vector<Reach> reach = {};                // of a convolution, by axis of operand 0
  bool mixes = false;                           // and whether weights of terms that are 0 reach its bits
};

struct Answer {
  size_t platform = 0;           // of the comparison
  std::vector<Tensor> outputs;   // on the operands that the network had
  std::optional<SumAnswer> sum;  // of a sum
  // Of an operator that updates a parameter: its output 0, had the powers of its attributes (beta^t) been computed in
  // float32: correctly rounded, or one ulp off.
  std::vector<records::Hash128> float_powers;
  std::string problem;  // nothing is known
};

// Longer than this nobody waits for one platform's answers about a sum.
constexpr double kMostAskedSeconds = 20;

// In a process of its own.
Answer ask(const OperatorCall& call, const platform::Platform& platform, const std::string& arithmetic,
           backends::Backend& backend);

// The same operands through our own kernels, which are correctly rounded for every function of one real number:
// in float32, and in float64 rounded once.
struct Reference {
  Tensor narrow, wide;
};
// kUnreadable: the operator is not there in float64, or its output 0 is no float32.
Expected<Reference> reference_of(const OperatorCall& call);

}  // namespace isobit::lab::explain
