// Each kind of proof is one recursion over the tree; prover and verifier walk it in the same order, one reading the
// digests from the leaves, the other from the proof. The depth is at most 64.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/commit/merkle.h"
#include "isobit/commit/merkle_internal.h"

namespace isobit::commit {
namespace internal {

uint64_t inclusion_path_length(uint64_t index, uint64_t size) {
  uint64_t length = 0;
  for (; size > 1; ++length) {
    const uint64_t left = left_size(size);
    if (index < left) {
      size = left;
    } else {
      index -= left;
      size -= left;
    }
  }
  return length;
}

uint64_t consistency_length(uint64_t old_size, uint64_t new_size) {
  if (old_size == 0) return 0;
  uint64_t length = 0;
  bool whole = true;  // the old tree is a left-edge subtree, whose root the verifier has
  while (old_size != new_size) {
    const uint64_t left = left_size(new_size);
    if (old_size <= left) {
      new_size = left;
    } else {
      old_size -= left;
      new_size -= left;
      whole = false;
    }
    ++length;
  }
  return whole ? length : length + 1;
}

uint64_t several_length(std::span<const uint64_t> indices, uint64_t size) {
  struct Walk {
    static uint64_t count(std::span<const uint64_t> opened, uint64_t begin, uint64_t n) {
      if (opened.empty()) return 1;
      if (n == 1) return 0;
      const uint64_t left = left_size(n);
      const auto middle = std::lower_bound(opened.begin(), opened.end(), begin + left) - opened.begin();
      return count(opened.first(static_cast<size_t>(middle)), begin, left) +
             count(opened.subspan(static_cast<size_t>(middle)), begin + left, n - left);
    }
  };
  return Walk::count(indices, 0, size);
}

bool proper_indices(std::span<const uint64_t> indices, uint64_t size) {
  if (indices.empty() || indices.back() >= size) return false;
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i - 1] >= indices[i]) return false;
  }
  return true;
}

}  // namespace internal

namespace {

using internal::left_size;
using Leaves = std::span<const Digest>;

void walk_path(Leaves leaves, uint64_t index, std::vector<Digest>& path) {
  if (leaves.size() == 1) return;
  const uint64_t left = left_size(leaves.size());
  if (index < left) {
    walk_path(leaves.first(left), index, path);
    path.push_back(merkle_root(leaves.subspan(left)));
  } else {
    walk_path(leaves.subspan(left), index - left, path);
    path.push_back(merkle_root(leaves.first(left)));
  }
}

void walk_consistency(Leaves leaves, uint64_t old_size, bool whole, std::vector<Digest>& nodes) {
  if (old_size == leaves.size()) {
    if (!whole) nodes.push_back(merkle_root(leaves));
    return;
  }
  const uint64_t left = left_size(leaves.size());
  if (old_size <= left) {
    walk_consistency(leaves.first(left), old_size, whole, nodes);
    nodes.push_back(merkle_root(leaves.subspan(left)));
  } else {
    walk_consistency(leaves.subspan(left), old_size - left, false, nodes);
    nodes.push_back(merkle_root(leaves.first(left)));
  }
}

void walk_several(Leaves leaves, uint64_t begin, std::span<const uint64_t> opened, std::vector<Digest>& nodes) {
  if (opened.empty()) {
    nodes.push_back(merkle_root(leaves));
    return;
  }
  if (leaves.size() == 1) return;
  const uint64_t left = left_size(leaves.size());
  const auto middle =
      static_cast<size_t>(std::lower_bound(opened.begin(), opened.end(), begin + left) - opened.begin());
  walk_several(leaves.first(left), begin, opened.first(middle), nodes);
  walk_several(leaves.subspan(left), begin + left, opened.subspan(middle), nodes);
}

// The verifiers below are called only after the number of digests was checked, so that `at` stays in range.
Digest path_root(uint64_t index, uint64_t size, const Digest& leaf, Leaves path) {
  if (size == 1) return leaf;
  const uint64_t left = left_size(size);
  const Leaves below = path.first(path.size() - 1);
  return index < left ? node_hash(path_root(index, left, leaf, below), path.back())
                      : node_hash(path.back(), path_root(index - left, size - left, leaf, below));
}

struct TwoRoots {
  Digest old_root, new_root;
};

TwoRoots consistency_roots(uint64_t old_size, uint64_t size, const Digest* whole, Leaves nodes, size_t& at) {
  if (old_size == size) {
    const Digest& root = whole != nullptr ? *whole : nodes[at++];
    return {root, root};
  }
  const uint64_t left = left_size(size);
  if (old_size <= left) {
    const TwoRoots below = consistency_roots(old_size, left, whole, nodes, at);
    return {below.old_root, node_hash(below.new_root, nodes[at++])};
  }
  const TwoRoots below = consistency_roots(old_size - left, size - left, nullptr, nodes, at);
  const Digest& sibling = nodes[at++];
  return {node_hash(sibling, below.old_root), node_hash(sibling, below.new_root)};
}

struct SeveralCursor {
  std::span<const uint64_t> indices;
  Leaves opened;
  Leaves nodes;
  size_t next_opened = 0, next_node = 0;

