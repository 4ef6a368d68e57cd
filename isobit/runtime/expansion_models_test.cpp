// Linear models and ensembles of trees of ai.onnx.ml against plain loops in double.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "isobit/graph/expansions/linear_models.h"
#include "isobit/graph/expansions/trees.h"
#include "isobit/runtime/expansions_for_test.h"

namespace isobit::runtime {
namespace {

using namespace graph::expansions;  // NOLINT: the tests of all of it
using Reals = std::vector<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Array list(const Reals& values) { return {{static_cast<int64_t>(values.size())}, values}; }

// x [N, C] by coefficients [E, C], and intercepts.
Array linear(const Array& x, const Reals& coefficients, const Reals& intercepts) {
  const int64_t N = x.dims[0], C = x.dims[1], E = static_cast<int64_t>(coefficients.size()) / C;
  Array y = Array::zeros({N, E});
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t i = 0; i < E; ++i) {
      double sum = intercepts.empty() ? 0 : intercepts[static_cast<size_t>(i)];
      for (int64_t c = 0; c < C; ++c) sum += coefficients[static_cast<size_t>(i * C + c)] * x({n, c});
      y({n, i}) = sum;
    }
  }
  return y;
}

Array transformed(Array scores, const std::string& transform) {
  const int64_t N = scores.dims[0], E = scores.dims[1];
  for (int64_t n = 0; n < N; ++n) {
    double largest = scores({n, 0}), sum = 0;
    for (int64_t i = 0; i < E; ++i) largest = std::max(largest, scores({n, i}));
    for (int64_t i = 0; i < E; ++i) {
      double& x = scores({n, i});
      if (transform == "LOGISTIC") x = 1 / (1 + std::exp(-x));
      if (transform == "SOFTMAX") x = std::exp(x - largest);
      if (transform == "SOFTMAX_ZERO") x = std::abs(x) > 1e-7 ? std::exp(x - largest) : x * std::exp(-largest);
      sum += x;
    }
    for (int64_t i = 0; i < E && transform.starts_with("SOFTMAX"); ++i) scores({n, i}) /= sum;
  }
  return scores;
}

Array labels_of(const Array& scores, const Ints& labels) {
  Array out = Array::zeros({scores.dims[0]});
  for (int64_t n = 0; n < scores.dims[0]; ++n) {
    int64_t best = 0;
    for (int64_t i = 1; i < scores.dims[1]; ++i) best = scores({n, i}) > scores({n, best}) ? i : best;
    out.values[static_cast<size_t>(n)] = static_cast<double>(labels[static_cast<size_t>(best)]);
  }
  return out;
}

TEST(LinearRegressor, OfEveryTypeAndTransform) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32}) {
    for (const char* transform : {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"}) {
      for (bool intercepts : {false, true}) {
        Expanded e(dtype);
        const Array x = IntegerTypes::contains(dtype) ? e.random_integers({5, 3}, 9) : e.random({5, 3});
        LinearRegressorArguments a{.name = "n", .x = e.fed(x), .targets = 2, .post_transform = transform};
        a.coefficients = {0.5, -1, 2, 0.25, 1, -0.75};
        if (intercepts) a.intercepts = {1, -2};
        const auto found = e.run("LinearRegressor", linear_regressor(e.g, a));
        expect_near(transformed(linear(x, a.coefficients, a.intercepts), transform), found.at(0), 1e-6);
      }
    }
  }
  Expanded e;
  const auto row =
      e.run("LinearRegressor", linear_regressor(e.g, {.name = "n", .x = e.fed(list({1, 2})), .coefficients = {3, 4}}));
  expect_near({{1, 1}, {11}}, row.at(0), 0);
}

TEST(LinearClassifier, TakesTheLabelOfTheLargestScore) {
  for (const char* transform : {"NONE", "LOGISTIC", "SOFTMAX"}) {
    Expanded e(DType::kFloat32);
    const Array x = e.random({8, 2});
    LinearClassifierArguments a{.name = "n", .x = e.fed(x), .class_labels = {7, -3, 100}, .post_transform = transform};
    a.coefficients = {0.5, -1, 2, 0.25, 1, -0.75};
    a.intercepts = {0.25, 0, -0.25};
    const Array scores = linear(x, a.coefficients, a.intercepts);
    const auto found = e.run("LinearClassifier", linear_classifier(e.g, a));
    ASSERT_EQ(found.size(), 2U);
    expect_near(labels_of(scores, a.class_labels), found[0], 0);
    expect_near(transformed(scores, transform), found[1], 1e-6);
  }
}

