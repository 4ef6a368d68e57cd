// Every operator's gradient against central finite differences in float64.
#include <gtest/gtest.h>

#include <vector>

#include "isobit/graph/expansions/expansion_for_test.h"
#include "isobit/runtime/gradient_check_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::ValueId;
using Ints = std::vector<int64_t>;

TEST(Gradient, BinaryWithBroadcasting) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    for (const auto& [a, b] :
         std::vector<std::pair<Ints, Ints>>{{{3, 4}, {3, 4}}, {{2, 3, 4}, {3, 1}}, {{4}, {2, 1, 4}}, {{}, {5}}}) {
      SCOPED_TRACE(op);
      GradientCheck c;
      const ValueId x = c.input(a), y = c.input(b, 0.5, 2);
      c.check(c.emit(op, {x, y}));
    }
  }
}

TEST(Gradient, Gelu) {
  for (const char* form : {"none", "tanh"}) {
    GradientCheck c;
    c.check(c.emit("Gelu", {c.input({40}, -4, 4)}, {{"approximate", std::string(form)}}));
  }
}

TEST(Gradient, LeakyRelu) {
  for (const Attributes& attributes : std::vector<Attributes>{{}, {{"alpha", -0.75}}}) {
    GradientCheck c;
    c.check(c.emit("LeakyRelu", {c.input({40}, -2, 2)}, attributes));
  }
}

TEST(Gradient, Dropout) {
  GradientCheck c;
  const ValueId x = c.input({50});
  c.check(
      c.emit("isobit.Dropout", {x, c.constant(Tensor::scalar(int64_t{3}))}, {{"seed", int64_t{1}}, {"ratio", 0.3}}));
}

TEST(Gradient, MatMul) {
  const std::vector<std::pair<Ints, Ints>> plain = {
      {{3, 4}, {4, 5}}, {{2, 3, 4}, {2, 4, 5}}, {{2, 3, 4}, {4, 5}}, {{2, 1, 3, 4}, {3, 4, 5}}};
  for (const auto& [a, b] : plain) {
    for (int64_t ta : {0, 1}) {
      for (int64_t tb : {0, 1}) {
        GradientCheck c;
        Ints sa = a, sb = b;
        if (ta) std::swap(sa[sa.size() - 1], sa[sa.size() - 2]);
        if (tb) std::swap(sb[sb.size() - 1], sb[sb.size() - 2]);
        const ValueId x = c.input(sa), y = c.input(sb);
        c.check(c.emit("MatMul", {x, y}, {{"transA", ta}, {"transB", tb}}));
      }
    }
  }
}

TEST(Gradient, Gemm) {
  GradientCheck c;
  const ValueId x = c.input({3, 4}), w = c.input({5, 4}), b = c.input({5});
  c.check(c.emit("Gemm", {x, w, b}, {{"transB", int64_t{1}}}));
}

TEST(Gradient, Conv) {
  const std::vector<Attributes> variants = {{},
                                            {{"pads", Ints{1, 1, 1, 1}}},
                                            {{"pads", Ints{0, 1, 2, 1}}, {"strides", Ints{2, 2}}},
                                            {{"dilations", Ints{2, 1}}},
                                            {{"group", int64_t{2}}, {"pads", Ints{1, 0, 1, 0}}}};
  for (const Attributes& attributes : variants) {
    GradientCheck c;
    const int64_t group = attributes.integer("group", 1);
    const ValueId x = c.input({2, 4, 7, 6}), w = c.input({6, 4 / group, 3, 3}), b = c.input({6});
    c.check(c.emit("Conv", {x, w, b}, attributes));
  }
}

TEST(Gradient, Pooling) {
  const Attributes window = {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}};
  {
    GradientCheck c;
    c.check(c.emit("MaxPool", {c.input({2, 3, 7, 6})}, window, 2));
  }
  for (int64_t include : {0, 1}) {
    GradientCheck c;
    Attributes attributes = window;
    attributes.set("count_include_pad", include);
    c.check(c.emit("AveragePool", {c.input({2, 3, 7, 6})}, attributes));
  }
  GradientCheck c;
  c.check(c.emit("GlobalAveragePool", {c.input({2, 3, 4, 5})}));
}

TEST(Gradient, BatchNorm) {
  GradientCheck c;
  const ValueId x = c.input({4, 3, 2, 5}), scale = c.input({3}, 0.5, 1.5), bias = c.input({3});
  const auto stats = c.emit_all("isobit.BatchStatistics", {x}, {}, 2);
  c.check(c.emit("isobit.BatchNormApply", {x, scale, bias, stats[0], stats[1]}), 1e-5);
}

TEST(Gradient, StatisticsOfABatchByThemselves) {
  for (int which : {0, 1, 2}) {
    GradientCheck c;
    const auto stats = c.emit_all("isobit.BatchStatistics", {c.input({4, 3, 2})}, {}, 2);
    c.check(which == 2 ? c.sum(stats) : stats[static_cast<size_t>(which)]);
  }
}

