#include "isobit/dispute/descent.h"

#include <bit>

namespace isobit::dispute {
namespace {

uint64_t left_of(uint64_t size) { return std::bit_floor(size - 1); }

void split(const Subtree& tree, int levels, std::vector<Subtree>& out) {
  if (levels == 0 || tree.size < 2) {
    out.push_back(tree);
    return;
  }
  const uint64_t left = left_of(tree.size);
  split({tree.begin, left}, levels - 1, out);
  split({tree.begin + left, tree.size - left}, levels - 1, out);
}

commit::Digest join(const Subtree& tree, int levels, std::span<const commit::Digest> roots, size_t& next) {
  if (levels == 0 || tree.size < 2) return roots[next++];
  const uint64_t left = left_of(tree.size);
  const commit::Digest first = join({tree.begin, left}, levels - 1, roots, next);
  return commit::node_hash(first, join({tree.begin + left, tree.size - left}, levels - 1, roots, next));
}

}  // namespace

std::vector<Subtree> parts_of(const Subtree& tree) {
  std::vector<Subtree> parts;
  split(tree, kLevels, parts);
  return parts;
}

std::vector<commit::Digest> part_roots(std::span<const commit::Digest> leaf_hashes, const Subtree& tree) {
  std::vector<commit::Digest> roots;
  for (const Subtree& part : parts_of(tree)) {
    roots.push_back(commit::merkle_root(leaf_hashes.subspan(part.begin, part.size)));
  }
  return roots;
}

std::optional<commit::Digest> joined(const Subtree& tree, std::span<const commit::Digest> roots) {
  if (roots.size() != parts_of(tree).size()) return std::nullopt;
  size_t next = 0;
  return join(tree, kLevels, roots, next);
}

}  // namespace isobit::dispute
