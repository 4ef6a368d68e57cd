#include "isobit/graph/expansions/trees.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/expansions/ml_common.h"

namespace isobit::graph::expansions {
namespace {

using Ints = std::vector<int64_t>;

// The attributes of isobit.TreeEnsemble.
struct Ensemble {
  Ints roots, features, modes, missing_true, true_ids, true_leafs, false_ids, false_leafs;
  std::vector<double> splits, weights, members;
  Ints leaf_starts = {0}, targets;
};

ValueId scores_of(Builder& b, ValueId x, Ensemble e, int64_t n_targets, int64_t aggregate) {
  if (e.missing_true.empty()) e.missing_true.assign(e.features.size(), 0);
  return b.node("isobit.TreeEnsemble", {x},
                {{"tree_roots", std::move(e.roots)},
                 {"nodes_featureids", std::move(e.features)},
                 {"nodes_modes", std::move(e.modes)},
                 {"nodes_splits", std::move(e.splits)},
                 {"nodes_missing_value_tracks_true", std::move(e.missing_true)},
                 {"nodes_truenodeids", std::move(e.true_ids)},
                 {"nodes_trueleafs", std::move(e.true_leafs)},
                 {"nodes_falsenodeids", std::move(e.false_ids)},
                 {"nodes_falseleafs", std::move(e.false_leafs)},
                 {"leaf_starts", std::move(e.leaf_starts)},
                 {"leaf_targetids", std::move(e.targets)},
                 {"leaf_weights", std::move(e.weights)},
                 {"membership_values", std::move(e.members)},
                 {"n_targets", n_targets},
                 {"aggregate_function", aggregate}},
                "scores");
}

// The place of a name in a list, or an error.
int64_t place_in(Builder& b, const std::vector<std::string>& names, const std::string& name, const std::string& what) {
  const auto found = std::find(names.begin(), names.end(), name);
  b.require(found != names.end(), text_of(what, " '", name, "' is not known"));
  return found - names.begin();
}

// Reads the lists with a place for each node: inner nodes and leaves are numbered apart, in the order of the lists.
class ListReader {
 public:
  ListReader(Builder& b, const TreeNodeLists& lists) : b_(b), l_(lists) {}

  Ensemble read() {
    if (!check_lengths()) return {};
    number_nodes();
    for (size_t i = 0; i < l_.nodes_nodeids.size() && !b_.failed(); ++i) add_node(i);
    if (!b_.failed()) add_leaves();
    if (!b_.failed()) add_roots();
    return std::move(made_);
  }

 private:
  using Key = std::pair<int64_t, int64_t>;  // tree, node
  struct Place {
    bool is_leaf = false;
    int64_t number = 0;  // among the leaves, or among the inner nodes
  };

  bool check_lengths() {
    const size_t n = l_.nodes_nodeids.size();
    b_.require(n > 0, "there are no nodes");
    b_.require(l_.nodes_treeids.size() == n && l_.nodes_featureids.size() == n && l_.nodes_modes.size() == n &&
                   l_.nodes_values.size() == n && l_.nodes_truenodeids.size() == n &&
                   l_.nodes_falsenodeids.size() == n &&
                   (l_.nodes_missing_value_tracks_true.empty() || l_.nodes_missing_value_tracks_true.size() == n),
               "the lists of nodes differ in length");
    const size_t pairs = l_.target_ids.size();
    return b_.require(
        l_.target_treeids.size() == pairs && l_.target_nodeids.size() == pairs && l_.target_weights.size() == pairs,
        "the lists of targets differ in length");
  }

  void number_nodes() {
    int64_t leaves = 0, inner = 0;
    for (size_t i = 0; i < l_.nodes_nodeids.size(); ++i) {
      const bool is_leaf = l_.nodes_modes[i] == "LEAF";
      const Key key(l_.nodes_treeids[i], l_.nodes_nodeids[i]);
      const Place place{is_leaf, is_leaf ? leaves++ : inner++};
      b_.require(places_.emplace(key, place).second, text_of("tree ", key.first, " has node ", key.second, " twice"));
    }
    leaves_.resize(static_cast<size_t>(leaves));
    inner_ = inner;
  }

  void add_child(const Key& key, Ints& ids, Ints& leafs) {
    const auto found = places_.find(key);
    if (!b_.require(found != places_.end(), text_of("tree ", key.first, " has no node ", key.second))) return;
    ids.push_back(found->second.number);
    leafs.push_back(found->second.is_leaf ? 1 : 0);
    has_parent_.push_back(key);
  }

