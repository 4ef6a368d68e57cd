// Summations whose tree a test has planted.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "isobit/lab/reveal/evaluate.h"
#include "isobit/lab/reveal/summation.h"

namespace isobit::lab::reveal::testing {

// Any function of K terms.
class Planted final : public Summation {
 public:
  using Function = std::function<double(const double*)>;
  Planted(int64_t terms, Format format, Function function)
      : terms_(terms), format_(format), function_(std::move(function)) {}
  int64_t terms() const override { return terms_; }
  Format format() const override { return format_; }
  int64_t at_once() const override { return 7; }  // no divisor of anything
  Status sums(int64_t count, const double* terms, double* results) override {
    for (int64_t q = 0; q < count; ++q) results[q] = function_(terms + q * terms_);
    return {};
  }

 private:
  int64_t terms_;
  Format format_;
  Function function_;
};

// An independent evaluation: additions by recursion over the definition, not over the tree under test.
inline Planted planted(const SumTree& tree, Format format) {
  return Planted(tree.leaves(), format, [tree, format](const double* terms) {
    const std::function<double(TreeId)> sum = [&](TreeId id) -> double {
      if (tree.is_leaf(id)) return terms[id];
      double total = 0;
      bool first = true;
      for (const TreeId child : tree.children(id)) {
        const double value = sum(child);
        total = first ? value
                : format == Format::kFloat32
                    ? static_cast<double>(static_cast<float>(total) + static_cast<float>(value))
                    : total + value;
        first = false;
      }
      return total;
    };
    return sum(tree.root());
  });
}

// Builds trees by adding subtrees: each of them a list of nodes that is shared.
class TreeBuilder {
 public:
  explicit TreeBuilder(int64_t leaves) : leaves_(leaves) {}
  TreeId add(std::vector<TreeId> children) {
    nodes_.push_back(std::move(children));
    return static_cast<TreeId>(leaves_ + static_cast<int64_t>(nodes_.size()) - 1);
  }
  TreeId chain(const std::vector<TreeId>& parts) {
    TreeId sum = parts[0];
    for (size_t p = 1; p < parts.size(); ++p) sum = add({sum, parts[p]});
    return sum;
  }
  // Neighbours first.
  TreeId pairwise(std::vector<TreeId> parts) {
    while (parts.size() > 1) {
      std::vector<TreeId> next;
      for (size_t p = 0; p + 1 < parts.size(); p += 2) next.push_back(add({parts[p], parts[p + 1]}));
      if (parts.size() % 2 == 1) next.push_back(parts.back());
      parts = std::move(next);
    }
    return parts[0];
  }
  // l with l + half of them first.
  TreeId folded(std::vector<TreeId> parts) {
    while (parts.size() > 1) {
      const size_t half = parts.size() / 2;
      for (size_t p = 0; p < half; ++p) parts[p] = add({parts[p], parts[p + half]});
      parts.resize(half);
    }
    return parts[0];
  }
  std::vector<TreeId> range(int64_t begin, int64_t end, int64_t step = 1) const {
    std::vector<TreeId> leaves;
    for (int64_t l = begin; l < end; l += step) leaves.push_back(static_cast<TreeId>(l));
    return leaves;
  }
  SumTree tree() const { return SumTree(leaves_, nodes_); }

 private:
  int64_t leaves_;
  std::vector<std::vector<TreeId>> nodes_;
};

inline SumTree chain_tree(int64_t k) {
  TreeBuilder b(k);
  b.chain(b.range(0, k));
  return b.tree();
}

// Lanes `lanes` apart, each added in ascending order, then folded.
inline SumTree lane_tree(int64_t k, int64_t lanes) {
  TreeBuilder b(k);
  std::vector<TreeId> sums;
  for (int64_t l = 0; l < lanes; ++l) sums.push_back(b.chain(b.range(l, k, lanes)));
  b.folded(sums);
  return b.tree();
}

inline SumTree block_tree(int64_t k, int64_t block) {
  TreeBuilder b(k);
  std::vector<TreeId> sums;
  for (int64_t begin = 0; begin < k; begin += block)
    sums.push_back(b.chain(b.range(begin, std::min(k, begin + block))));
  b.chain(sums);
  return b.tree();
}

// Two parts drawn at random are added, until one is left: every shape there is, chains and balanced ones included.
inline SumTree draw_tree(int64_t k, int widest = 2) {
  TreeBuilder b(k);
  std::vector<TreeId> parts = b.range(0, k);
  const bool near = *rc::gen::arbitrary<bool>();
  while (parts.size() > 1) {
    const size_t width = std::min<size_t>(parts.size(), static_cast<size_t>(*rc::gen::inRange(2, widest + 1)));
    std::vector<TreeId> children;
    for (size_t c = 0; c < width; ++c) {
      const size_t most = near ? std::min<size_t>(parts.size(), 3) : parts.size();
      const size_t place = *rc::gen::inRange<size_t>(0, most);
      children.push_back(parts[place]);
      parts.erase(parts.begin() + static_cast<int64_t>(place));
    }
    parts.insert(near ? parts.begin() : parts.end(), b.add(std::move(children)));
  }
  return b.tree();
}

}  // namespace isobit::lab::reveal::testing
