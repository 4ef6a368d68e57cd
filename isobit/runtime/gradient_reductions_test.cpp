// Gradients of reductions, running sums, ranks along an axis and norms, and of operators that are written as these.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "isobit/graph/expansions/normalisation.h"
#include "isobit/graph/expansions/reductions.h"
#include "isobit/graph/expansions/softmax.h"
#include "isobit/runtime/gradient_check_for_test.h"

namespace isobit::runtime {
namespace {

namespace expansions = graph::expansions;

using graph::Attributes;
using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;
using Values = std::vector<ValueId>;

const std::vector<Attributes> kReductions = {{},
                                             {{"axes", Ints{1}}},
                                             {{"axes", Ints{0, -1}}, {"keepdims", int64_t{0}}},
                                             {{"axes", Ints{}}, {"keepdims", int64_t{0}}},
                                             {{"noop_with_empty_axes", int64_t{1}}, {"keepdims", int64_t{0}}}};

TEST(GradientOfReductions, EveryReduction) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare",
                         "ReduceL2", "ReduceLogSumExp"}) {
    for (const Attributes& attributes : kReductions) {
      SCOPED_TRACE(op);
      GradientCheck c;
      c.check(c.emit(op, {c.input({3, 4, 2}, 0.5, 2)}, attributes));
    }
  }
}

TEST(GradientOfReductions, AxesMayBeAConstantOperand) {
  const int64_t axes[] = {-1, 0};
  for (int64_t keep : {0, 1}) {
    GradientCheck c;
    const ValueId x = c.input({3, 4, 2}), over = c.constant(Tensor::of<int64_t>({2}, axes));
    c.check(c.emit("ReduceLogSumExp", {x, over}, {{"keepdims", keep}}));
  }
}

TEST(GradientOfReductions, ProductsOfZeros) {
  GradientCheck c;
  const ValueId x = c.input({3, 3}, 0.5, 2);
  c.set(0, 1, 0);
  c.set(0, 3, 0);
  c.set(0, 5, 0);
  c.check(c.emit("ReduceProd", {x}, {{"axes", Ints{1}}}));
}

// The gradients of x from y = op(x) with a gradient of 1 for every element of y.
Tensor gradient(const std::string& op, Tensor x, const Attributes& attributes = {}) {
  Graph g;
  const ValueId in = g.add_input("x", x.dtype(), x.shape().dims());
  const ValueId y = g.emit(op, {in}, attributes, "y");
  const ValueId loss = g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "loss");
  const ValueId targets[] = {in};
  g.add_output(graph::append_gradients(g, loss, targets).value()[0]);
  ThreadPool pool(1);
  return Executor(g).run({kernels::best_isa(), &pool}, {{in, std::move(x)}}).value()[0];
}

TEST(GradientOfReductions, WhereThereIsNone) {
  const float zeros[] = {0, 0, -0.0f}, mixed[] = {-2, 0, 3, -0.0f};
  const Tensor norm = gradient("ReduceL2", Tensor::of<float>({3}, zeros));
  for (float x : norm.span<float>()) EXPECT_EQ(x, 0);
  const Tensor abs = gradient("Abs", Tensor::of<float>({4}, mixed));
  const float expected[] = {-1, 0, 1, 0};
  EXPECT_TRUE(std::equal(abs.span<float>().begin(), abs.span<float>().end(), expected));
}

TEST(GradientOfReductions, OfNothingIsNothing) {
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceProd", "ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"}) {
    for (int64_t axis : {0, 1}) {
      Graph g;
      const ValueId x = g.add_input("x", DType::kFloat32, {2, 0, 3});
      const ValueId y = g.emit(op, {x}, {{"axes", Ints{axis}}, {"keepdims", int64_t{0}}}, "y");
      const ValueId loss = g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "loss");
      const ValueId targets[] = {x};
      const auto found = graph::append_gradients(g, loss, targets);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(g.value(found->front()).dims, (Ints{2, 0, 3})) << op;
    }
  }
}

TEST(GradientOfReductions, Abs) {
  GradientCheck c;
  c.check(c.emit("Abs", {c.input({3, 5})}));
}

TEST(GradientOfReductions, CumSum) {
  for (int64_t exclusive : {0, 1}) {
    for (int64_t reverse : {0, 1}) {
      GradientCheck c;
      const Attributes form = {{"axis", int64_t{-2}}, {"exclusive", exclusive}, {"reverse", reverse}};
      c.check(c.emit("CumSum", {c.input({2, 4, 3})}, form));
    }
  }
  GradientCheck c;
  c.check(c.emit("CumSum", {c.input({2, 4}), c.constant(Tensor::scalar(int64_t{1}))}));
}