TEST(LinearClassifier, OneScoreDecidesBetweenTwoLabels) {
  for (const char* transform : {"NONE", "LOGISTIC"}) {
    Expanded e(DType::kFloat32);
    const Array x = e.random({8, 2});
    LinearClassifierArguments a{.name = "n", .x = e.fed(x), .class_labels = {5, 9}, .post_transform = transform};
    a.coefficients = {0.5, -1};
    a.intercepts = {0.125};
    const Array s = linear(x, a.coefficients, a.intercepts), p = transformed(s, transform);
    Array label = Array::zeros({8}), both = Array::zeros({8, 2});
    for (int64_t n = 0; n < 8; ++n) {
      label({n}) = s({n, 0}) > 0 ? 9 : 5;
      both({n, 0}) = 1 - p({n, 0});
      both({n, 1}) = p({n, 0});
    }
    const auto found = e.run("LinearClassifier", linear_classifier(e.g, a));
    expect_near(label, found.at(0), 0);
    expect_near(both, found.at(1), 1e-6);
  }
}

TEST(LinearModels, RefuseWhatDoesNotFit) {
  Expanded e;
  const ValueId x = e.fed(e.random({5, 3})), truth = e.fed(DType::kBool, e.random({5, 3})),
                cube = e.fed(e.random({5, 3, 2}));
  const auto regressor = [&](const LinearRegressorArguments& a, const std::string& words) {
    Expanded::refused(linear_regressor(e.g, a), "LinearRegressor", words);
  };
  regressor({.name = "n", .x = truth, .coefficients = {1, 2, 3}}, "X is bool, expected numbers");
  regressor({.name = "n", .x = cube, .coefficients = {1, 2, 3}}, "X has rank 3, expected 1 or 2");
  regressor({.name = "n", .x = x, .coefficients = {1, 2, 3}, .targets = 2}, "3 coefficients");
  regressor({.name = "n", .x = x, .coefficients = {1, 2, 3}, .targets = 0}, "3 coefficients");
  regressor({.name = "n", .x = x, .coefficients = {1, 2, 3}, .intercepts = {1, 2}}, "2 intercepts, expected 1");
  regressor({.name = "n", .x = x, .coefficients = {1, 2}}, "inner dimensions");
  regressor({.name = "n", .x = x, .coefficients = {1, 2, 3}, .post_transform = "PROBIT"}, "'PROBIT' is not supported");
  const auto classifier = [&](const LinearClassifierArguments& a, const std::string& words) {
    Expanded::refused(linear_classifier(e.g, a), "LinearClassifier", words);
  };
  classifier({.name = "n", .x = x, .coefficients = {1, 2, 3}}, "no integers as class labels");
  classifier({.name = "n", .x = x, .coefficients = {1, 2, 3}, .intercepts = {1}, .class_labels = {1, 2, 3}},
             "1 scores for 3 labels");
  classifier({.name = "n",
              .x = x,
              .coefficients = {1, 2, 3},
              .intercepts = {1},
              .class_labels = {1, 2},
              .post_transform = "SOFTMAX"},
             "one score for two labels");
}

// Two trees over two features: a root on feature 0 with a leaf of targets 0 and 1 and a node on feature 1, and a leaf
// alone. Nodes stand in no order.
TreeNodeLists two_trees() {
  TreeNodeLists l;
  l.nodes_treeids = {0, 0, 0, 0, 0, 1};
  l.nodes_nodeids = {3, 0, 2, 1, 4, 0};
  l.nodes_featureids = {0, 0, 1, 0, 0, 0};
  l.nodes_modes = {"LEAF", "BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF"};
  l.nodes_values = {0, 0.25, -0.5, 0, 0, 0};
  l.nodes_truenodeids = {0, 1, 3, 0, 0, 0};
  l.nodes_falsenodeids = {0, 2, 4, 0, 0, 0};
  l.target_treeids = {0, 0, 0, 0, 1};
  l.target_nodeids = {1, 3, 1, 4, 0};
  l.target_ids = {0, 1, 1, 0, 2};
  l.target_weights = {1.5, -2, 4, 0.25, 8};
  return l;
}

// The weights of three targets that a row comes to.
std::array<double, 3> weights_of_row(double first, double second) {
  if (first <= 0.25) return {1.5, 4, 8};
  if (second > -0.5) return {0, -2, 8};
  return {0.25, 0, 8};
}

Array scores_of(const Array& x) {
  Array y = Array::zeros({x.dims[0], 3});
  for (int64_t n = 0; n < x.dims[0]; ++n) {
    const auto weights = weights_of_row(x({n, 0}), x({n, 1}));
    for (int64_t i = 0; i < 3; ++i) y({n, i}) = weights[static_cast<size_t>(i)];
  }
  return y;
}

