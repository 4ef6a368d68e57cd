// A tree as a picture.
#pragma once

#include <string>

#include "isobit/lab/reveal/tree.h"

namespace isobit::lab::reveal {

inline constexpr int64_t kMostDrawnLeaves = 128;

// A self-contained SVG: leaves at the bottom in the order of their indices' subtrees, the root at the top, every leaf
// labelled. A tree of more than kMostDrawnLeaves leaves is drawn down to the subtrees that are small enough, each a
// triangle with its range and number of terms; equal shapes have equal colours from a palette that is safe for the
// colour-blind. `title` is shown, and read out by screen readers with the words of the tree.
std::string svg_of_tree(const SumTree& tree, const std::string& title);

}  // namespace isobit::lab::reveal