TEST(GradientOfReductions, TopK) {
  for (int64_t largest : {0, 1}) {
    for (int64_t axis : {0, -1}) {
      GradientCheck c;
      const Attributes attributes = {{"k", int64_t{2}}, {"axis", axis}, {"largest", largest}};
      c.check(c.emit("TopK", {c.input({4, 3, 5})}, attributes, 2));
    }
  }
}

TEST(GradientOfReductions, BatchNormalizationByGivenStatistics) {
  GradientCheck c;
  const ValueId x = c.input({4, 3, 2}), scale = c.input({3}, 0.5, 1.5), bias = c.input({3});
  const double mean[] = {0.1, -0.2, 0.3}, var[] = {0.5, 1, 2};
  c.check(c.emit("BatchNormalization", {x, scale, bias, c.constant(Tensor::of<double>({3}, mean)),
                                        c.constant(Tensor::of<double>({3}, var))}));
}

TEST(GradientOfReductions, BatchNormalizationByStatisticsThatAreLearnt) {
  GradientCheck c;
  const ValueId x = c.input({4, 3, 2}), scale = c.input({3}, 0.5, 1.5), bias = c.input({3});
  const ValueId mean = c.input({3}), var = c.input({3}, 0.5, 2);
  c.check(c.emit("BatchNormalization", {x, scale, bias, mean, var}, {{"epsilon", 1e-3}}), 1e-5);
}

TEST(GradientOfReductions, StatisticsOfRows) {
  for (int64_t axis : {0, 1, -1}) {
    for (int which : {1, 2, 3}) {  // 3: all three outputs
      GradientCheck c;
      const auto outputs = c.emit_all("LayerNormalization", {c.input({3, 4, 2}), c.constant(Tensor::scalar(0.75))},
                                      {{"axis", axis}, {"epsilon", 1e-3}}, 3);
      ValueId y = outputs[which == 3 ? 0 : static_cast<size_t>(which)];
      if (which == 3) {
        // Statistics have the dimensions before the axis.
        Ints apart = c.graph_so_far().value(outputs[1]).dims;
        apart.resize(3, 1);
        const auto spread = [&](ValueId v) { return c.graph_so_far().emit("Reshape", {v}, {{"shape", apart}}, "v"); };
        y = c.sum({y, spread(outputs[1]), spread(outputs[2])});
      }
      c.check(y, 1e-5);
    }
  }
}

TEST(GradientOfReductions, ResponsesOfNeighbouringChannels) {
  for (const auto& [dims, size] : std::vector<std::pair<Ints, int64_t>>{
           {{2, 5, 3}, 3}, {{1, 4, 2, 3}, 4}, {{2, 3}, 1}, {{1, 3, 2}, 100}, {{2, 1, 2}, 5}}) {
    GradientCheck c;
    const Attributes attributes = {{"size", size}, {"alpha", 0.3}, {"beta", 0.6}, {"bias", 1.2}};
    c.check(c.emit("LRN", {c.input(dims, -3, 3)}, attributes));
  }
}

TEST(GradientOfReductions, RowsOfSeveralAxes) {
  for (int64_t axis : {0, 1, -1}) {
    GradientCheck c;
    const ValueId x = c.input({3, 4, 2}), scale = c.input({1, 2}, 0.5, 1.5), bias = c.input({2});
    const bool wide = axis == -1;
    const ValueId y = wide ? c.emit("LayerNormalization", {x, c.input({}, 0.5, 1.5)}, {{"axis", axis}}, 3)
                           : c.emit("LayerNormalization", {x, scale, bias}, {{"axis", axis}}, 3);
    if (!wide) {
      c.check(y, 1e-5);
      continue;
    }
    const ValueId sum = c.emit("Add", {y, bias});
    c.check(c.emit("Mul", {sum, scale}), 1e-5);
  }
}

TEST(GradientOfReductions, RmsNormalization) {
  for (const Attributes& attributes : std::vector<Attributes>{{}, {{"axis", int64_t{1}}, {"epsilon", 1e-2}}}) {
    GradientCheck c;
    const ValueId x = c.input({3, 4, 5}), scale = c.input({5}, 0.5, 1.5);
    c.check(c.emit("RMSNormalization", {x, scale}, attributes), 1e-5);
  }
}

