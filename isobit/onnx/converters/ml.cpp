// Operators of ai.onnx.ml: linear models and trees, as scikit-learn writes them (isobit/graph/expansions).
#include "isobit/base/text.h"
#include "isobit/graph/expansions/linear_models.h"
#include "isobit/graph/expansions/trees.h"
#include "isobit/kernels/elementwise/truncated.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

namespace expansions = graph::expansions;

constexpr const char* kTextLabels = "labels are text, which isobit does not have: train with whole numbers as labels";

Expected<std::vector<int64_t>> class_labels(const Conversion& c, const char* whole, const char* text) {
  if (c.has_attribute(text)) {
    ISOBIT_TRY(const auto texts, c.text_list(text));
    if (!texts.empty()) return c.error(kTextLabels);
  }
  return c.integer_list(whole);
}

// The elements of a tensor of numbers, or of a list of floats in its place.
Expected<std::vector<double>> reals_or_tensor(const Conversion& c, const char* list, const char* in_tensor) {
  ISOBIT_TRY(const Tensor t, c.tensor(in_tensor));
  if (!t.defined()) return list == nullptr ? std::vector<double>{} : c.real_list(list);
  std::vector<double> values;
  const bool taken = by_type(NumberTypes{}, t.dtype(), [&]<class T>(T) {
    for (const T x : t.span<T>()) values.push_back(static_cast<double>(x));
  });
  if (!taken) return c.error(text_of("attribute '", in_tensor, "' is a tensor of ", name_of(t.dtype())));
  return values;
}

Expected<Operands> linear_regressor(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::LinearRegressorArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.coefficients, c.real_list("coefficients"));
  ISOBIT_TRY(a.intercepts, c.real_list("intercepts"));
  ISOBIT_TRY(a.targets, c.integer("targets", 1));
  ISOBIT_TRY(a.post_transform, c.text("post_transform", "NONE"));
  return c.expand([&](graph::Graph& g) { return expansions::linear_regressor(g, a); });
}

Expected<Operands> linear_classifier(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::LinearClassifierArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.coefficients, c.real_list("coefficients"));
  ISOBIT_TRY(a.intercepts, c.real_list("intercepts"));
  ISOBIT_TRY(a.class_labels, class_labels(c, "classlabels_ints", "classlabels_strings"));
  ISOBIT_TRY(a.post_transform, c.text("post_transform", "NONE"));
  return c.expand([&](graph::Graph& g) { return expansions::linear_classifier(g, a); });
}

Expected<Operands> tree_ensemble(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::TreeEnsembleArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.aggregate_function, c.integer("aggregate_function", 1));
  ISOBIT_TRY(a.post_transform, c.integer("post_transform", 0));
  ISOBIT_TRY(a.n_targets, c.integer("n_targets", 1));
  ISOBIT_TRY(a.tree_roots, c.integer_list("tree_roots"));
  ISOBIT_TRY(a.nodes_featureids, c.integer_list("nodes_featureids"));
  ISOBIT_TRY(const auto modes, reals_or_tensor(c, nullptr, "nodes_modes"));
  for (const double mode : modes) a.nodes_modes.push_back(kernels::truncated<int64_t>(mode));
  ISOBIT_TRY(a.nodes_splits, reals_or_tensor(c, nullptr, "nodes_splits"));
  ISOBIT_TRY(a.nodes_missing_value_tracks_true, c.integer_list("nodes_missing_value_tracks_true"));
  ISOBIT_TRY(a.nodes_truenodeids, c.integer_list("nodes_truenodeids"));
  ISOBIT_TRY(a.nodes_trueleafs, c.integer_list("nodes_trueleafs"));
  ISOBIT_TRY(a.nodes_falsenodeids, c.integer_list("nodes_falsenodeids"));
  ISOBIT_TRY(a.nodes_falseleafs, c.integer_list("nodes_falseleafs"));
  ISOBIT_TRY(a.leaf_targetids, c.integer_list("leaf_targetids"));
  ISOBIT_TRY(a.leaf_weights, reals_or_tensor(c, nullptr, "leaf_weights"));
  ISOBIT_TRY(a.membership_values, reals_or_tensor(c, nullptr, "membership_values"));
  return c.expand([&](graph::Graph& g) { return expansions::tree_ensemble(g, a); });
}

