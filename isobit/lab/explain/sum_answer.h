// What an operator answers when it is asked how it computes a sum: one element of its output, with operands made up for
// the purpose.
#pragma once

#include "isobit/base/bytes.h"
#include "isobit/lab/explain/sum_model.h"
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
  SumPlace place = {};       // the element that was asked about
  reveal::Verdict verdict = reveal::Verdict::kNotATree;
  std::string reason = {};  // where there is no tree
  SumModel model = {};
  std::string accumulator = {}, rounding = {};  // findings of reveal::probe_arithmetic; empty: not asked
  std::vector<Reach> reach = {};                // of a convolution, by axis of operand 0
  bool mixes = false;                           // and whether weights of terms that are 0 reach its bits
};

// Longer than this nobody waits for one platform's answers about a sum.
constexpr double kMostAskedSeconds = 20;

// `seconds`: what one run takes. Errors: those of the run; a sum that cannot be asked has a problem.
Expected<SumAnswer> ask_sum(const OperatorCall& call, OperatorRun& run, double seconds, const SumPlace& place);

// As one process hands it to another; the place is not among it.
void put(ByteWriter& writer, const SumAnswer& answer);
Expected<SumAnswer> take_sum(ByteReader& reader);

}  // namespace isobit::lab::explain
