#include "isobit/lab/reveal/tree.h"

#include <algorithm>
#include <limits>

#include "isobit/base/text.h"

namespace isobit::lab::reveal {

namespace {

using Nodes = std::vector<std::vector<TreeId>>;

// Smallest leaf of every id, for nodes that come after their children.
std::vector<TreeId> smallest_leaves(int64_t leaves, const Nodes& nodes) {
  std::vector<TreeId> smallest(static_cast<size_t>(leaves) + nodes.size(), std::numeric_limits<TreeId>::max());
  for (TreeId leaf = 0; leaf < leaves; ++leaf) smallest[static_cast<size_t>(leaf)] = leaf;
  for (size_t i = 0; i < nodes.size(); ++i) {
    TreeId& least = smallest[static_cast<size_t>(leaves) + i];
    for (const TreeId child : nodes[i]) least = std::min(least, smallest[static_cast<size_t>(child)]);
  }
  return smallest;
}

// One step of a walk that keeps its own stack: trees may be as deep as they have leaves.
struct Visit {
  TreeId id;
  size_t next = 0;
};

}  // namespace

SumTree::SumTree(int64_t leaves, const Nodes& nodes) : leaves_(leaves) {
  ISOBIT_CHECK(leaves >= 1 && leaves <= kMostLeaves && (leaves == 1) == nodes.empty());
  std::vector<int> parents(static_cast<size_t>(leaves) + nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    ISOBIT_CHECK(nodes[i].size() >= 2);
    for (const TreeId child : nodes[i]) {
      ISOBIT_CHECK(child >= 0 && child < leaves + static_cast<int64_t>(i));
      ++parents[static_cast<size_t>(child)];
    }
  }
  for (size_t id = 0; id < parents.size(); ++id) {
    ISOBIT_CHECK(parents[id] == (id + 1 == parents.size() && !nodes.empty() ? 0 : leaves == 1 ? 0 : 1));
  }
  if (nodes.empty()) return;
  const std::vector<TreeId> least = smallest_leaves(leaves, nodes);
  Nodes sorted = nodes;
  for (auto& children : sorted) {
    std::sort(children.begin(), children.end(),
              [&](TreeId a, TreeId b) { return least[static_cast<size_t>(a)] < least[static_cast<size_t>(b)]; });
  }
  std::vector<TreeId> renamed(sorted.size());
  std::vector<Visit> stack = {{root_of(leaves, nodes.size())}};
  while (!stack.empty()) {
    Visit& top = stack.back();
    const size_t node = static_cast<size_t>(top.id - leaves);
    if (top.next < sorted[node].size()) {
      const TreeId child = sorted[node][top.next++];
      if (child >= leaves) stack.push_back({child});
      continue;
    }
    std::vector<TreeId> children = sorted[node];
    for (TreeId& child : children) {
      if (child >= leaves) child = renamed[static_cast<size_t>(child - leaves)];
    }
    renamed[node] = static_cast<TreeId>(leaves + static_cast<int64_t>(nodes_.size()));
    nodes_.push_back(std::move(children));
    stack.pop_back();
  }
}

TreeId SumTree::root_of(int64_t leaves, size_t nodes) {
  return static_cast<TreeId>(leaves + static_cast<int64_t>(nodes) - 1);
}

std::vector<int64_t> SumTree::sizes() const {
  std::vector<int64_t> sizes(static_cast<size_t>(leaves_), 1);
  for (const auto& children : nodes_) {
    int64_t sum = 0;
    for (const TreeId child : children) sum += sizes[static_cast<size_t>(child)];
    sizes.push_back(sum);
  }
  return sizes;
}

std::vector<TreeId> SumTree::smallest() const { return smallest_leaves(leaves_, nodes_); }

int64_t SumTree::depth() const {
  std::vector<int64_t> depths(static_cast<size_t>(leaves_), 0);
  for (const auto& children : nodes_) {
    int64_t most = 0;
    for (const TreeId child : children) most = std::max(most, depths[static_cast<size_t>(child)]);
    depths.push_back(most + 1);
  }
  return depths.back();
}

int64_t SumTree::widest() const {
  size_t most = 0;
  for (const auto& children : nodes_) most = std::max(most, children.size());
  return static_cast<int64_t>(most);
}

std::string text_of_tree(const SumTree& tree) {
  if (tree.nodes().empty()) return "0";
  std::string text = "(";
  std::vector<Visit> stack = {{tree.root()}};
  while (!stack.empty()) {
    Visit& top = stack.back();
    const auto& children = tree.children(top.id);
    if (top.next == children.size()) {
      text += ')';
      stack.pop_back();
      continue;
    }
    if (top.next > 0) text += ' ';
    const TreeId child = children[top.next++];
    if (tree.is_leaf(child)) {
      append_text(text, child);
    } else {
      text += '(';
      stack.push_back({child});
    }
  }
  return text;
}

std::string json_of_tree(const SumTree& tree) {
  std::string text = text_of("{\"leaves\": ", tree.leaves(), ", \"nodes\": [");
  for (size_t i = 0; i < tree.nodes().size(); ++i) {
    text += i > 0 ? ", [" : "[";
    for (size_t c = 0; c < tree.nodes()[i].size(); ++c) {
      append_text(text, c > 0 ? ", " : "");
      append_text(text, tree.nodes()[i][c]);
    }
    text += "]";
  }
  return text + "]}";
}

commit::Digest digest_of_tree(const SumTree& tree) {
  return commit::tagged_hash("isobit.sum-tree", 1, as_bytes(text_of_tree(tree)));
}

int64_t leaves_below_common_ancestor(const SumTree& tree, TreeId i, TreeId j) {
  ISOBIT_CHECK(i >= 0 && j >= 0 && i < tree.leaves() && j < tree.leaves());
  if (i == j) return 1;
  std::vector<int> holds(static_cast<size_t>(tree.leaves()), 0);
  holds[static_cast<size_t>(i)] = 1;
  holds[static_cast<size_t>(j)] = 1;
  const std::vector<int64_t> sizes = tree.sizes();
  for (const auto& children : tree.nodes()) {
    int sum = 0;
    for (const TreeId child : children) sum += holds[static_cast<size_t>(child)];
    if (sum == 2) return sizes[holds.size()];
    holds.push_back(sum);
  }
  return 0;
}

}  // namespace isobit::lab::reveal