TEST(TreeEnsembleRegressor, AddsBaseValuesAndTransforms) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const char* transform : {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"}) {
      for (bool average : {false, true}) {
        Expanded e(dtype);
        const Array x = e.random({20, 2});
        TreeEnsembleRegressorArguments a{.name = "n", .x = e.fed(x), .trees = two_trees(), .n_targets = 3};
        a.post_transform = transform;
        a.trees.base_values = {0.5, 0, -1};
        if (average) a.aggregate_function = "AVERAGE";
        Array y = scores_of(x);
        for (size_t i = 0; i < y.values.size(); ++i) {
          y.values[i] = y.values[i] / (average ? 2 : 1) + a.trees.base_values[i % 3];
        }
        const auto found = e.run("TreeEnsembleRegressor", tree_ensemble_regressor(e.g, a));
        expect_near(transformed(y, transform), found.at(0), 1e-6);
      }
    }
  }
}

TEST(TreeEnsembleClassifier, TakesTheLabelOfTheLargestScore) {
  Expanded e(DType::kFloat32);
  const Array x = e.random({20, 2});
  TreeEnsembleClassifierArguments a{.name = "n", .x = e.fed(x), .trees = two_trees(), .class_labels = {4, 5, 6}};
  a.trees.target_weights[4] = 1;
  a.post_transform = "SOFTMAX";
  Array scores = scores_of(x);
  for (int64_t n = 0; n < 20; ++n) scores({n, 2}) = 1;
  const auto found = e.run("TreeEnsembleClassifier", tree_ensemble_classifier(e.g, a));
  ASSERT_EQ(found.size(), 2U);
  expect_near(labels_of(scores, a.class_labels), found[0], 0);
  expect_near(transformed(scores, "SOFTMAX"), found[1], 1e-6);
}

TEST(TreeEnsembleClassifier, OneScoreDecidesBetweenTwoLabels) {
  for (bool negative : {false, true}) {
    for (const std::string transform : {"NONE", "LOGISTIC"}) {
      if (negative && transform == "NONE") continue;
      Expanded e(DType::kFloat32);
      const Array x = e.random({20, 2});
      TreeEnsembleClassifierArguments a{.name = "n", .x = e.fed(x), .trees = two_trees(), .class_labels = {4, 5}};
      a.post_transform = transform;
      a.trees.target_ids = {1, 1, 1, 1, 1};
      a.trees.target_weights = {0.125, negative ? -2.0 : 0.75, 0.125, 0.25, 0.0625};
      a.trees.base_values = {0.0625};
      const bool is_probability = transform == "NONE";
      Array both = Array::zeros({20, 2}), label = Array::zeros({20});
      for (int64_t n = 0; n < 20; ++n) {
        const double leaf = x({n, 0}) <= 0.25 ? 0.25 : x({n, 1}) > -0.5 ? a.trees.target_weights[1] : 0.25;
        const double s = leaf + 0.125;
        label({n}) = s > (is_probability ? 0.5 : 0) ? 5 : 4;
        both({n, 0}) = is_probability ? 1 - s : -s;
        both({n, 1}) = s;
      }
      const auto found = e.run("TreeEnsembleClassifier", tree_ensemble_classifier(e.g, a));
      expect_near(label, found.at(0), 0);
      expect_near(transformed(both, transform), found.at(1), 1e-6);
    }
  }
}

TEST(TreeEnsembleClassifier, RefusesOneScoreThatIsReadInSeveralWays) {
  Expanded e(DType::kFloat32);
  TreeEnsembleClassifierArguments a{
      .name = "n", .x = e.fed(e.random({2, 2})), .trees = two_trees(), .class_labels = {4, 5}};
  a.trees.target_ids = {1, 1, 1, 1, 1};
  a.trees.target_weights = {0.125, -2, 0.125, 0.25, 0.0625};
  Expanded::refused(tree_ensemble_classifier(e.g, a), "TreeEnsembleClassifier", "negative weights");
  a.post_transform = "LOGISTIC";
  a.trees.base_values = {0.5, 0.25};
  Expanded::refused(tree_ensemble_classifier(e.g, a), "TreeEnsembleClassifier", "2 base_values, expected 1 or none");
}

