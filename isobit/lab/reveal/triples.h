// The summation tree of a sum that takes positive terms only: the denominator of a softmax.
//
// Nothing cancels there, so reveal.h's huge numbers do not help. But rounding tells of three terms which two meet
// first: 1, 1 and t = 1.2 * 2^-23 (of float64: 2^-52), the other terms 0. If the ones meet first, 2 + t rounds up to
// 2 + 2^-22. If t meets a one first, 1 + t rounds to 1 + 2^-23, and that plus the other one is a tie that goes to 2. No
// term need be exact but the ones, so terms may come from anybody's exp.
//
// For a pivot i, asking about (i, j | k) sorts the others by where they meet the pivot; those that meet it in one node
// are a subtree of their own. The work of a level is that of a quicksort: O(K log^2 K) queries expected.
#pragma once

#include "isobit/lab/reveal/reveal.h"

namespace isobit::lab::reveal {

inline constexpr int64_t kMostPositiveTerms = 512;

// The value of t for a format, and the result that says the ones met first is above this.
double third_term(Format format);
double ones_met_first_above(Format format);

// summation: its terms will be 0, 1 and t. Trees of two-operand nodes only. kNoUnitLost: the ones met first whichever
// they were, so partial sums are wider than the format. Errors: kUsage unless 1 <= terms() <= kMostPositiveTerms.
Expected<Revealed> reveal_positive_tree(Summation& summation, const RevealOptions& options = {});

}  // namespace isobit::lab::reveal