TEST(Gradient, LayerNorm) {
  GradientCheck c;
  const ValueId x = c.input({4, 9}), scale = c.input({9}, 0.5, 1.5), bias = c.input({9});
  c.check(c.emit("LayerNormalization", {x, scale, bias}, {}, 3), 1e-5);
}

TEST(Gradient, Softmax) {
  for (const char* op : {"Softmax", "LogSoftmax", "isobit.CausalSoftmax"}) {
    SCOPED_TRACE(op);
    GradientCheck c;
    c.check(c.emit(op, {c.input({2, 5, 5}, -3, 3)}));
  }
}

TEST(Gradient, CrossEntropy) {
  GradientCheck c;
  const ValueId logits = c.input({4, 6}, -3, 3);
  const int64_t labels[] = {0, 5, 2, 2};
  c.check(c.emit("isobit.CrossEntropy", {logits, c.constant(Tensor::of<int64_t>({4}, labels))}, {}, 4));
  // The losses of rows, alone and beside their mean.
  for (bool mean : {false, true}) {
    GradientCheck rows;
    const ValueId x = rows.input({4, 6}, -3, 3), y = rows.constant(Tensor::of<int64_t>({4}, labels));
    const auto losses = rows.emit_all("isobit.CrossEntropy", {x, y}, {}, 4);
    rows.check(mean ? rows.sum({losses[0], losses[1]}) : losses[1]);
  }
}

TEST(Gradient, Determinants) {
  for (const Ints& dims : std::vector<Ints>{{1, 1}, {2, 2}, {3, 2, 4, 4}}) {
    GradientCheck c;
    c.check(c.emit("Det", {c.input(dims)}));
  }
  GradientCheck singular;  // three rows that are no more than two
  const ValueId x = singular.input({3, 3});
  for (int64_t e = 0; e < 9; ++e) singular.set(0, e, static_cast<double>(e));
  singular.check(singular.emit("Det", {x}), 1e-5);
}

// Trees are constant between their bounds: a gradient of what they are multiplied by.
TEST(Gradient, TreesAreConstantNearlyEverywhere) {
  GradientCheck c;
  const ValueId x = c.input({5, 2});
  const ValueId y = c.emit("isobit.TreeEnsemble", {x},
                           {{"tree_roots", Ints{0}},
                            {"nodes_featureids", Ints{1}},
                            {"nodes_modes", Ints{0}},
                            {"nodes_splits", std::vector<double>{0.125}},
                            {"nodes_missing_value_tracks_true", Ints{0}},
                            {"nodes_truenodeids", Ints{0}},
                            {"nodes_trueleafs", Ints{1}},
                            {"nodes_falsenodeids", Ints{1}},
                            {"nodes_falseleafs", Ints{1}},
                            {"leaf_starts", Ints{0, 1, 2}},
                            {"leaf_targetids", Ints{0, 0}},
                            {"leaf_weights", std::vector<double>{1.5, -2}}});
  c.check(c.emit("Mul", {x, y}));
}

TEST(Gradient, Reductions) {
  for (const char* op : {"ReduceSum", "ReduceMean"}) {
    for (const Attributes& attributes :
         std::vector<Attributes>{{}, {{"axes", Ints{1}}}, {{"axes", Ints{0, -1}}, {"keepdims", int64_t{0}}}}) {
      GradientCheck c;
      c.check(c.emit(op, {c.input({3, 4, 2})}, attributes));
    }
  }
  GradientCheck c;
  c.check(c.emit("isobit.SumTo", {c.input({2, 3, 4})}, {{"shape", Ints{3, 1}}}));
}

TEST(Gradient, Movement) {
  {
    GradientCheck c;
    c.check(c.emit("Transpose", {c.input({2, 3, 4})}, {{"perm", Ints{2, 0, 1}}}));
  }
  {
    GradientCheck c;
    c.check(c.emit("Reshape", {c.input({2, 6})}, {{"shape", Ints{3, -1}}}));
  }
  {
    GradientCheck c;
    c.check(c.emit("Flatten", {c.input({2, 3, 4})}));
  }
  {
    GradientCheck c;
    const ValueId a = c.input({2, 3}), b = c.input({2, 1}), d = c.input({2, 2});
    c.check(c.emit("Concat", {a, b, d}, {{"axis", int64_t{-1}}}));
  }
  {
    GradientCheck c;
    c.check(c.emit("isobit.Block", {c.input({4, 5})}, {{"starts", Ints{1, 2}}, {"counts", Ints{2, 3}}}));
  }
  {
    GradientCheck c;
    c.check(c.emit("Expand", {c.input({3, 1})}, {{"shape", Ints{2, 3, 4}}}));
  }
  GradientCheck c;
  const ValueId table = c.input({5, 3});
  const int64_t rows[] = {4, 0, 4, 1};
  c.check(c.emit("Gather", {table, c.constant(Tensor::of<int64_t>({2, 2}, rows))}));
}

