// Ensembles of trees in either form of ONNX's.
#include <limits>

#include "isobit/onnx/export_for_test.h"

namespace isobit::onnx {
namespace {

using graph::Graph;
using Ints = std::vector<int64_t>;
using Reals = std::vector<double>;
using Names = std::vector<std::string>;

// Two trees over two features, four leaves; `starts` says which votes belong to which leaf.
graph::Attributes trees(Ints starts, Ints targets, Reals weights, int64_t aggregate) {
  return {{"tree_roots", Ints{0, 2}},
          {"nodes_featureids", Ints{0, 1, 1}},
          {"nodes_modes", Ints{0, 1, 3}},
          {"nodes_splits", Reals{0, -0.25, 0.25}},
          {"nodes_missing_value_tracks_true", Ints{0, 1, 0}},
          {"nodes_truenodeids", Ints{1, 1, 0}},
          {"nodes_trueleafs", Ints{0, 1, 1}},
          {"nodes_falsenodeids", Ints{0, 2, 3}},
          {"nodes_falseleafs", Ints{1, 1, 1}},
          {"leaf_starts", std::move(starts)},
          {"leaf_targetids", std::move(targets)},
          {"leaf_weights", std::move(weights)},
          {"n_targets", int64_t{2}},
          {"aggregate_function", aggregate}};
}

Graph graph_of(graph::Attributes attributes, DType dtype = DType::kFloat32) {
  Graph g;
  const graph::ValueId x = g.add_input("x", dtype, {16, 2});
  g.add_output(g.emit("isobit.TreeEnsemble", {x}, std::move(attributes), "scores"));
  return g;
}

TEST(ExportOfTrees, LeavesOfOneVoteInBothTypes) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const int64_t aggregate : {0, 1, 2, 3}) {
      const Model model =
          expect_round_trip(graph_of(trees({0, 1, 2, 3, 4}, {0, 1, 0, 1}, {1.5, -2, 4, 32}, aggregate), dtype));
      EXPECT_EQ(operators(model.graph), Names{"TreeEnsemble"});
      EXPECT_EQ(model.opset("ai.onnx.ml"), 5);
    }
  }
}

TEST(ExportOfTrees, SetsOfMembers) {
  graph::Attributes members = trees({0, 1, 2, 3, 4}, {0, 1, 0, 1}, {1.5, -2, 4, 32}, 1);
  members.set("nodes_modes", Ints{0, 6, 3});
  members.set("membership_values", Reals{0.5, -0.5, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(operators(expect_round_trip(graph_of(std::move(members))).graph), Names{"TreeEnsemble"});
}

TEST(ExportOfTrees, LeavesOfSeveralVotesAndOfNone) {
  for (const int64_t aggregate : {0, 1, 2, 3}) {
    const Model model =
        expect_round_trip(graph_of(trees({0, 2, 2, 3, 5}, {0, 1, 0, 1, 0}, {1.5, -2, 4, 32, 0.125}, aggregate)));
    EXPECT_EQ(operators(model.graph), Names{"TreeEnsembleRegressor"});
    EXPECT_EQ(model.opset("ai.onnx.ml"), 3);
  }
}

// Votes of several in float64, and one form beside the other, are nothing that a file can hold.
TEST(ExportOfTrees, WhatNoFormHasIsRefused) {
  const graph::Attributes several = trees({0, 2, 2, 3, 5}, {0, 1, 0, 1, 0}, {1.5, -2, 4, 32, 0.125}, 1);
  const auto wide = export_model(graph_of(several, DType::kFloat64), {});
  ASSERT_FALSE(wide);
  EXPECT_NE(wide.error().message.find("leaves with several votes"), std::string::npos);
  Graph both = graph_of(several);
  both.add_output(both.emit("isobit.TreeEnsemble", {both.inputs()[0]},
                            trees({0, 1, 2, 3, 4}, {0, 1, 0, 1}, {1.5, -2, 4, 32}, 1), "others"));
  const auto mixed = export_model(both, {});
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("node 'others' (isobit.TreeEnsemble)"), std::string::npos);
}

}  // namespace
}  // namespace isobit::onnx
