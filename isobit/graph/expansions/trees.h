// Ensembles of trees (ai.onnx.ml) as isobit.TreeEnsemble and what is made of its scores.
//
// X is [N, C], or [C] which is one row; float64 is compared in float64, every other number in float32. Structure
// is looked at by the shape inference of isobit.TreeEnsemble: what is no tree is an error that names the node.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

// TreeEnsemble (ai.onnx.ml 5). Lists are as ONNX names them, a number for each inner node or each leaf.
struct TreeEnsembleArguments {
  std::string name;
  ValueId x = kNoValue;
  int64_t aggregate_function = 1;  // 0 average, 1 sum, 2 minimum, 3 maximum
  int64_t post_transform = 0;      // 0 none, 1 softmax, 2 logistic, 3 softmax-zero; 4 probit is not supported
  int64_t n_targets = 1;
  std::vector<int64_t> tree_roots = {};
  std::vector<int64_t> nodes_featureids = {}, nodes_modes = {};  // 0 <=, 1 <, 2 >=, 3 >, 4 ==, 5 !=, 6 member
  std::vector<double> nodes_splits = {};
  std::vector<int64_t> nodes_missing_value_tracks_true = {};  // or none
  std::vector<int64_t> nodes_truenodeids = {}, nodes_trueleafs = {}, nodes_falsenodeids = {}, nodes_falseleafs = {};
  std::vector<int64_t> leaf_targetids = {};
  std::vector<double> leaf_weights = {};
  std::vector<double> membership_values = {};  // the sets of the nodes of mode 6, each ended by a NaN
};
// Y [N, n_targets] of the type of X.
Expected<std::vector<ValueId>> tree_ensemble(Graph& graph, const TreeEnsembleArguments& arguments);

// The lists of TreeEnsembleRegressor and TreeEnsembleClassifier: a number for each node of each tree, and one for each
// pair of a leaf and a target (or class).
struct TreeNodeLists {
  std::vector<int64_t> nodes_treeids = {}, nodes_nodeids = {}, nodes_featureids = {};
  std::vector<std::string> nodes_modes = {};  // "BRANCH_LEQ" ... "BRANCH_NEQ", "LEAF"
  std::vector<double> nodes_values = {};
  std::vector<int64_t> nodes_truenodeids = {}, nodes_falsenodeids = {};
  std::vector<int64_t> nodes_missing_value_tracks_true = {};  // or none
  std::vector<int64_t> target_treeids = {}, target_nodeids = {}, target_ids = {};
  std::vector<double> target_weights = {};
  std::vector<double> base_values = {};  // or none
};

struct TreeEnsembleRegressorArguments {
  std::string name;
  ValueId x = kNoValue;
  TreeNodeLists trees = {};
  int64_t n_targets = 1;
  std::string aggregate_function = "SUM";  // or "AVERAGE", "MIN", "MAX"
  std::string post_transform = "NONE";
};
// Y [N, n_targets] float32: the scores, then base_values added, then the transform.
Expected<std::vector<ValueId>> tree_ensemble_regressor(Graph& graph, const TreeEnsembleRegressorArguments& arguments);

struct TreeEnsembleClassifierArguments {
  std::string name;
  ValueId x = kNoValue;
  TreeNodeLists trees = {};                // target_ids are classes
  std::vector<int64_t> class_labels = {};  // text is not supported
  std::string post_transform = "NONE";
};
// label [N], scores [N, E] float32 with E labels: the label is that of the largest score before the transform.
// Where all weights are for one class and there are two labels, one score s decides: s > 0.5 and scores (1 - s, s)
// where the transform is "NONE"; else s > 0 and the transform of (-s, s). Refused there, since implementations differ:
// "NONE" beside a negative weight, and a base value for each of the labels.
Expected<std::vector<ValueId>> tree_ensemble_classifier(Graph& graph, const TreeEnsembleClassifierArguments& arguments);

}  // namespace isobit::graph::expansions
