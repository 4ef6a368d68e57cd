// Ensembles of trees: TreeEnsemble where every leaf votes once, as newer files have it, else TreeEnsembleRegressor.
#include <algorithm>
#include <utility>

#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

using Ints = std::vector<int64_t>;
using Reals = std::vector<double>;

constexpr int64_t kMlOfRegressors = 3;

template <class To>
TensorDef tensor_of(const std::vector<double>& values, DType dtype) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) t.data<To>()[i] = static_cast<To>(values[i]);
  return {"", element_of_dtype(dtype), t.shape().dims(), t};
}

TensorDef reals_of(const Reals& values, DType dtype) {
  return dtype == DType::kFloat64 ? tensor_of<double>(values, dtype) : tensor_of<float>(values, dtype);
}

TensorDef bytes_of(const Ints& values) {
  Tensor t(DType::kUint8, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) t.data<uint8_t>()[i] = static_cast<uint8_t>(values[i]);
  return {"", element_of_dtype(DType::kUint8), t.shape().dims(), t};
}

std::vector<float> floats_of(const Reals& values) { return std::vector<float>(values.begin(), values.end()); }

bool each_leaf_votes_once(const graph::Attributes& a) {
  const Ints starts = a.integers("leaf_starts", {});
  for (size_t leaf = 0; leaf < starts.size(); ++leaf) {
    if (starts[leaf] != static_cast<int64_t>(leaf)) return false;
  }
  return true;
}

constexpr const char* kTwoForms = "of the ensembles of trees some need a form of ONNX's and some another one";

Status write_ensemble(Writing& w) {
  if (!w.exporter().needs_ml(kNewestMlOpset)) return w.error(kTwoForms);
  const graph::Attributes& a = w.attributes();
  const DType dtype = w.in(0).dtype;
  AttributeDefs written;
  for (const char* name : {"aggregate_function", "n_targets"}) written.push_back(attribute(name, a.integer(name, 1)));
  for (const char* name : {"leaf_targetids", "nodes_falseleafs", "nodes_falsenodeids", "nodes_featureids",
                           "nodes_missing_value_tracks_true", "nodes_trueleafs", "nodes_truenodeids", "tree_roots"}) {
    written.push_back(attribute(name, a.integers(name, {})));
  }
  written.push_back(attribute("nodes_modes", bytes_of(a.integers("nodes_modes", {}))));
  for (const char* name : {"leaf_weights", "membership_values", "nodes_splits"}) {
    const Reals values = a.reals(name, {});
    const bool may_be_absent = std::string_view(name) == "membership_values";
    if (!values.empty() || !may_be_absent) written.push_back(attribute(name, reals_of(values, dtype)));
  }
  w.add_last("TreeEnsemble", w.names_in(), std::move(written), w.names_out(), kMl);
  return {};
}

// The lists of a regressor: the nodes of a tree, leaves among them, are numbered from 0 on, each before its children.
class Lists {
 public:
  explicit Lists(const graph::Attributes& a)
      : features_(a.integers("nodes_featureids", {})),
        modes_(a.integers("nodes_modes", {})),
        missing_true_(a.integers("nodes_missing_value_tracks_true", {})),
        starts_(a.integers("leaf_starts", {})),
        targets_(a.integers("leaf_targetids", {})),
        splits_(a.reals("nodes_splits", {})),
        weights_(a.reals("leaf_weights", {})) {
    children_ = {Side{a.integers("nodes_truenodeids", {}), a.integers("nodes_trueleafs", {})},
                 Side{a.integers("nodes_falsenodeids", {}), a.integers("nodes_falseleafs", {})}};
    for (const int64_t root : a.integers("tree_roots", {})) add_tree(root);
  }