  Digest root(uint64_t begin, uint64_t size) {
    // `size - 1` and not `begin + size`, which overflows for the largest trees.
    if (next_opened == indices.size() || indices[next_opened] - begin > size - 1) return nodes[next_node++];
    if (size == 1) return opened[next_opened++];
    const uint64_t left = left_size(size);
    const Digest l = root(begin, left);
    const Digest r = root(begin + left, size - left);
    return node_hash(l, r);
  }
};

tl::unexpected<Error> wrong_count(const char* kind, uint64_t found, uint64_t expected) {
  return rejected(text_of(kind, ": found ", found, " digests, expected ", expected));
}

tl::unexpected<Error> wrong_size(const char* kind, uint64_t found, uint64_t expected) {
  return rejected(text_of(kind, ": is for a tree of ", found, " leaves, expected ", expected));
}

}  // namespace

InclusionProof prove_inclusion(Leaves leaf_hashes, uint64_t index) {
  ISOBIT_CHECK(index < leaf_hashes.size());
  InclusionProof proof{index, leaf_hashes.size(), {}};
  walk_path(leaf_hashes, index, proof.path);
  return proof;
}

ConsistencyProof prove_consistency(Leaves leaf_hashes, uint64_t old_size) {
  ISOBIT_CHECK(old_size <= leaf_hashes.size());
  ConsistencyProof proof{old_size, leaf_hashes.size(), {}};
  if (old_size != 0) walk_consistency(leaf_hashes, old_size, true, proof.nodes);
  return proof;
}

MultiProof prove_several(Leaves leaf_hashes, std::span<const uint64_t> indices) {
  ISOBIT_CHECK(internal::proper_indices(indices, leaf_hashes.size()));
  MultiProof proof{leaf_hashes.size(), {indices.begin(), indices.end()}, {}};
  walk_several(leaf_hashes, 0, indices, proof.nodes);
  return proof;
}

Expected<Digest> inclusion_root(const InclusionProof& proof, const Digest& leaf_hash) {
  constexpr const char* kKind = "inclusion proof";
  if (proof.index >= proof.size) {
    return rejected(text_of(kKind, ": leaf ", proof.index, " is outside a tree of ", proof.size, " leaves"));
  }
  const uint64_t length = internal::inclusion_path_length(proof.index, proof.size);
  if (proof.path.size() != length) return wrong_count(kKind, proof.path.size(), length);
  return path_root(proof.index, proof.size, leaf_hash, proof.path);
}

Status verify_inclusion(const InclusionProof& proof, const Digest& leaf_hash, const SizedRoot& tree) {
  constexpr const char* kKind = "inclusion proof";
  if (proof.size != tree.size) return wrong_size(kKind, proof.size, tree.size);
  ISOBIT_TRY(const Digest root, inclusion_root(proof, leaf_hash));
  if (root != tree.root) {
    return rejected(text_of(kKind, ": leaf ", proof.index, " does not lead to the root"));
  }
  return {};
}

Status verify_consistency(const ConsistencyProof& proof, const SizedRoot& old_tree, const SizedRoot& new_tree) {
  constexpr const char* kKind = "consistency proof";
  if (proof.old_size != old_tree.size) return wrong_size(kKind, proof.old_size, old_tree.size);
  if (proof.new_size != new_tree.size) return wrong_size(kKind, proof.new_size, new_tree.size);
  if (proof.old_size > proof.new_size) {
    return rejected(text_of(kKind, ": the older tree has ", proof.old_size, " leaves, the newer ", proof.new_size));
  }
  const uint64_t length = internal::consistency_length(proof.old_size, proof.new_size);
  if (proof.nodes.size() != length) return wrong_count(kKind, proof.nodes.size(), length);
  if (proof.old_size == 0) {
    if (old_tree.root != internal::empty_root() || (proof.new_size == 0 && new_tree.root != internal::empty_root())) {
      return rejected(text_of(kKind, ": the root of an empty tree is not that of no leaves"));
    }
    return {};
  }
  size_t at = 0;
  const TwoRoots roots = consistency_roots(proof.old_size, proof.new_size, &old_tree.root, proof.nodes, at);
  if (roots.old_root != old_tree.root) return rejected(text_of(kKind, ": does not lead to the older root"));
  if (roots.new_root != new_tree.root) return rejected(text_of(kKind, ": does not lead to the newer root"));
  return {};
}

Status verify_several(const MultiProof& proof, Leaves leaf_hashes, const SizedRoot& tree) {
  constexpr const char* kKind = "proof of several leaves";
  if (proof.size != tree.size) return wrong_size(kKind, proof.size, tree.size);
  if (!internal::proper_indices(proof.indices, proof.size)) {
    return rejected(text_of(kKind, ": the indices are not increasing, empty, or outside ", proof.size, " leaves"));
  }
  if (leaf_hashes.size() != proof.indices.size()) {
    return rejected(text_of(kKind, ": found ", leaf_hashes.size(), " leaves, expected ", proof.indices.size()));
  }
  const uint64_t length = internal::several_length(proof.indices, proof.size);
  if (proof.nodes.size() != length) return wrong_count(kKind, proof.nodes.size(), length);
  SeveralCursor cursor{proof.indices, leaf_hashes, proof.nodes};
  if (cursor.root(0, proof.size) != tree.root) {
    return rejected(text_of(kKind, ": the leaves do not lead to the root"));
  }
  return {};
}

}  // namespace isobit::commit