// What a network may do, and for which there is no rule.
TEST(GradientOfReductions, AGradientThatIsMissingIsAnErrorThatNamesTheNode) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3}), row = g.add_input("row", DType::kFloat32, {3});
  const ValueId labels = g.add_input("labels", DType::kInt64, {2});
  const Values losses = g.emit_all("isobit.CrossEntropy", {x, labels}, {}, {"loss", "rows", "max", "sums"});
  const ValueId running = g.emit("isobit.RunningUpdate", {row, row}, {}, "running");
  for (const auto& [from, target, words] : std::vector<std::tuple<ValueId, ValueId, std::string>>{
           {losses[3], x, "node 'loss' (isobit.CrossEntropy): no gradient goes through the maxima"},
           {running, row, "node 'running': operator isobit.RunningUpdate has no gradient: it is the state"}}) {
    Graph with_loss = g;
    const ValueId loss = with_loss.emit("ReduceSum", {from}, {{"keepdims", int64_t{0}}}, "loss");
    const ValueId targets[] = {target};
    const auto found = graph::append_gradients(with_loss, loss, targets);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find(words), std::string::npos) << found.error().message;
  }
}

using Expansion = Expected<Values> (*)(Graph&, const Values&, const Attributes&, const std::vector<std::string>&);

void check(Expansion expansion, GradientCheck& c, const Values& inputs, const Attributes& attributes = {}) {
  const auto outputs = expansion(c.graph_so_far(), inputs, attributes, {"y"});
  ASSERT_TRUE(outputs) << outputs.error().message;
  c.check(outputs->front(), 1e-5);
}

TEST(GradientOfExpansions, Softmaxes) {
  for (Expansion e : {expansions::softmax, expansions::log_softmax}) {
    for (int64_t axis : {0, 1, 2}) {
      GradientCheck c;
      check(e, c, {c.input({3, 4, 2}, -3, 3)}, {{"axis", axis}});
    }
  }
  for (Expansion e : {expansions::softmax_of_matrix, expansions::log_softmax_of_matrix}) {
    GradientCheck c;
    check(e, c, {c.input({3, 4, 2}, -3, 3)});
  }
}

TEST(GradientOfExpansions, Reductions) {
  const Attributes rows = {{"axes", Ints{1}}, {"keepdims", int64_t{0}}};
  for (Expansion e :
       {expansions::reduce_l1, expansions::reduce_l2, expansions::reduce_log_sum, expansions::reduce_log_sum_exp}) {
    GradientCheck c;
    check(e, c, {c.input({3, 4, 2}, 0.5, 2)}, rows);
  }
  GradientCheck c;
  check(expansions::reduce_l1, c, {c.input({3, 4})}, rows);
}

TEST(GradientOfExpansions, Norms) {
  const Attributes groups = {{"num_groups", int64_t{2}}, {"stash_type", int64_t{11}}};  // all in float64
  {
    GradientCheck c;
    check(expansions::group_normalization, c, {c.input({2, 4, 3, 2}), c.input({4}, 0.5, 1.5), c.input({4})}, groups);
  }
  {
    GradientCheck c;
    check(expansions::group_normalization_by_group, c, {c.input({2, 4, 3}), c.input({2}, 0.5, 1.5), c.input({2})},
          groups);
  }
  {
    GradientCheck c;
    check(expansions::instance_normalization, c, {c.input({2, 3, 4, 2}), c.input({3}, 0.5, 1.5), c.input({3})});
  }
  {
    GradientCheck c;
    check(expansions::mean_variance_normalization, c, {c.input({3, 2, 4})}, {{"axes", Ints{0, 2}}});
  }
  for (int64_t p : {1, 2}) {
    GradientCheck c;
    check(expansions::lp_normalization, c, {c.input({3, 4, 2})}, {{"p", p}, {"axis", int64_t{1}}});
  }
  {
    GradientCheck c;
    check(expansions::layer_normalization, c, {c.input({2, 3, 4}), c.input({3, 1}, 0.5, 1.5), c.input({4})},
          {{"stash_type", int64_t{11}}});
  }
  {
    GradientCheck c;
    check(expansions::rms_normalization, c, {c.input({2, 3, 4}), c.input({2, 1, 4}, 0.5, 1.5)},
          {{"stash_type", int64_t{11}}});
  }
  GradientCheck c;
  const double mean[] = {0, 0, 0}, var[] = {1, 1, 1};
  const ValueId before = c.constant(Tensor::of<double>({3}, mean)),
                deviation = c.constant(Tensor::of<double>({3}, var));
  check(expansions::batch_normalization, c,
        {c.input({4, 3, 2}), c.input({3}, 0.5, 1.5), c.input({3}), before, deviation}, {{"training_mode", int64_t{1}}});
}

}  // namespace
}  // namespace isobit::runtime
