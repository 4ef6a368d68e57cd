// The order in which a kernel adds K numbers: a tree whose leaves are the summands and whose nodes are additions.
//
// A node of two children is one rounded addition. A node of more is one operation that adds several operands at once (a
// fused dot product, as matrix units have); in which order, if any, is not seen from outside. Addition commutes, so
// the order of a node's children means nothing: they are kept in the order of their smallest leaves, which makes equal
// trees equal values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/commit/hash.h"

namespace isobit::lab::reveal {

inline constexpr int64_t kMostLeaves = 1 << 16;       // of a tree that is read
inline constexpr uint64_t kMostTreeText = 16u << 20;  // bytes of its text

// An id below leaves() is that leaf, id leaves() + i the node i.
using TreeId = int32_t;

class SumTree {
 public:
  // A single leaf, no node.
  SumTree() = default;
  // `nodes[i]` has the children of node i; each node but the last, the root, is the child of exactly one later node,
  // each leaf of exactly one node. REQUIRES that, at least two children a node, and 1 <= leaves <= kMostLeaves.
  SumTree(int64_t leaves, const std::vector<std::vector<TreeId>>& nodes);

  int64_t leaves() const { return leaves_; }
  // Canonical: children by their smallest leaf, nodes in the order in which a walk from the root leaves them.
  const std::vector<std::vector<TreeId>>& nodes() const { return nodes_; }
  TreeId root() const { return root_of(leaves_, nodes_.size()); }
  bool is_leaf(TreeId id) const { return id < leaves_; }
  const std::vector<TreeId>& children(TreeId id) const { return nodes_[static_cast<size_t>(id - leaves_)]; }

  // Of every id: how many leaves lie below it, and the smallest of them.
  std::vector<int64_t> sizes() const;
  std::vector<TreeId> smallest() const;
  // The longest way from the root to a leaf, in additions.
  int64_t depth() const;
  // Operands of the largest node.
  int64_t widest() const;

  bool operator==(const SumTree&) const = default;

 private:
  static TreeId root_of(int64_t leaves, size_t nodes);

  int64_t leaves_ = 1;
  std::vector<std::vector<TreeId>> nodes_;
};

// "((0 1) (2 3))": one text for each tree.
std::string text_of_tree(const SumTree& tree);
// Reads such a text, children in any order. kUnreadable: anything else, a leaf that is missing or there twice, more
// than kMostLeaves leaves. `what` names the source.
Expected<SumTree> parse_tree(std::string_view text, std::string_view what);

// {"leaves": K, "nodes": [[0, 1], [4, 2], ...]}, ids as above.
std::string json_of_tree(const SumTree& tree);

// SHA-256 of the text, tagged "isobit.sum-tree". Equal digests: equal trees.
commit::Digest digest_of_tree(const SumTree& tree);

// How many leaves lie below the node where the sums that hold leaves i and j meet; 1 for i = j.
// REQUIRES both ids to be leaves.
int64_t leaves_below_common_ancestor(const SumTree& tree, TreeId i, TreeId j);

}  // namespace isobit::lab::reveal
