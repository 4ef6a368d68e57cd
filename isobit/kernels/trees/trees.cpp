#include "isobit/kernels/trees/trees.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/scratch.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {
namespace {

bool is_member(const TreeEnsemble& trees, const TreeNode& node, double x) {
  const auto begin = trees.members.begin() + node.first_member, end = trees.members.begin() + node.last_member;
  return std::find(begin, end, x) != end;
}

bool holds(const TreeEnsemble& trees, const TreeNode& node, double x) {
  if (node.nan_holds && std::isnan(x)) return true;
  switch (node.test) {
    case TreeTest::kLessOrEqual:
      return x <= node.split;
    case TreeTest::kLess:
      return x < node.split;
    case TreeTest::kGreaterOrEqual:
      return x >= node.split;
    case TreeTest::kGreater:
      return x > node.split;
    case TreeTest::kEqual:
      return x == node.split;
    case TreeTest::kNotEqual:
      return x != node.split;
    case TreeTest::kMember:
      break;
  }
  return is_member(trees, node, x);
}

template <class T>
int64_t leaf_of(const TreeEnsemble& trees, int64_t root, const T* row) {
  TreeChild at{root, false};
  while (!at.is_leaf) {
    const TreeNode& node = trees.nodes[static_cast<size_t>(at.number)];
    at = holds(trees, node, static_cast<double>(row[node.feature])) ? node.where_true : node.where_false;
  }
  return at.number;
}

float sum_of(const float* x, int64_t n) { return numerics::sum_rounded(x, n); }
double sum_of(const double* x, int64_t n) { return numerics::sum_ordered_f64(x, n); }

template <class T>
T aggregated(const TreeEnsemble& trees, const T* x, int64_t n) {
  if (n == 0) return 0;
  switch (trees.aggregate) {
    case TreeAggregate::kSum:
      return sum_of(x, n);
    case TreeAggregate::kAverage:
      return numerics::canonical(sum_of(x, n) / static_cast<T>(trees.roots.size()));
    case TreeAggregate::kMinimum:
    case TreeAggregate::kMaximum:
      break;
  }
  const bool largest = trees.aggregate == TreeAggregate::kMaximum;
  T best = x[0];
  for (int64_t i = 1; i < n && !std::isnan(best); ++i) {
    if (std::isnan(x[i]) || (largest ? reference::greater(x[i], best) : reference::greater(best, x[i]))) best = x[i];
  }
  return numerics::canonical(best);
}

// The weights of one row, those of a target side by side.
template <class T>
class RowOfScores {
 public:
  explicit RowOfScores(const TreeEnsemble& trees)
      : trees_(trees), leaves_(trees.roots.size()), starts_(static_cast<size_t>(trees.n_targets) + 1) {}

  void compute(const T* row, T* dst) {
    std::fill(starts_.begin(), starts_.end(), 0);
    for (size_t t = 0; t < leaves_.size(); ++t) leaves_[t] = leaf_of(trees_, trees_.roots[t], row);
    for_each_pair([&](size_t pair) { ++starts_[static_cast<size_t>(trees_.targets[pair]) + 1]; });
    for (size_t t = 1; t < starts_.size(); ++t) starts_[t] += starts_[t - 1];
    weights_.resize(static_cast<size_t>(starts_.back()));
    next_.assign(starts_.begin(), starts_.end());
    for_each_pair([&](size_t pair) {
      weights_[static_cast<size_t>(next_[static_cast<size_t>(trees_.targets[pair])]++)] =
          static_cast<T>(trees_.weights[pair]);
    });
    for (size_t t = 0; t + 1 < starts_.size(); ++t) {
      dst[t] = aggregated(trees_, weights_.data() + starts_[t], starts_[t + 1] - starts_[t]);
    }
  }

 private:
  template <class F>
  void for_each_pair(F&& f) const {
    for (int64_t leaf : leaves_) {
      const int64_t end = trees_.leaf_starts[static_cast<size_t>(leaf) + 1];
      for (int64_t pair = trees_.leaf_starts[static_cast<size_t>(leaf)]; pair < end; ++pair) {
        f(static_cast<size_t>(pair));
      }
    }
  }

  const TreeEnsemble& trees_;
  ScratchVector<int64_t> leaves_;  // by tree
  ScratchVector<int64_t> starts_, next_;
  ScratchVector<T> weights_;
};

template <class T>
void of_all(const KernelContext& ctx, const TreeEnsemble& trees, int64_t rows, int64_t features, const T* src, T* dst) {
  const int64_t work = 16 * static_cast<int64_t>(trees.roots.size()) + trees.n_targets;
  parallel_items(ctx, rows, work, [&](int64_t begin, int64_t end) {
    RowOfScores<T> scores(trees);
    for (int64_t r = begin; r < end; ++r) scores.compute(src + r * features, dst + r * trees.n_targets);
  });
}

}  // namespace

void tree_ensemble(const KernelContext& ctx, const TreeEnsemble& trees, int64_t rows, int64_t features,
                   const float* src, float* dst) {
  of_all(ctx, trees, rows, features, src, dst);
}
void tree_ensemble(const KernelContext& ctx, const TreeEnsemble& trees, int64_t rows, int64_t features,
                   const double* src, double* dst) {
  of_all(ctx, trees, rows, features, src, dst);
}

}  // namespace isobit::kernels
