#include <algorithm>
#include <map>
#include <optional>

#include "isobit/lab/reveal/words.h"

namespace isobit::lab::reveal {

namespace {

constexpr int kDeepest = 64;  // levels of a description; what lies below is irregular

// The order of a chain as nested loops over arithmetic progressions; empty where it is none.
std::vector<Description::Loop> loops_of(std::vector<TreeId> order) {
  std::vector<Description::Loop> loops;
  while (order.size() > 1) {
    const int64_t step = order[1] - order[0];
    size_t run = 2;
    while (run < order.size() && order[run] - order[run - 1] == step) ++run;
    if (order.size() % run != 0) return {};
    std::vector<TreeId> starts;
    for (size_t at = 0; at < order.size(); at += run) {
      starts.push_back(order[at]);
      for (size_t l = 1; l < run; ++l) {
        if (order[at + l] - order[at + l - 1] != step) return {};
      }
    }
    loops.push_back({static_cast<int64_t>(run), step});
    order = std::move(starts);
  }
  return loops;
}

class Describer {
 public:
  explicit Describer(const SumTree& tree)
      : tree_(tree), sizes_(tree.sizes()), smallest_(tree.smallest()), shapes_(shapes_of()), largest_(sizes_.size()) {
    for (TreeId id = 0; id <= tree.root(); ++id) {
      largest_[at(id)] = id;
      if (tree.is_leaf(id)) continue;
      largest_[at(id)] = 0;
      for (const TreeId child : tree.children(id)) largest_[at(id)] = std::max(largest_[at(id)], largest_[at(child)]);
    }
  }

  Description of(TreeId id, int depth = 0) const {
    if (tree_.is_leaf(id)) return start(id, Pattern::kTerm);
    if (depth > kDeepest) return start(id, Pattern::kIrregular);
    if (auto chain = chain_of(id)) return *chain;
    if (tree_.children(id).size() > 2) {
      Description d = start(id, Pattern::kFused);
      for (const TreeId child : tree_.children(id)) d.parts.push_back(of(child, depth + 1));
      d.count = static_cast<int64_t>(d.parts.size());
      return d;
    }
    if (is_pair(id)) return pairs_of(id, depth);
    return blocks_of(id, depth);
  }

 private:
  static size_t at(TreeId id) { return static_cast<size_t>(id); }

  Description start(TreeId id, Pattern pattern) const {
    Description d;
    d.pattern = pattern;
    d.terms = sizes_[at(id)];
    d.first = smallest_[at(id)];
    d.last = largest_[at(id)];
    return d;
  }

  // Equal numbers: the same subtree, but for a number added to each leaf.
  std::vector<int> shapes_of() const {
    std::map<std::vector<int64_t>, int> known;
    std::vector<int> shapes(static_cast<size_t>(tree_.leaves()), 0);
    for (const auto& children : tree_.nodes()) {
      std::vector<int64_t> key;
      for (const TreeId child : children) {
        key.push_back(shapes[at(child)]);
        key.push_back(smallest_[at(child)] - smallest_[at(children[0])]);
      }
      shapes.push_back(known.emplace(std::move(key), static_cast<int>(known.size()) + 1).first->second);
    }
    return shapes;
  }

  bool is_contiguous(TreeId id) const { return largest_[at(id)] - smallest_[at(id)] + 1 == sizes_[at(id)]; }

  // Terms joining one accumulator, the same number each time.
  std::optional<Description> chain_of(TreeId id) const {
    std::vector<std::vector<TreeId>> steps;  // last first
    size_t width = 0;
    for (TreeId spine = id;;) {
      std::vector<TreeId> leaves;
      TreeId inner = -1;
      for (const TreeId child : tree_.children(spine)) {
        if (tree_.is_leaf(child)) {
          leaves.push_back(child);
        } else if (inner >= 0) {
          return std::nullopt;
        } else {
          inner = child;
        }
      }
      const size_t joined = inner < 0 ? leaves.size() - 1 : leaves.size();
      if (width == 0) width = joined;
      // The innermost operation has a term for the accumulator, or began with an accumulator of zero.
      if (joined != width && !(inner < 0 && leaves.size() == width)) return std::nullopt;
      steps.push_back(std::move(leaves));
      if (inner < 0) break;
      spine = inner;
    }
    std::vector<TreeId> order;
    for (size_t s = steps.size(); s-- > 0;) order.insert(order.end(), steps[s].begin(), steps[s].end());
    // Of the two that are added first, either may be called the first.
    if (width == 1 && order.size() > 2 && order[2] - order[0] == order[0] - order[1]) std::swap(order[0], order[1]);
    Description d = start(id, Pattern::kChain);
    d.at_a_time = static_cast<int64_t>(width);
    d.step = order[1] - order[0];
    for (size_t l = 1; l < order.size(); ++l) {
      if (order[l] - order[l - 1] != d.step) d.step = 0;
    }
    if (d.step == 0) {
      d.loops = loops_of(order);
      if (d.loops.empty()) {
        std::swap(order[0], order[1]);
        d.loops = loops_of(order);
      }
    }
    return d;
  }

