#include <cmath>
#include <memory>

#include "isobit/kernels/determinant/determinant.h"
#include "isobit/kernels/trees/trees.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

Status det(KernelCall& c) {
  const Shape& src = c.in(0).shape();
  return by_float_type(c, 0, [&]<class T>(T) {
    k::determinant(c.ctx, c.out().elements(), src[-1], c.in(0).data<T>(), c.out().data<T>());
  });
}

std::vector<double> reals_of(const graph::Attributes& attributes, const char* name) {
  const auto found = attributes.items().find(name);
  return found == attributes.items().end() ? std::vector<double>{} : std::get<std::vector<double>>(found->second);
}

// The nodes of mode kMember have the sets one after another; a NaN ends each.
void share_out_members(k::TreeEnsemble& trees) {
  int64_t next = 0;
  for (k::TreeNode& node : trees.nodes) {
    if (node.test != k::TreeTest::kMember) continue;
    node.first_member = next;
    while (!std::isnan(trees.members[static_cast<size_t>(next)])) ++next;
    node.last_member = next++;
  }
}

// REQUIRES attributes that shape inference has accepted.
k::TreeEnsemble read_trees(const graph::Attributes& a) {
  const auto list = [&](const char* name) { return a.integers(name, {}); };
  const auto features = list("nodes_featureids"), modes = list("nodes_modes"),
             nan_holds = list("nodes_missing_value_tracks_true"), where_true = list("nodes_truenodeids"),
             true_is_leaf = list("nodes_trueleafs"), where_false = list("nodes_falsenodeids"),
             false_is_leaf = list("nodes_falseleafs");
  const auto splits = reals_of(a, "nodes_splits");
  k::TreeEnsemble trees;
  for (size_t i = 0; i < features.size(); ++i) {
    trees.nodes.push_back({.feature = features[i],
                           .test = static_cast<k::TreeTest>(modes[i]),
                           .nan_holds = nan_holds[i] != 0,
                           .split = splits[i],
                           .where_true = {where_true[i], true_is_leaf[i] != 0},
                           .where_false = {where_false[i], false_is_leaf[i] != 0}});
  }
  trees.members = reals_of(a, "membership_values");
  trees.roots = list("tree_roots");
  trees.leaf_starts = list("leaf_starts");
  trees.targets = list("leaf_targetids");
  trees.weights = reals_of(a, "leaf_weights");
  trees.n_targets = a.integer("n_targets", 1);
  trees.aggregate = static_cast<k::TreeAggregate>(a.integer("aggregate_function", 1));
  share_out_members(trees);
  return trees;
}

RunKernel tree_ensemble(const KernelSite& site) {
  const auto trees = std::make_shared<const k::TreeEnsemble>(read_trees(site.attributes()));
  return [trees](KernelCall& c) {
    const Shape& src = c.in(0).shape();
    return by_float_type(c, 0, [&]<class T>(T) {
      k::tree_ensemble(c.ctx, *trees, src[0], src[1], c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

}  // namespace

void add_composite_kernels(KernelTable& table) {
  table["Det"] = {det};
  table["isobit.TreeEnsemble"] = with_parameters(tree_ensemble);
}

}  // namespace isobit::runtime