// The lists of the older ensembles; `target` is what names of those of the leaves begin with.
Expected<expansions::TreeNodeLists> tree_lists(const Conversion& c, const std::string& target) {
  expansions::TreeNodeLists t;
  ISOBIT_TRY(t.nodes_treeids, c.integer_list("nodes_treeids"));
  ISOBIT_TRY(t.nodes_nodeids, c.integer_list("nodes_nodeids"));
  ISOBIT_TRY(t.nodes_featureids, c.integer_list("nodes_featureids"));
  ISOBIT_TRY(t.nodes_modes, c.text_list("nodes_modes"));
  ISOBIT_TRY(t.nodes_values, reals_or_tensor(c, "nodes_values", "nodes_values_as_tensor"));
  ISOBIT_TRY(t.nodes_truenodeids, c.integer_list("nodes_truenodeids"));
  ISOBIT_TRY(t.nodes_falsenodeids, c.integer_list("nodes_falsenodeids"));
  ISOBIT_TRY(t.nodes_missing_value_tracks_true, c.integer_list("nodes_missing_value_tracks_true"));
  ISOBIT_TRY(t.target_treeids, c.integer_list(target + "_treeids"));
  ISOBIT_TRY(t.target_nodeids, c.integer_list(target + "_nodeids"));
  ISOBIT_TRY(t.target_ids, c.integer_list(target + "_ids"));
  const std::string weights = target + "_weights", in_tensor = weights + "_as_tensor";
  ISOBIT_TRY(t.target_weights, reals_or_tensor(c, weights.c_str(), in_tensor.c_str()));
  ISOBIT_TRY(t.base_values, reals_or_tensor(c, "base_values", "base_values_as_tensor"));
  return t;
}

Expected<Operands> tree_ensemble_regressor(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::TreeEnsembleRegressorArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.trees, tree_lists(c, "target"));
  ISOBIT_TRY(a.n_targets, c.integer("n_targets", 1));
  ISOBIT_TRY(a.aggregate_function, c.text("aggregate_function", "SUM"));
  ISOBIT_TRY(a.post_transform, c.text("post_transform", "NONE"));
  return c.expand([&](graph::Graph& g) { return expansions::tree_ensemble_regressor(g, a); });
}

Expected<Operands> tree_ensemble_classifier(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::TreeEnsembleClassifierArguments a;
  a.name = c.base_name();
  a.x = c.id(0);
  ISOBIT_TRY(a.trees, tree_lists(c, "class"));
  ISOBIT_TRY(a.class_labels, class_labels(c, "classlabels_int64s", "classlabels_strings"));
  ISOBIT_TRY(a.post_transform, c.text("post_transform", "NONE"));
  return c.expand([&](graph::Graph& g) { return expansions::tree_ensemble_classifier(g, a); });
}

}  // namespace

void add_ml_rows(Table& table) {
  table.own("LinearRegressor", linear_regressor, kMl);
  // How the classes were trained against each other; scores do not depend on it. Nor do they on hit rates.
  table.own("LinearClassifier", linear_classifier, kMl).without("multi_class");
  table.own("TreeEnsemble", tree_ensemble, kMl).without("nodes_hitrates");
  table.own("TreeEnsembleRegressor", tree_ensemble_regressor, kMl)
      .without("nodes_hitrates")
      .without("nodes_hitrates_as_tensor");
  table.own("TreeEnsembleClassifier", tree_ensemble_classifier, kMl)
      .without("nodes_hitrates")
      .without("nodes_hitrates_as_tensor");
  table.refuse({"ZipMap"}, "isobit has tensors, no maps: export the model without it (zipmap=False)", kMl);
}

}  // namespace isobit::onnx