  void add_node(size_t i) {
    if (l_.nodes_modes[i] == "LEAF") return;
    static const std::vector<std::string> kModes = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    made_.modes.push_back(place_in(b_, kModes, l_.nodes_modes[i], "mode"));
    made_.features.push_back(l_.nodes_featureids[i]);
    made_.splits.push_back(l_.nodes_values[i]);
    made_.missing_true.push_back(l_.nodes_missing_value_tracks_true.empty() ? 0
                                                                            : l_.nodes_missing_value_tracks_true[i]);
    add_child({l_.nodes_treeids[i], l_.nodes_truenodeids[i]}, made_.true_ids, made_.true_leafs);
    add_child({l_.nodes_treeids[i], l_.nodes_falsenodeids[i]}, made_.false_ids, made_.false_leafs);
  }

  void add_leaves() {
    for (size_t i = 0; i < l_.target_ids.size(); ++i) {
      const auto found = places_.find({l_.target_treeids[i], l_.target_nodeids[i]});
      if (!b_.require(found != places_.end() && found->second.is_leaf,
                      text_of("target ", i, " stands at node ", l_.target_nodeids[i], " of tree ", l_.target_treeids[i],
                              ", which is no leaf"))) {
        return;
      }
      leaves_[static_cast<size_t>(found->second.number)].push_back(i);
    }
    for (const std::vector<size_t>& leaf : leaves_) {
      for (size_t i : leaf) {
        made_.targets.push_back(l_.target_ids[i]);
        made_.weights.push_back(l_.target_weights[i]);
      }
      made_.leaf_starts.push_back(static_cast<int64_t>(made_.targets.size()));
    }
  }

  // The nodes that no node leads to, in the order of the lists; a tree that is a leaf alone is a node that leads to it
  // either way.
  void add_roots() {
    std::sort(has_parent_.begin(), has_parent_.end());
    for (size_t i = 0; i < l_.nodes_nodeids.size(); ++i) {
      const Key key(l_.nodes_treeids[i], l_.nodes_nodeids[i]);
      if (std::binary_search(has_parent_.begin(), has_parent_.end(), key)) continue;
      const Place place = places_.at(key);
      made_.roots.push_back(place.is_leaf ? inner_ : place.number);
      if (!place.is_leaf) continue;
      for (Ints* zeros : {&made_.modes, &made_.features, &made_.missing_true}) zeros->push_back(0);
      made_.splits.push_back(0);
      for (Ints* ids : {&made_.true_ids, &made_.false_ids}) ids->push_back(place.number);
      for (Ints* leafs : {&made_.true_leafs, &made_.false_leafs}) leafs->push_back(1);
      ++inner_;
    }
    const std::set<int64_t> trees(l_.nodes_treeids.begin(), l_.nodes_treeids.end());
    b_.require(made_.roots.size() == trees.size(),
               text_of(trees.size(), " trees have ", made_.roots.size(), " roots, expected one each"));
  }