  bool is_pair(TreeId id) const {
    if (tree_.is_leaf(id)) return false;
    const auto& children = tree_.children(id);
    return children.size() == 2 && shapes_[at(children[0])] == shapes_[at(children[1])];
  }
  bool halves(TreeId id) const { return is_contiguous(tree_.children(id)[0]) && is_contiguous(tree_.children(id)[1]); }

  // As many levels of pairs as are of one kind. All nodes of a level are of one shape.
  Description pairs_of(TreeId id, int depth) const {
    const bool contiguous = halves(id);
    Description d = start(id, contiguous ? Pattern::kHalves : Pattern::kLanes);
    std::vector<TreeId> level = {id};
    while (is_pair(level[0]) && halves(level[0]) == contiguous) {
      std::vector<TreeId> next;
      for (const TreeId node : level) {
        const auto& children = tree_.children(node);
        next.insert(next.end(), children.begin(), children.end());
      }
      d.distances.push_back(smallest_[at(next[1])] - smallest_[at(next[0])]);
      level = std::move(next);
    }
    std::reverse(d.distances.begin(), d.distances.end());
    d.count = static_cast<int64_t>(level.size());
    // One after the other is the simpler way to say it of two blocks.
    if (contiguous && d.count == 2) {
      d.pattern = Pattern::kBlocks;
      d.distances.clear();
      for (const TreeId part : level) d.parts.push_back(of(part, depth + 1));
    } else {
      d.parts.push_back(of(level[0], depth + 1));
    }
    return d;
  }

  // A pair whose parts are not such pairs themselves.
  bool is_of_two(TreeId id) const {
    const TreeId part = tree_.children(id)[0];
    return is_pair(id) && !(is_pair(part) && halves(part) == halves(id));
  }
  bool is_two_blocks(TreeId id) const { return is_of_two(id) && halves(id); }

  // What joins one accumulator along the spine, whose end is the first part.
  Description blocks_of(TreeId id, int depth) const {
    for (const TreeId part : tree_.children(id)) {
      const std::vector<TreeId> alike = parts_of_shape(id, shapes_[at(part)]);
      if (alike.empty()) continue;
      Description d = start(id, Pattern::kBlocks);
      d.count = static_cast<int64_t>(alike.size());
      const Description one = of(alike[0], depth + 1);
      for (const TreeId other : alike) {
        d.parts.push_back(one);
        d.parts.back().first = smallest_[at(other)];
        d.parts.back().last = largest_[at(other)];
      }
      return d;
    }
    std::vector<Description> parts;  // last first
    TreeId spine = id;
    for (;;) {
      if (tree_.is_leaf(spine) || tree_.children(spine).size() > 2 || chain_of(spine)) break;
      // A part by itself, not the first two of the parts.
      if (is_pair(spine) && (!is_of_two(spine) || (!parts.empty() && same_kind(of(spine, depth + 1), parts.back()))))
        break;
      TreeId a = tree_.children(spine)[0], b = tree_.children(spine)[1];
      const bool leads = is_simple(a), follows = is_simple(b);
      if (!leads && !follows) break;
      if (leads && !follows) std::swap(a, b);
      parts.push_back(of(b, depth + 1));
      spine = a;
    }
    if (parts.empty()) {
      Description d = start(id, Pattern::kIrregular);
      for (const TreeId child : tree_.children(id)) d.parts.push_back(of(child, depth + 1));
      d.count = 2;
      return d;
    }
    Description d = start(id, Pattern::kBlocks);
    parts.push_back(of(spine, depth + 1));
    d.parts.assign(std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend()));
    d.count = static_cast<int64_t>(d.parts.size());
    return d;
  }
  // The parts, in the order of addition, where all that joins the accumulator is of this shape; else none.
  std::vector<TreeId> parts_of_shape(TreeId id, int shape) const {
    std::vector<TreeId> parts;
    for (TreeId spine = id; shapes_[at(spine)] != shape;) {
      if (tree_.is_leaf(spine) || tree_.children(spine).size() != 2) return {};
      TreeId a = tree_.children(spine)[0], b = tree_.children(spine)[1];
      if (shapes_[at(b)] != shape) std::swap(a, b);
      if (shapes_[at(b)] != shape) return {};
      parts.push_back(b);
      spine = a;
      if (shapes_[at(spine)] == shape) parts.push_back(spine);
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }

  // What can be said without parts of several kinds.
  bool is_simple(TreeId id) const {
    if (tree_.is_leaf(id) || tree_.children(id).size() > 2 || chain_of(id)) return true;
    return is_pair(id) && !is_two_blocks(id);
  }

  const SumTree& tree_;
  const std::vector<int64_t> sizes_;
  const std::vector<TreeId> smallest_;
  const std::vector<int> shapes_;
  std::vector<TreeId> largest_;
};

}  // namespace

Description describe(const SumTree& tree) { return Describer(tree).of(tree.root()); }

}  // namespace isobit::lab::reveal
