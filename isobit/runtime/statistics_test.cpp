// What kernels give out for a trace: the values that the documentation of their statistics names, and outputs that do
// not change when somebody looks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>

#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;
using Rows = std::vector<std::vector<double>>;

class Recorder : public Observer {
 public:
  bool wants_statistics() const override { return true; }
  Status before_stage(const NodeRun& n) override {
    const auto statistics = graph::statistics_of(n.graph, n.node);
    for (size_t i = 0; i < n.statistics.size(); ++i) seen["#" + statistics[i].name] = values(n.statistics[i]);
    return {};
  }
  Status after_stage(const NodeRun& n) override {
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (n.outputs[o].defined()) seen[n.graph.value(n.node.outputs[o]).name] = values(n.outputs[o]);
    }
    return {};
  }
  static std::vector<double> values(const Tensor& t) {
    if (t.dtype() == DType::kFloat64) return {t.span<double>().begin(), t.span<double>().end()};
    if (t.dtype() != DType::kFloat32) return {t.byte_view().begin(), t.byte_view().end()};
    return {t.span<float>().begin(), t.span<float>().end()};
  }
  std::map<std::string, std::vector<double>> seen;
};

// One operator on random operands, that at `positive` of positive numbers; statistics by name in seen["#name"], outputs
// o0, o1 ..., operands i0, i1 ...
struct OneNode {
  std::map<std::string, std::vector<double>> seen;

  OneNode(DType dtype, const std::string& op, const std::vector<std::vector<int64_t>>& inputs, int outputs,
          bool labels = false, size_t positive = SIZE_MAX, const graph::Attributes& attributes = {}) {
    Graph g;
    Executor::Feeds feeds, again;
    std::vector<ValueId> ids;
    std::mt19937_64 random(7);
    std::map<std::string, std::vector<double>> operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool label = labels && i == 1;
      ids.push_back(g.add_input("i" + std::to_string(i), label ? DType::kInt64 : dtype, inputs[i]));
      Tensor t(label ? DType::kInt64 : dtype, Shape(inputs[i]));
      for (int64_t e = 0; e < t.elements(); ++e) {
        const double any = static_cast<double>(random() % 1000) / 250 - 2, x = i == positive ? any * any + 0.25 : any;
        if (label) t.data<int64_t>()[e] = static_cast<int64_t>(random() % 3);
        if (!label && dtype == DType::kFloat32) t.data<float>()[e] = static_cast<float>(x);
        if (!label && dtype == DType::kFloat64) t.data<double>()[e] = x;
      }
      if (!label) operands["i" + std::to_string(i)] = Recorder::values(t);
      again.emplace_back(ids.back(), t.clone());
      feeds.emplace_back(ids.back(), std::move(t));
    }
    std::vector<std::string> names;
    for (int o = 0; o < outputs; ++o) names.push_back("o" + std::to_string(o));
    for (ValueId id : g.emit_all(op, ids, attributes, names)) g.add_output(id);
    Executor executor(g);
    ThreadPool pool(2);
    Recorder recorder;
    const kernels::KernelContext ctx{kernels::available_isas().back(), &pool};
    const auto watched = executor.run(ctx, std::move(feeds), {.observer = &recorder}).value();
    const auto plain = executor.run(ctx, std::move(again)).value();
    for (size_t o = 0; o < plain.size(); ++o) EXPECT_TRUE(identical(plain[o], watched[o])) << op << " " << o;
    seen = std::move(recorder.seen);
    seen.merge(operands);
  }

  void expect(const std::string& name, const std::vector<double>& expected) const {
    ASSERT_TRUE(seen.contains(name)) << name;
    const auto& found = seen.at(name);
    ASSERT_EQ(found.size(), expected.size()) << name;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << name << " " << i;
    }
  }
  // f over each row of the last axis, of `columns` elements.
  template <class F>
  std::vector<double> rows(const std::string& name, size_t columns, F f) const {
    std::vector<double> out;
    const auto& all = seen.at(name);
    for (size_t at = 0; at < all.size(); at += columns) {
      out.push_back(f(std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(at),
                                          all.begin() + static_cast<std::ptrdiff_t>(at + columns))));
    }
    return out;
  }
};

double max_of(const std::vector<double>& row) { return *std::ranges::max_element(row); }
double sum_of(const std::vector<double>& row) {
  double sum = 0;
  for (double x : row) sum += x;
  return sum;
}
double mean_of(const std::vector<double>& row) { return sum_of(row) / static_cast<double>(row.size()); }
double sum_exp(const std::vector<double>& row) {
  double sum = 0;
  for (double x : row) sum += std::exp(x - max_of(row));
  return sum;
}
double var_of(const std::vector<double>& row) {
  double sum = 0;
  for (double x : row) sum += (x - mean_of(row)) * (x - mean_of(row));
  return sum / static_cast<double>(row.size());
}