  AttributeDefs take() {
    return {attribute("nodes_featureids", std::move(out_features_)),
            attribute("nodes_falsenodeids", std::move(out_children_[1])),
            attribute("nodes_missing_value_tracks_true", std::move(out_missing_true_)),
            attribute("nodes_modes", std::move(out_modes_)),
            attribute("nodes_nodeids", std::move(out_ids_)),
            attribute("nodes_treeids", std::move(out_trees_)),
            attribute("nodes_truenodeids", std::move(out_children_[0])),
            attribute("nodes_values", floats_of(out_values_)),
            attribute("target_ids", std::move(target_ids_)),
            attribute("target_nodeids", std::move(target_nodes_)),
            attribute("target_treeids", std::move(target_trees_)),
            attribute("target_weights", floats_of(target_weights_))};
  }

 private:
  struct Side {
    Ints ids, leafs;
  };
  struct Open {
    int64_t number;  // among the nodes, or the leaves
    bool is_leaf;
    size_t parent;  // where its number is to be written
    size_t side;
  };

  // Trees may be deep: no recursion.
  void add_tree(int64_t root) {
    const size_t first = out_ids_.size();
    std::vector<Open> open = {{root, false, SIZE_MAX, 0}};
    while (!open.empty()) {
      const Open next = open.back();
      open.pop_back();
      const size_t row = out_ids_.size();
      const auto id = static_cast<int64_t>(row - first);
      if (next.parent != SIZE_MAX) out_children_[next.side][next.parent] = id;
      add_row(next, id);
      if (next.is_leaf) continue;
      const auto n = static_cast<size_t>(next.number);
      for (const size_t side : {size_t{1}, size_t{0}}) {
        open.push_back({children_[side].ids[n], children_[side].leafs[n] == 1, row, side});
      }
    }
    ++trees_;
  }

  void add_row(const Open& node, int64_t id) {
    static constexpr const char* kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                             "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    const auto n = static_cast<size_t>(node.number);
    out_ids_.push_back(id);
    out_trees_.push_back(trees_);
    out_modes_.emplace_back(node.is_leaf ? "LEAF" : kModes[modes_[n]]);
    out_features_.push_back(node.is_leaf ? 0 : features_[n]);
    out_missing_true_.push_back(node.is_leaf ? 0 : missing_true_[n]);
    out_values_.push_back(node.is_leaf ? 0 : splits_[n]);
    for (Ints& children : out_children_) children.push_back(0);
    if (!node.is_leaf) return;
    for (auto i = static_cast<size_t>(starts_[n]); i < static_cast<size_t>(starts_[n + 1]); ++i) {
      target_trees_.push_back(trees_);
      target_nodes_.push_back(id);
      target_ids_.push_back(targets_[i]);
      target_weights_.push_back(weights_[i]);
    }
  }

  const Ints features_, modes_, missing_true_, starts_, targets_;
  const Reals splits_, weights_;
  std::vector<Side> children_;  // where it is true, and where it is false
  int64_t trees_ = 0;
  Ints out_ids_, out_trees_, out_features_, out_missing_true_, out_children_[2];
  std::vector<std::string> out_modes_;
  Reals out_values_, target_weights_;
  Ints target_trees_, target_nodes_, target_ids_;
};

Status write_regressor(Writing& w) {
  constexpr int64_t kMember = 6;
  static constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const graph::Attributes& a = w.attributes();
  const Ints modes = a.integers("nodes_modes", {});
  if (std::ranges::count(modes, kMember) > 0 || w.in(0).dtype != DType::kFloat32) {
    return w.error("leaves with several votes, which ONNX has in float32 and without sets of members only");
  }
  if (!w.exporter().needs_ml(kMlOfRegressors)) return w.error(kTwoForms);
  AttributeDefs written = Lists(a).take();
  const auto aggregate = static_cast<size_t>(a.integer("aggregate_function", 1));
  written.push_back(attribute("aggregate_function", std::string(kAggregates[aggregate])));
  written.push_back(attribute("n_targets", a.integer("n_targets", 1)));
  w.add_last("TreeEnsembleRegressor", w.names_in(), std::move(written), w.names_out(), kMl);
  return {};
}

Status trees(Writing& w) { return each_leaf_votes_once(w.attributes()) ? write_ensemble(w) : write_regressor(w); }

}  // namespace

void add_tree_writers(WriterTable& table) { table.own("isobit.TreeEnsemble", trees); }

}  // namespace isobit::onnx
