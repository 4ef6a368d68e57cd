#include "isobit/dispute/descent.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace isobit::dispute {
namespace {

std::vector<commit::Digest> leaves_of(uint64_t n, uint8_t seed) {
  std::vector<commit::Digest> leaves;
  for (uint64_t i = 0; i < n; ++i) {
    const Bytes bytes = {seed, static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8)};
    leaves.push_back(commit::leaf_hash(bytes));
  }
  return leaves;
}

// Down to any leaf of any tree, at every turn with what leads to the root above.
RC_GTEST_PROP(Descent, PartsLeadToTheTreeTheyArePartsOf, ()) {
  const auto n = *rc::gen::inRange<uint64_t>(1, 3000);
  const auto wanted = *rc::gen::inRange<uint64_t>(0, n);
  const auto leaves = leaves_of(n, 1);
  Subtree tree{0, n};
  commit::Digest root = commit::merkle_root(leaves);
  for (int turns = 0; tree.size > 1; ++turns) {
    RC_ASSERT(turns < 3);  // 2^7 parts at a time
    const auto parts = parts_of(tree);
    const auto roots = part_roots(leaves, tree);
    RC_ASSERT(parts.size() <= size_t{1} << kLevels);
    RC_ASSERT(joined(tree, roots) == root);
    uint64_t begin = tree.begin;
    for (const Subtree& part : parts) {
      RC_ASSERT(part.begin == begin && part.size > 0);
      begin += part.size;
    }
    RC_ASSERT(begin == tree.begin + tree.size);
    const auto found = std::ranges::find_if(
        parts, [&](const Subtree& part) { return wanted >= part.begin && wanted < part.begin + part.size; });
    root = roots[static_cast<size_t>(found - parts.begin())];
    tree = *found;
  }
  RC_ASSERT(tree == (Subtree{wanted, 1}));
  RC_ASSERT(root == leaves[wanted]);
}

TEST(Descent, AnotherNumberOfRootsIsNone) {
  const auto leaves = leaves_of(300, 2);
  auto roots = part_roots(leaves, {0, 300});
  roots.pop_back();
  EXPECT_FALSE(joined({0, 300}, roots));
  roots.resize(roots.size() + 2);
  EXPECT_FALSE(joined({0, 300}, roots));
}

}  // namespace
}  // namespace isobit::dispute