  Builder& b_;
  const TreeNodeLists& l_;
  Ensemble made_;
  std::map<Key, Place> places_;
  std::vector<Key> has_parent_;
  std::vector<std::vector<size_t>> leaves_;  // the targets of each
  int64_t inner_ = 0;
};

ValueId with_base(Builder& b, ValueId scores, const std::vector<double>& base, int64_t n_targets) {
  if (base.empty() || b.failed()) return scores;
  if (!b.require(static_cast<int64_t>(base.size()) == n_targets,
                 text_of(base.size(), " base values for ", n_targets, " targets"))) {
    return kNoValue;
  }
  Tensor row(b.dtype(scores), {n_targets});
  by_type(FloatTypes{}, row.dtype(), [&]<class T>(T) {
    std::transform(base.begin(), base.end(), row.data<T>(), [](double x) { return static_cast<T>(x); });
  });
  return b.add(scores, b.constant(std::move(row), "base"), "with_base");
}

// One score for two labels.
Expected<std::vector<ValueId>> two_classes(Builder& b, const TreeEnsembleClassifierArguments& a, ValueId x,
                                           Ensemble ensemble) {
  std::fill(ensemble.targets.begin(), ensemble.targets.end(), 0);
  const auto& weights = a.trees.target_weights;
  // ONNX's text says nothing of one score for two labels; taken is what its implementations agree on.
  const bool is_probability = a.post_transform == "NONE";
  const bool has_negative = std::any_of(weights.begin(), weights.end(), [](double w) { return w < 0; });
  b.require(!is_probability || !has_negative,
            "one score decides between two labels, has negative weights and no post_transform: implementations differ "
            "in what its scores are; give weights to both classes");
  const std::vector<double>& base = a.trees.base_values;
  b.require(base.size() <= 1,
            text_of("one score decides between two labels and has ", base.size(), " base_values, expected 1 or none"));
  if (b.failed()) return b.finish({});
  const ValueId s = with_base(b, scores_of(b, x, std::move(ensemble), 1, 1), base, 1);
  const ValueId label = label_above(b, s, is_probability ? 0.5 : 0, a.class_labels);
  const ValueId first = is_probability ? b.sub(b.scalar(b.dtype(s), 1), s, "first") : b.unary("Neg", s, "first");
  const ValueId both = b.concat({first, s}, 1, "both");
  return b.finish({label, b.cast(post_transformed(b, both, a.post_transform), DType::kFloat32, "probabilities")});
}

}  // namespace

Expected<std::vector<ValueId>> tree_ensemble(Graph& graph, const TreeEnsembleArguments& a) {
  Builder b(graph, "TreeEnsemble", a.name);
  static const std::vector<std::string> kTransforms = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  b.require(a.post_transform >= 0 && a.post_transform < 5,
            text_of("post_transform ", a.post_transform, " is not known"));
  const ValueId x = feature_rows(b, a.x);
  Ensemble e{.roots = a.tree_roots,
             .features = a.nodes_featureids,
             .modes = a.nodes_modes,
             .missing_true = a.nodes_missing_value_tracks_true,
             .true_ids = a.nodes_truenodeids,
             .true_leafs = a.nodes_trueleafs,
             .false_ids = a.nodes_falsenodeids,
             .false_leafs = a.nodes_falseleafs,
             .splits = a.nodes_splits,
             .weights = a.leaf_weights,
             .members = a.membership_values,
             .targets = a.leaf_targetids};
  for (size_t leaf = 1; leaf <= a.leaf_targetids.size(); ++leaf) e.leaf_starts.push_back(static_cast<int64_t>(leaf));
  if (b.failed()) return b.finish({});
  const ValueId scores = scores_of(b, x, std::move(e), a.n_targets, a.aggregate_function);
  return b.finish({post_transformed(b, scores, kTransforms[static_cast<size_t>(a.post_transform)])});
}

Expected<std::vector<ValueId>> tree_ensemble_regressor(Graph& graph, const TreeEnsembleRegressorArguments& a) {
  Builder b(graph, "TreeEnsembleRegressor", a.name);
  const ValueId x = feature_rows(b, a.x);
  const int64_t aggregate = place_in(b, {"AVERAGE", "SUM", "MIN", "MAX"}, a.aggregate_function, "aggregate_function");
  Ensemble ensemble = ListReader(b, a.trees).read();
  const ValueId scores = scores_of(b, x, std::move(ensemble), a.n_targets, aggregate);
  const ValueId y = post_transformed(b, with_base(b, scores, a.trees.base_values, a.n_targets), a.post_transform);
  return b.finish({b.cast(y, DType::kFloat32, "y")});
}

Expected<std::vector<ValueId>> tree_ensemble_classifier(Graph& graph, const TreeEnsembleClassifierArguments& a) {
  Builder b(graph, "TreeEnsembleClassifier", a.name);
  const ValueId x = feature_rows(b, a.x);
  const auto labels = static_cast<int64_t>(a.class_labels.size());
  b.require(labels >= 1, "there are no integers as class labels");
  Ensemble ensemble = ListReader(b, a.trees).read();
  if (b.failed()) return b.finish({});
  const bool is_one_class = std::adjacent_find(ensemble.targets.begin(), ensemble.targets.end(),
                                               std::not_equal_to<>()) == ensemble.targets.end();
  if (labels == 2 && is_one_class) return two_classes(b, a, x, std::move(ensemble));
  const ValueId scores = with_base(b, scores_of(b, x, std::move(ensemble), labels, 1), a.trees.base_values, labels);
  const ValueId label = label_of_largest(b, scores, a.class_labels);
  return b.finish({label, b.cast(post_transformed(b, scores, a.post_transform), DType::kFloat32, "probabilities")});
}

}  // namespace isobit::graph::expansions
