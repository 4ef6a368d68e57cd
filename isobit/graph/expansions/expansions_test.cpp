// Operators written as others: what the outputs are called and of which type they are, and every way in which one is
// refused. What is computed: runtime/expansions_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "isobit/graph/expansions/normalisation.h"
#include "isobit/graph/expansions/reductions.h"
#include "isobit/graph/expansions/softmax.h"
#include "isobit/graph/op.h"
#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph::expansions {
namespace {

using Values = std::vector<ValueId>;
using Names = std::vector<std::string>;
using Expansion = Expected<Values> (*)(Graph&, const Values&, const Attributes&, const Names&);

const Type kX = f32({2, 4, 3}), kChannels = f32({4});
const Type kHalf = {DType::kFloat16, {2, 4, 3}};

struct Written {
  Graph graph;
  Expected<Values> outputs;
};

Written written(Expansion expansion, const std::vector<Type>& inputs, const Attributes& attributes,
                const Names& names = {"y"}) {
  Written w{{}, Values{}};
  Values ids;
  for (const Type& t : inputs) ids.push_back(w.graph.add_input("x", t.dtype, t.dims));
  w.outputs = expansion(w.graph, ids, attributes, names);
  return w;
}

// The operators in the order in which they are run, with a space between them.
std::string operators(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

void expect_written(Expansion expansion, const std::vector<Type>& inputs, const Attributes& attributes,
                    const std::string& ops, const Type& output) {
  SCOPED_TRACE(ops);
  const Written w = written(expansion, inputs, attributes);
  ASSERT_TRUE(w.outputs) << w.outputs.error().message;
  ASSERT_EQ(w.outputs->size(), 1u);
  const Value& y = w.graph.value(w.outputs->front());
  EXPECT_EQ(y.name, "y");
  EXPECT_EQ((Type{y.dtype, y.dims}), output);
  EXPECT_EQ(operators(w.graph), ops);
}

void expect_refused(Expansion expansion, const std::vector<Type>& inputs, const Attributes& attributes,
                    const std::string& words, const Names& names = {"y"}) {
  SCOPED_TRACE(words);
  const Written w = written(expansion, inputs, attributes, names);
  ASSERT_FALSE(w.outputs);
  EXPECT_EQ(w.outputs.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(w.outputs.error().message.find(words), std::string::npos) << w.outputs.error().message;
}

Attributes one(const char* name, Attribute value) { return {{name, std::move(value)}}; }

TEST(Expansions, SoftmaxesMoveTheirAxis) {
  expect_written(softmax, {kX}, {}, "Softmax", kX);
  expect_written(softmax, {kX}, one("axis", int64_t{2}), "Softmax", kX);
  expect_written(log_softmax, {kX}, one("axis", int64_t{0}), "Transpose LogSoftmax Transpose", kX);
  expect_written(softmax, {f32({-1, 4, -1})}, one("axis", int64_t{1}), "Transpose Softmax Transpose", f32({-1, 4, -1}));
  expect_written(softmax, {f32(kUnknownRank)}, {}, "Softmax", f32(kUnknownRank));
  expect_refused(softmax, {f32(kUnknownRank)}, one("axis", int64_t{1}), "the rank of 'x' is not known");
  expect_refused(softmax, {kX}, one("axis", int64_t{3}), "axis 3 is outside a tensor of rank 3");
  expect_refused(softmax, {f32({})}, {}, "axis -1 is outside a tensor of rank 0");
  expect_refused(softmax, {i64({3})}, {}, "expected float32 or float64");
  expect_refused(hardmax, {i64({3})}, {}, "expected float32 or float64");
  expect_refused(hardmax, {f32(kUnknownRank)}, {}, "the rank of 'x' is not known");
}

TEST(Expansions, SoftmaxesOfMatricesFlattenWhatTheyAreGiven) {
  expect_written(softmax_of_matrix, {kX}, {}, "Flatten Softmax Reshape", kX);
  expect_written(log_softmax_of_matrix, {kX}, one("axis", int64_t{0}), "Flatten LogSoftmax Reshape", kX);
  expect_written(softmax_of_matrix, {kX}, one("axis", int64_t{2}), "Softmax", kX);
  expect_written(softmax_of_matrix, {f32({-1, 4, -1})}, {}, "Flatten Softmax Reshape", f32({-1, 4, -1}));
  expect_refused(hardmax_of_matrix, {f32(kUnknownRank)}, one("axis", int64_t{-1}), "the rank of 'x' is not known");
}

TEST(Expansions, ReductionsOfIntegersGoByFloat64) {
  const Attributes rows = {{"axes", Ints{1}}, {"keepdims", int64_t{0}}};
  expect_written(reduce_l1, {kX}, rows, "Abs ReduceSum", f32({2, 3}));
  expect_written(reduce_l1, {{DType::kUint32, {2, 4, 3}}}, rows, "ReduceSum", {DType::kUint32, {2, 3}});
  expect_written(reduce_log_sum, {kX}, rows, "ReduceSum Log", f32({2, 3}));
  expect_written(reduce_log_sum, {i32({2, 4, 3})}, rows, "Cast ReduceSum Log Cast", i32({2, 3}));
  expect_written(reduce_l2, {kX}, rows, "ReduceL2", f32({2, 3}));
  expect_written(reduce_l2, {i64({2, 4, 3})}, rows, "Cast ReduceL2 Cast", i64({2, 3}));
  expect_written(reduce_log_sum_exp, {kX}, rows, "ReduceLogSumExp", f32({2, 3}));
  expect_written(reduce_log_sum_exp, {i64({2, 4, 3})}, rows, "Cast ReduceLogSumExp Cast", i64({2, 3}));
  for (Expansion e : {reduce_l1, reduce_log_sum, reduce_l2, reduce_log_sum_exp}) {
    expect_refused(e, {kX}, one("axes", Ints{3}), "axis 3 is outside");
    expect_refused(e, {kX}, one("axis", int64_t{0}), "'axis' is not known");
    expect_refused(e, {kX}, one("keepdims", 1.0), "'keepdims' has the wrong type");
    expect_refused(e, {}, {}, "found 0 inputs, expected 1 to 2");
    expect_refused(e, {kX}, {}, "found 2 outputs, expected at most 1", {"y", "z"});
    expect_refused(e, {kX}, {}, "output 0 is missing", {""});
  }
  expect_refused(reduce_l2, {{DType::kBool, {3}}}, {}, "is bool, expected numbers");
}

TEST(Expansions, NormsOfRowsAreOneNodeWhereTheyCanBe) {
  const Type row = f32({3});
  expect_written(layer_normalization, {kX, row, row}, {}, "LayerNormalization", kX);
  expect_written(layer_normalization, {kX, f32({4, 3})}, one("axis", int64_t{1}), "LayerNormalization", kX);
  expect_written(layer_normalization, {kX, f32({4, 1}), row}, {}, "LayerNormalization Mul Add", kX);
  expect_written(layer_normalization, {f64({2, 3}), f64({3})}, {}, "Cast LayerNormalization Cast Mul", f64({2, 3}));
  expect_written(layer_normalization, {f64({2, 3}), f64({3})}, one("stash_type", int64_t{11}), "LayerNormalization",
                 f64({2, 3}));
  expect_written(layer_normalization, {kX, row, row}, one("stash_type", int64_t{11}),
                 "Cast LayerNormalization Cast Mul Add", kX);
  expect_written(layer_normalization, {kHalf, {DType::kFloat16, {3}}}, {}, "Cast LayerNormalization Cast Mul Cast",
                 kHalf);
  expect_written(rms_normalization, {kX, row}, {}, "RMSNormalization", kX);
  expect_written(rms_normalization, {kX, f32({2, 1, 1})}, {}, "RMSNormalization Mul", kX);
  for (Expansion e : {layer_normalization, rms_normalization}) {
    expect_refused(e, {kX, row}, one("axis", int64_t{3}), "axis 3 is outside");
    expect_refused(e, {kX, row}, one("stash_type", int64_t{7}), "stash_type 7, expected 1, 10, 11 or 16");
    expect_refused(e, {i64({2, 3}), row}, {}, "is int64, expected floating-point numbers");
    expect_refused(e, {kX, f32({2})}, {}, "expected [3] or what broadcasts to it");
    expect_refused(e, {kX, f32({7, 2, 4, 3})}, {}, "has more dimensions than the source");
    expect_refused(e, {f32({2, 1, 3}), f32({4, 3})}, {}, "is wider than axis 1 of the source");
  }
}

TEST(Expansions, StatisticsOfLayersHaveOneForEveryAxisOfARow) {
  const Written w =
      written(layer_normalization, {kX, f32({4, 3})}, one("axis", int64_t{1}), {"y", "mean", "inv_std_dev"});
  ASSERT_TRUE(w.outputs) << w.outputs.error().message;
  for (size_t o : {1, 2}) {
    EXPECT_EQ(w.graph.value((*w.outputs)[o]).dims, (Ints{2, 1, 1}));
    EXPECT_EQ(w.graph.value((*w.outputs)[o]).name, o == 1 ? "mean" : "inv_std_dev");
  }
  const Written half = written(layer_normalization, {kHalf, {DType::kFloat16, {3}}}, one("stash_type", int64_t{16}),
                               {"y", "", "inv_std_dev"});
  ASSERT_TRUE(half.outputs) << half.outputs.error().message;
  EXPECT_EQ((*half.outputs)[1], kNoValue);
  EXPECT_EQ(half.graph.value((*half.outputs)[2]).dtype, DType::kBfloat16);
  expect_refused(layer_normalization, {f32(kUnknownRank), f32({3})}, {}, "the rank of 'x' is not known", {"y", "mean"});
}

TEST(Expansions, NormsOfGroupsAndInstancesAreNormsOfRows) {
  const Attributes groups = one("num_groups", int64_t{2});
  const std::string by_channel = "Reshape LayerNormalization Reshape Reshape Reshape Mul Add";
  expect_written(group_normalization, {kX, kChannels, kChannels}, groups, by_channel, kX);
  expect_written(group_normalization, {f32({-1, 4, -1}), kChannels, kChannels}, groups, by_channel, f32({-1, 4, -1}));
  expect_written(group_normalization_by_group, {kX, f32({2}), f32({2})}, groups,
                 "Reshape LayerNormalization Reshape Reshape Mul Add Reshape", kX);
  expect_written(instance_normalization, {kX, kChannels, kChannels}, {}, "LayerNormalization Reshape Reshape Mul Add",
                 kX);
  for (Expansion e : {group_normalization, group_normalization_by_group}) {
    expect_refused(e, {kX, kChannels, kChannels}, {}, "num_groups 0 does not divide 4 channels");
    expect_refused(e, {kX, kChannels, kChannels}, one("num_groups", int64_t{3}), "num_groups 3 does not divide 4");
    expect_refused(e, {f32({4}), kChannels, kChannels}, groups, "rank 2 or more");
    expect_refused(e, {kX, f32({4, 1}), kChannels}, groups, "has shape [4, 1], expected one number");
    expect_refused(e, {f32(kUnknownRank), kChannels, kChannels}, groups, "the rank of 'x' is not known");
    expect_refused(e, {kX, kChannels}, groups, "found 2 inputs, expected 3 to 3");
  }
  expect_refused(group_normalization, {kX, f32({2}), kChannels}, groups, "do not broadcast");
  expect_refused(group_normalization_by_group, {kX, kChannels, kChannels}, groups, "do not broadcast");
  expect_refused(instance_normalization, {f32({2, 4}), kChannels, kChannels}, {}, "rank 3 or more");
  expect_refused(instance_normalization, {kX, kChannels, f32({})}, {}, "expected one number a channel");
}

TEST(Expansions, OtherNormsAreWrittenOut) {
  expect_written(mean_variance_normalization, {kX}, one("axes", Ints{0, 2}),
                 "ReduceMean Sub Mul ReduceMean Sqrt Add Div", kX);
  expect_refused(mean_variance_normalization, {kX}, {}, "axis 3 is outside a tensor of rank 3");
  expect_refused(mean_variance_normalization, {kX}, one("axes", int64_t{1}), "'axes' has the wrong type");
  expect_written(lp_normalization, {kX}, {}, "ReduceL2 Cast Cast Sub Add Div", kX);
  expect_written(lp_normalization, {kX}, one("p", int64_t{1}), "Abs ReduceSum Cast Cast Sub Add Div", kX);
  expect_refused(lp_normalization, {kX}, one("p", int64_t{3}), "p is 3, expected 1 or 2");
  expect_refused(lp_normalization, {kX}, one("axis", int64_t{3}), "axis 3 is outside");
}

TEST(Expansions, BatchNormalizationTakesTheBatchWhereItTrains) {
  const std::vector<Type> inputs = {kX, kChannels, kChannels, kChannels, kChannels};
  expect_written(batch_normalization, inputs, one("momentum", 0.8), "BatchNormalization", kX);
  const Attributes training = {{"training_mode", int64_t{1}}, {"epsilon", 1e-3}, {"momentum", 0.8}};
  expect_written(batch_normalization, inputs, training, "isobit.BatchStatistics isobit.BatchNormApply", kX);
  const Written w = written(batch_normalization, inputs, training, {"y", "", "var"});
  ASSERT_TRUE(w.outputs) << w.outputs.error().message;
  EXPECT_EQ((*w.outputs)[1], kNoValue);
  EXPECT_EQ(w.graph.value((*w.outputs)[2]).name, "var");
  EXPECT_EQ(operators(w.graph), "isobit.BatchStatistics isobit.BatchNormApply isobit.RunningUpdate");
  expect_refused(batch_normalization, inputs, {}, "only where training_mode is 1", {"y", "mean"});
  expect_refused(batch_normalization, {kX, kChannels, kChannels, kChannels}, {}, "found 4 inputs, expected 5 to 5");
}

// Ids that the graph does not have, and one in the place of an input that must be there.
TEST(Expansions, InputsAreThere) {
  for (ValueId bad : {kNoValue, ValueId{9}, ValueId{-2}}) {
    Graph g;
    const auto found = softmax(g, {bad}, {}, {"y"});
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("input 0 is missing"), std::string::npos) << found.error().message;
  }
}

}  // namespace
}  // namespace isobit::graph::expansions