TEST(Gradient, OperatorsHaveOneOrAReason) {
  for (const std::string& op : graph::op_names()) {
    EXPECT_NE(graph::find_gradient(op) != nullptr, !graph::why_no_gradient(op).empty()) << op;
  }
  graph::Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {3});
  const ValueId y = g.emit("isobit.ReluGrad", {x, x}, {}, "y");
  const ValueId targets[] = {x};
  const auto found = graph::append_gradients(g, g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "loss"), targets);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("isobit.ReluGrad has no gradient: it is a gradient itself"), std::string::npos);
}

// What composite operators are written as is trained through, but for what gives integers, truths or shapes.
TEST(Gradient, OfWhatExpansionsAreMadeOf) {
  std::set<std::string> without;
  for (const auto& expansion : graph::expansions::listed_expansions()) {
    for (const std::string& op : expansion.primitives) {
      if (graph::find_gradient(op) == nullptr) without.insert(op);
    }
  }
  EXPECT_EQ(without, (std::set<std::string>{"And", "ArgMax", "Equal", "IsNaN", "Less", "Or", "Range", "Shape"}));
}

// Integers and truths hand on nothing, and what they are made of is not asked for a gradient.
TEST(Gradient, NothingFlowsThroughIntegers) {
  GradientCheck c;
  const ValueId x = c.input({3, 4});
  const ValueId places = c.graph_so_far().emit("ArgMax", {x}, {{"axis", int64_t{1}}}, "places");
  const ValueId is_positive = c.graph_so_far().emit("Less", {c.constant(Tensor::scalar(0.0)), x}, {}, "is_positive");
  const ValueId largest = c.emit("GatherElements", {x, places}, {{"axis", int64_t{1}}});
  c.check(c.emit("Where", {is_positive, largest, x}));
}

// What has a half type has a float32 gradient, and the operators behind it take that.
TEST(Gradient, OfHalfTypesIsFloat32) {
  for (DType half : {DType::kFloat16, DType::kBfloat16}) {
    graph::Graph g;
    const ValueId x = g.add_input("x", DType::kFloat32, {2, 2}), at = g.add_input("at", DType::kInt64, {1, 2});
    const auto cast = [&](ValueId v, DType to) { return g.emit("Cast", {v}, {{"to", static_cast<int64_t>(to)}}, "v"); };
    const ValueId narrow = cast(x, half), turned = g.emit("Transpose", {narrow}, {}, "turned");
    const ValueId taken = g.emit("Gather", {turned, at}, {}, "taken");
    const ValueId row = g.emit("Slice", {narrow}, {{"starts", Ints{0}}, {"ends", Ints{1}}, {"axes", Ints{0}}}, "row");
    const ValueId put = g.emit("ScatterElements", {turned, at, row}, {}, "put");
    const ValueId all = g.emit("Sum", {cast(taken, DType::kFloat32), cast(put, DType::kFloat32)}, {}, "all");
    const ValueId loss = g.emit("ReduceSum", {all}, {{"keepdims", int64_t{0}}}, "loss");
    const ValueId targets[] = {x, narrow};
    const auto found = graph::append_gradients(g, loss, targets);
    ASSERT_TRUE(found) << found.error().message;
    for (const ValueId grad : *found) {
      EXPECT_EQ(g.value(grad).dtype, DType::kFloat32);
      EXPECT_EQ(g.value(grad).dims, (Ints{2, 2}));
      g.add_output(grad);
    }
    const float values[] = {1, 2, 3, 4};
    const int64_t places[] = {1, 0};
    ThreadPool pool(1);
    const auto grads = Executor(g).run({kernels::best_isa(), &pool}, {{x, Tensor::of<float>({2, 2}, values)},
                                                                      {at, Tensor::of<int64_t>({1, 2}, places)}});
    ASSERT_TRUE(grads) << grads.error().message;
    // turned = [1 3; 2 4]. Each of its rows is taken once, and put has 1 at (1, 0) and 2 at (0, 1): what it replaced
    // got nothing more, what it put got that much, and so did what stayed.
    const float expected[] = {3, 2, 1, 2};
    EXPECT_TRUE(identical((*grads)[0], Tensor::of<float>({2, 2}, expected)));
  }
}

// Keeps the checks of this and the other files complete: an operator with a gradient rule but no test fails here. Run
// after all of them.
TEST(GradientZ, EveryRuleWasChecked) {
  for (const std::string& op : graph::op_names()) {
    if (graph::find_gradient(op) == nullptr) continue;
    EXPECT_TRUE(GradientCheck::used().contains(op)) << op;
  }
}

}  // namespace
}  // namespace isobit::runtime
