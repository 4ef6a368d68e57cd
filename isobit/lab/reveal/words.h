// A tree in words: "16 partial sums, 1 apart, combined pairwise, distances 8, 4, 2, 1; each: 64 terms, 16 apart, in
// ascending order".
#pragma once

#include <string>
#include <vector>

#include "isobit/lab/reveal/tree.h"

namespace isobit::lab::reveal {

// What a subtree is made of.
enum class Pattern {
  kTerm,
  kChain,      // terms added one after another
  kBlocks,     // parts added one after another
  kLanes,      // interleaved parts of one shape, combined two and two
  kHalves,     // contiguous parts of one shape, combined two and two
  kFused,      // one operation with more than two operands
  kIrregular,  // two parts that have nothing in common, or a tree too deep to look into
};

struct Description {
  Pattern pattern = Pattern::kTerm;
  int64_t terms = 1;  // all of them
  int64_t first = 0;  // the smallest
  int64_t last = 0;   // the largest
  // kChain: from each term to the next, negative where they descend, 0 where that differs.
  int64_t step = 0;
  // kChain: how many terms join the accumulator in one operation; 1 for plain additions.
  int64_t at_a_time = 1;
  // kChain of step 0 whose order is that of nested loops: (times, distance), innermost first; else empty.
  struct Loop {
    int64_t times, distance;
    bool operator==(const Loop&) const = default;
  };
  std::vector<Loop> loops;
  // kLanes, kHalves: by how many terms two partners are apart, at each level, the first combined first; empty where
  // that differs within a level.
  std::vector<int64_t> distances;
  int64_t count = 1;               // of parts
  std::vector<Description> parts;  // kLanes, kHalves: one that stands for all; others: each, in the order of addition
};

Description describe(const SumTree& tree);

// Whether they say the same of how terms are added, whatever the number of terms and where they begin.
bool same_kind(const Description& a, const Description& b);

// One line without a full stop.
std::string words_of(const Description& description);
inline std::string words_of(const SumTree& tree) { return words_of(describe(tree)); }

}  // namespace isobit::lab::reveal