TEST(TreeEnsemble, IsThatOfTheFifthVersion) {
  Expanded e(DType::kFloat32);
  TreeEnsembleArguments a{.name = "n", .x = e.fed({{6, 1}, {1.25, 3.5, -0.125, kNaN, 12, 7}}), .n_targets = 4};
  a.tree_roots = {0};
  a.nodes_featureids = {0, 0, 0};
  a.nodes_modes = {0, 6, 6};
  a.nodes_splits = {11, 232344, kNaN};
  a.nodes_truenodeids = {1, 0, 1};
  a.nodes_trueleafs = {0, 1, 1};
  a.nodes_falsenodeids = {2, 2, 3};
  a.nodes_falseleafs = {1, 0, 1};
  a.leaf_targetids = {0, 1, 2, 3};
  a.leaf_weights = {1, 10, 1000, 100};
  a.membership_values = {1.25, 3.75, 8, 9, kNaN, 12, 7, kNaN};
  // Above 11, and what is no number, is leaf 2; a member of the first set leaf 0, of the second leaf 1; else leaf 3.
  const auto found = e.run("TreeEnsemble", tree_ensemble(e.g, a));
  expect_near({{6, 4}, {1, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 100, 0, 0, 1000, 0, 0, 0, 1000, 0, 0, 10, 0, 0}},
              found.at(0), 0);
  a.post_transform = 4;
  Expanded::refused(tree_ensemble(e.g, a), "TreeEnsemble", "'PROBIT' is not supported");
  a.post_transform = 5;
  Expanded::refused(tree_ensemble(e.g, a), "TreeEnsemble", "post_transform 5 is not known");
  a.post_transform = 0;
  a.nodes_truenodeids[0] = 0;
  Expanded::refused(tree_ensemble(e.g, a), "TreeEnsemble", "two ways lead to node 0");
}

TEST(TreeEnsembles, RefuseWhatIsNoTree) {
  const auto refuse = [](const std::string& words, const std::function<void(TreeEnsembleRegressorArguments&)>& change) {
    Expanded e(DType::kFloat32);
    TreeEnsembleRegressorArguments a{.name = "n", .x = e.fed(e.random({2, 2})), .trees = two_trees(), .n_targets = 3};
    change(a);
    Expanded::refused(tree_ensemble_regressor(e.g, a), "TreeEnsembleRegressor", words);
  };
  using A = TreeEnsembleRegressorArguments;
  refuse("there are no nodes", [](A& a) { a.trees.nodes_nodeids.clear(); });
  refuse("the lists of nodes differ in length", [](A& a) { a.trees.nodes_modes.pop_back(); });
  refuse("the lists of nodes differ in length", [](A& a) { a.trees.nodes_missing_value_tracks_true = {1}; });
  refuse("the lists of targets differ in length", [](A& a) { a.trees.target_weights.pop_back(); });
  refuse("tree 0 has node 3 twice", [](A& a) { a.trees.nodes_nodeids[1] = 3; });
  refuse("tree 0 has no node 9", [](A& a) { a.trees.nodes_truenodeids[1] = 9; });
  refuse("mode 'BRANCH' is not known", [](A& a) { a.trees.nodes_modes[1] = "BRANCH"; });
  refuse("which is no leaf", [](A& a) { a.trees.target_nodeids[0] = 2; });
  refuse("which is no leaf", [](A& a) { a.trees.target_treeids[0] = 2; });
  refuse("no tree has node 0", [](A& a) { a.trees.nodes_falsenodeids[2] = 0; });  // nodes 0 and 2 are a circle
  refuse("2 trees have 1 roots", [](A& a) {
    a.trees.nodes_modes[5] = "BRANCH_LEQ";  // leads to itself
    a.trees.target_treeids.pop_back();
    a.trees.target_nodeids.pop_back();
    a.trees.target_ids.pop_back();
    a.trees.target_weights.pop_back();
  });
  refuse("2 trees have 3 roots", [](A& a) { a.trees.nodes_falsenodeids[2] = 3; });  // nobody leads to node 4
  refuse("'nodes_featureids' has 2, expected 0 to 1", [](A& a) { a.trees.nodes_featureids[1] = 2; });
  refuse("'leaf_targetids' has 2, expected 0 to 1", [](A& a) { a.n_targets = 2; });
  refuse("aggregate_function 'MEDIAN' is not known", [](A& a) { a.aggregate_function = "MEDIAN"; });
  refuse("2 base values for 3 targets", [](A& a) { a.trees.base_values = {1, 2}; });
  refuse("post_transform 'PROBIT'", [](A& a) { a.post_transform = "PROBIT"; });
  Expanded e(DType::kFloat32);
  TreeEnsembleClassifierArguments c{
      .name = "n", .x = e.fed(e.random({2, 2})), .trees = two_trees(), .class_labels = {}};
  Expanded::refused(tree_ensemble_classifier(e.g, c), "TreeEnsembleClassifier", "no integers as class labels");
}

}  // namespace
}  // namespace isobit::runtime
