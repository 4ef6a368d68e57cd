// Two trees of one size that differ, gone down together: at each turn both parties show the subtrees below the one in
// which they differ, a few levels at a time, until it is a leaf. What is shown proves itself: it leads to the root that
// the party stands by.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/commit/merkle.h"

namespace isobit::dispute {

// Leaves [begin, begin + size) of a tree of RFC 6962, where that is a subtree of it.
struct Subtree {
  uint64_t begin = 0, size = 0;
  bool operator==(const Subtree&) const = default;
};

// The subtrees at most kLevels below, or leaves, left to right: at most 2^kLevels.
inline constexpr int kLevels = 7;
std::vector<Subtree> parts_of(const Subtree& tree);
// Their roots. REQUIRES a subtree of the tree of these leaves.
std::vector<commit::Digest> part_roots(std::span<const commit::Digest> leaf_hashes, const Subtree& tree);
// What the roots of parts_of(tree) lead to; none unless there is one for each.
std::optional<commit::Digest> joined(const Subtree& tree, std::span<const commit::Digest> roots);

}  // namespace isobit::dispute
