// The summation tree of a black box, from its answers alone.
//
// Source: Xie et al., "FPRev: Revealing Floating-Point Accumulation Order", ATC 2025. Of K terms that are 1, term i is
// set to a huge M and term j to -M. Units that are added to a partial sum that holds one of the two are lost; those
// added after the two have met survive. So K minus the result is the number of leaves below the lowest common ancestor
// of i and j. For a pivot i the counts of all j order the subtrees along the way from i to the root; each of them is
// revealed in the same way. An operation that adds more than two operands at once shows as a subtree whose own counts
// reach as far as the node above.
//
// Beyond the paper: pivots are drawn at random (seeded), so that no order is a bad case: O(K log K) queries expected
// for any tree of two-operand nodes, where the smallest leaf as pivot takes O(K^2) for a chain added backwards. All
// sets of a level are asked about in one batch. And the answer is checked: every count must fit, pairs drawn at random
// are asked again, and confirm.h compares sums of random numbers.
//
// Limits: M = 2^126 (float64: 2^1000) swamps units in accumulators of up to 113 bits of significand; counts are exact
// since K <= 4096 < 2^24. A sum whose every unit survives has an accumulator wider than that, or is correctly rounded.
#pragma once

#include <optional>
#include <string>

#include "isobit/lab/reveal/summation.h"
#include "isobit/lab/reveal/tree.h"

namespace isobit::lab::reveal {

inline constexpr int64_t kMostTerms = 4096;

struct RevealOptions {
  uint64_t seed = 1;  // of the pivots; the answer does not depend on it
  // More are not asked. Enough for any tree of two-operand nodes and for nodes of some hundred operands.
  int64_t most_queries = 4'000'000;
};

enum class Verdict {
  kTree,        // every answer fits the tree
  kNoUnitLost,  // every unit survived every M: no rounding in between, hence no order to see
  kNotATree,    // answers that no tree gives
  kVaries,      // the same question got two answers
  kGaveUp,      // more queries than allowed
};
const char* name_of(Verdict verdict);  // "tree", "no unit lost", ...

struct Revealed {
  Verdict verdict = Verdict::kNotATree;
  std::optional<SumTree> tree;  // of kTree
  std::string reason;           // a sentence, of the others
  int64_t queries = 0;          // sums asked for
};

// Errors: kUsage unless 1 <= terms() <= kMostTerms; those of the summation. Determinism class: that of the summation.
Expected<Revealed> reveal_tree(Summation& summation, const RevealOptions& options = {});

}  // namespace isobit::lab::reveal
