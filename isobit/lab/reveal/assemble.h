// From what was asked of sets of leaves to the tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/lab/reveal/tree.h"

namespace isobit::lab::reveal {

// Some leaves of the tree, and what their pivot said of the others.
struct LeafSet {
  // The leaves that meet the pivot in one node, a set of their own, and how many leaves of the whole tree lie below
  // that node.
  struct Group {
    int64_t below;
    size_t set;  // index; larger than that of the set it belongs to
  };
  std::vector<TreeId> leaves;
  TreeId pivot = 0;
  std::vector<Group> groups;  // ascending in `below`; together all leaves but the pivot
};

struct Assembled {
  std::optional<SumTree> tree;
  std::string reason;  // where the counts fit no tree
};

// sets[0] has all leaves.
Assembled assemble(int64_t leaves, const std::vector<LeafSet>& sets);

}  // namespace isobit::lab::reveal