class Statistics : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Statistics, ::testing::Values(DType::kFloat32, DType::kFloat64));

TEST_P(Statistics, OfSoftmaxes) {
  const OneNode softmax(GetParam(), "Softmax", {{4, 7}}, 1);
  softmax.expect("#row_max", softmax.rows("i0", 7, max_of));
  softmax.expect("#row_sum", softmax.rows("i0", 7, sum_exp));
  const OneNode log(GetParam(), "LogSoftmax", {{4, 7}}, 1);
  log.expect("#row_max", log.rows("i0", 7, max_of));
  log.expect("#log_sum", log.rows("i0", 7, [](const auto& row) { return std::log(sum_exp(row)); }));
  // Row t of 3 sees t + 1 keys.
  const OneNode causal(GetParam(), "isobit.CausalSoftmax", {{2, 3, 3}}, 1);
  size_t t = 0;
  const auto visible = [&](auto f) {
    t = 0;
    return causal.rows("i0", 3, [&, f](std::vector<double> row) {
      row.resize(t++ % 3 + 1);
      return f(row);
    });
  };
  causal.expect("#row_max", visible(max_of));
  causal.expect("#row_sum", visible(sum_exp));
}

TEST_P(Statistics, OfGradientsOfSoftmaxes) {
  for (const char* op : {"isobit.SoftmaxGrad", "isobit.LogSoftmaxGrad"}) {
    OneNode grad(GetParam(), op, {{4, 5}, {4, 5}}, 1);
    if (std::string(op) == "isobit.SoftmaxGrad") {
      auto& dy = grad.seen["i1"];
      for (size_t i = 0; i < dy.size(); ++i) dy[i] *= grad.seen["i0"][i];
    }
    grad.expect("#row_sum", grad.rows("i1", 5, sum_of));
  }
  OneNode causal(GetParam(), "isobit.CausalSoftmaxGrad", {{1, 2, 2}, {1, 2, 2}}, 1);
  const auto &y = causal.seen["i0"], &dy = causal.seen["i1"];
  causal.expect("#row_sum", {y[0] * dy[0], y[2] * dy[2] + y[3] * dy[3]});
}

TEST_P(Statistics, OfCrossEntropy) {
  const OneNode loss(GetParam(), "isobit.CrossEntropy", {{4, 6}, {4}}, 4, true);
  loss.expect("#row_max", loss.rows("i0", 6, max_of));
  loss.expect("#row_log_sum", loss.rows("i0", 6, [](const auto& row) { return std::log(sum_exp(row)); }));
  loss.expect("#row_loss", loss.seen.at("o1"));
  loss.expect("o0", {mean_of(loss.seen.at("#row_loss"))});
}

TEST_P(Statistics, OfNorms) {
  const OneNode layer(GetParam(), "LayerNormalization", {{4, 9}, {9}, {9}}, 3);
  layer.expect("#mean", layer.rows("i0", 9, mean_of));
  layer.expect("#var", layer.rows("i0", 9, var_of));
  const OneNode batch(GetParam(), "isobit.BatchStatistics", {{1, 3, 8}}, 2);
  batch.expect("#mean", batch.rows("i0", 8, mean_of));
  batch.expect("o1", batch.rows("i0", 8, var_of));
}

TEST_P(Statistics, OfGradientsOfNorms) {
  // (src, mean, inv_std, scale, diff_dst): g = dy * scale; sums of g and of g * (x - mean) * inv_std.
  OneNode layer(GetParam(), "isobit.LayerNormGrad", {{3, 4}, {3}, {3}, {4}, {3, 4}}, 3);
  std::vector<double> g(3), gh(3);
  for (size_t r = 0; r < 3; ++r) {
    for (size_t c = 0; c < 4; ++c) {
      const double x = layer.seen["i4"][4 * r + c] * layer.seen["i3"][c];
      g[r] += x;
      gh[r] += x * (layer.seen["i0"][4 * r + c] - layer.seen["i1"][r]) * layer.seen["i2"][r];
    }
  }
  layer.expect("#sum_g", g);
  layer.expect("#sum_gh", gh);
  // (src, mean, var, scale, diff_dst): the sums over images and places.
  OneNode batch(GetParam(), "isobit.BatchNormGrad", {{2, 3, 4}, {3}, {3}, {3}, {2, 3, 4}}, 3, false, 2);
  std::vector<double> bias(3), scale(3);
  for (size_t i = 0; i < 24; ++i) {
    const size_t c = i / 4 % 3;
    bias[c] += batch.seen["i4"][i];
    scale[c] +=
        batch.seen["i4"][i] * (batch.seen["i0"][i] - batch.seen["i1"][c]) / std::sqrt(batch.seen["i2"][c] + 1e-5);
  }
  batch.expect("#diff_bias", bias);
  batch.expect("#diff_scale", scale);
}

