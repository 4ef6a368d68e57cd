// Every operator's gradient against central finite differences in float64.
#include <gtest/gtest.h>

#include <vector>

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
  const auto stats = c.graph_so_far().emit_all("isobit.BatchStatistics", {x}, {}, {"mean", "var"});
  GradientCheck::used().insert("isobit.BatchStatistics");
  c.check(c.emit("isobit.BatchNormApply", {x, scale, bias, stats[0], stats[1]}), 1e-5);
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
