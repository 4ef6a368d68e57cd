// Ensembles of decision trees.
//
// A row of features goes down every tree from its root: at a node to one of two others, nodes or leaves, until it comes
// to a leaf. A leaf has pairs of a target and a weight. Of each target the weights that a row came to, in the order of
// the trees and then of the leaf's pairs, are one of
//   kSum      Sum (reduce/reduce.h)
//   kAverage  Sum / T(number of trees)
//   kMinimum, kMaximum  the least, the greatest, in the order of Max (reduce/reduce.h); any NaN is canonical
// and +0 where there are none.
//
// Features are compared in float64, which holds every float32: x <= split and so on as IEEE says, so that a NaN goes to
// the second side but for kNotEqual; where the node says so it goes to the first. A member is equal to a number of the
// set. Determinism class: ordered-1.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

enum class TreeTest : uint8_t { kLessOrEqual, kLess, kGreaterOrEqual, kGreater, kEqual, kNotEqual, kMember };
enum class TreeAggregate : uint8_t { kAverage, kSum, kMinimum, kMaximum };

struct TreeChild {
  int64_t number = 0;  // of a leaf, or of a node
  bool is_leaf = true;
};

struct TreeNode {
  int64_t feature = 0;
  TreeTest test = TreeTest::kLessOrEqual;
  bool nan_holds = false;  // a NaN goes where the test holds
  double split = 0;
  int64_t first_member = 0, last_member = 0;  // kMember: its numbers are members[first_member .. last_member - 1]
  TreeChild where_true = {}, where_false = {};
};

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<double> members;
  std::vector<int64_t> roots;        // a node for each tree
  std::vector<int64_t> leaf_starts;  // leaf l has the pairs leaf_starts[l] .. leaf_starts[l + 1] - 1
  std::vector<int64_t> targets;      // of each pair
  std::vector<double> weights;       // rounded to T
  int64_t n_targets = 1;
  TreeAggregate aggregate = TreeAggregate::kSum;
};

// src [rows, features] -> dst [rows, n_targets], which do not overlap.
// REQUIRES every number of a node, leaf, pair, target and feature to be within its list, and that no path is endless.
void tree_ensemble(const KernelContext& ctx, const TreeEnsemble& trees, int64_t rows, int64_t features,
                   const float* src, float* dst);
void tree_ensemble(const KernelContext& ctx, const TreeEnsemble& trees, int64_t rows, int64_t features,
                   const double* src, double* dst);

}  // namespace isobit::kernels