TEST_P(Statistics, OfTheGlobalNorm) {
  OneNode norm(GetParam(), "isobit.GlobalNorm", {{5}, {2, 3}}, 1);
  double sum = 0;
  for (const char* part : {"i0", "i1"}) {
    for (double x : norm.seen[part]) sum += x * x;
  }
  norm.expect("#sum_of_squares", {sum});
  norm.expect("o0", {std::sqrt(sum)});
}

double squares_of(const std::vector<double>& row) {
  double sum = 0;
  for (double x : row) sum += x * x;
  return sum;
}

TEST_P(Statistics, OfReductions) {
  const graph::Attributes last = {{"axes", std::vector<int64_t>{-1}}};
  const auto reduction = [&](const char* op) { return OneNode(GetParam(), op, {{4, 7}}, 1, false, SIZE_MAX, last); };
  const OneNode own = reduction("ReduceSumSquare");
  own.expect("#sum_of_squares", own.rows("i0", 7, squares_of));
  own.expect("o0", own.seen.at("#sum_of_squares"));
  const OneNode norm = reduction("ReduceL2");
  norm.expect("#sum_of_squares", norm.rows("i0", 7, squares_of));
  norm.expect("o0", norm.rows("i0", 7, [](const auto& row) { return std::sqrt(squares_of(row)); }));
  const OneNode log = reduction("ReduceLogSumExp");
  log.expect("#max", log.rows("i0", 7, max_of));
  log.expect("#sum", log.rows("i0", 7, sum_exp));
  const graph::Attributes axis = {{"axes", std::vector<int64_t>{1}}};
  const OneNode grad(GetParam(), "isobit.ReduceMaxGrad", {{4, 7}, {4, 1}}, 1, false, SIZE_MAX, axis);
  grad.expect("#max", grad.rows("i0", 7, max_of));
  grad.expect("#count", grad.rows("i0", 7, [](const auto& row) {
    return static_cast<double>(std::count(row.begin(), row.end(), max_of(row)));
  }));
}

TEST_P(Statistics, OfNormsByTheRootOfTheMeanSquare) {
  const OneNode norm(GetParam(), "RMSNormalization", {{4, 9}, {9}}, 1);
  norm.expect("#sum_of_squares", norm.rows("i0", 9, squares_of));
  // (src, scale, diff_dst): the sum of dy * scale * x * r.
  OneNode grad(GetParam(), "isobit.RmsNormGrad", {{3, 4}, {4}, {3, 4}}, 2);
  grad.expect("#sum_of_squares", grad.rows("i0", 4, squares_of));
  std::vector<double> gh(3);
  for (size_t r = 0; r < 3; ++r) {
    double squares = 0;
    for (size_t c = 0; c < 4; ++c) {
      const double x = grad.seen["i0"][4 * r + c];
      gh[r] += grad.seen["i2"][4 * r + c] * grad.seen["i1"][c] * x;
      squares += x * x;
    }
    gh[r] /= std::sqrt(squares / 4 + 1e-5);
  }
  grad.expect("#sum_gh", gh);
}

TEST_P(Statistics, OfWindowsOfChannels) {
  const OneNode norm(GetParam(), "LRN", {{1, 3, 2}}, 1, false, SIZE_MAX, {{"size", int64_t{2}}});
  const std::vector<double>& x = norm.seen.at("i0");
  std::vector<double> squares(6);
  for (size_t e = 0; e < 6; ++e) squares[e] = x[e] * x[e] + (e < 4 ? x[e + 2] * x[e + 2] : 0);
  norm.expect("#sum_of_squares", squares);
}

TEST_P(Statistics, OfTheRangeOfWhatIsQuantized) {
  OneNode node(GetParam(), "DynamicQuantizeLinear", {{5, 3}}, 3);
  const auto [low, high] = std::ranges::minmax(node.seen["i0"]);
  node.expect("#low", {std::min(low, 0.0)});
  node.expect("#high", {std::max(high, 0.0)});
  node.expect("o1", {(std::max(high, 0.0) - std::min(low, 0.0)) / 255});
}

}  // namespace
}  // namespace isobit::runtime
