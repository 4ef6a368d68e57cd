// A gradient against central finite differences in float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {

// Builds y = op(inputs), loss = sum(y * weights) with fixed random weights, so that every output element matters.
class GradientCheck {
 public:
  GradientCheck() : pool_(2), ctx_{kernels::best_isa(), &pool_}, random_(7) {}

  // values in [low, high)
  graph::ValueId input(std::vector<int64_t> dims, double low = -1, double high = 1) {
    const graph::ValueId id = g_.add_input("x", DType::kFloat64, dims);
    Tensor t(DType::kFloat64, Shape(dims));
    std::uniform_real_distribution<double> uniform(low, high);
    for (double& v : t.span<double>()) v = uniform(random_);
    feeds_.emplace_back(id, t);
    targets_.push_back(id);
    return id;
  }
  // Element e of input number i, counted from 0, is x.
  void set(size_t i, int64_t e, double x) { feeds_[i].second.data<double>()[e] = x; }
  // An operand that is known in the run alone and wants no gradient.
  graph::ValueId fed(Tensor t) {
    others_.emplace_back(g_.add_input("fed", t.dtype(), t.shape().dims()), t);
    return others_.back().first;
  }
  graph::ValueId constant(Tensor t) { return g_.add_initializer("c", std::move(t)); }
  graph::Graph& graph_so_far() { return g_; }
  graph::ValueId emit(const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {},
                      int outputs = 1) {
    return emit_all(op, std::move(inputs), std::move(attributes), outputs)[0];
  }
  std::vector<graph::ValueId> emit_all(const std::string& op, std::vector<graph::ValueId> inputs,
                                       graph::Attributes attributes, int outputs) {
    used().insert(op);
    std::vector<std::string> names;
    for (int i = 0; i < outputs; ++i) names.push_back("y");
    return g_.emit_all(op, std::move(inputs), std::move(attributes), names);
  }
  // The sum of values whose shapes broadcast.
  graph::ValueId sum(const std::vector<graph::ValueId>& values) { return g_.emit("Sum", values, {}, "sum"); }

  void check(graph::ValueId y, double tolerance = 1e-6) {
    Tensor weights(DType::kFloat64, g_.value(y).shape());
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    for (double& v : weights.span<double>()) v = uniform(random_);
    const graph::ValueId product = g_.emit("Mul", {y, g_.add_initializer("weights", weights)}, {}, "weighted");
    const graph::ValueId loss = g_.emit("ReduceSum", {product}, {{"keepdims", int64_t{0}}}, "loss");
    const auto grads = graph::append_gradients(g_, loss, targets_).value();
    g_.add_output(loss);
    for (graph::ValueId grad : grads) {
      ASSERT_NE(grad, graph::kNoValue);
      g_.add_output(grad);
    }
    const std::vector<Tensor> analytic = run(feeds_);
    for (size_t i = 0; i < feeds_.size(); ++i) compare(i, analytic[i + 1], tolerance);
  }

  static std::set<std::string>& used() {
    static std::set<std::string> ops;
    return ops;
  }

 private:
  std::vector<Tensor> run(Executor::Feeds feeds) {
    feeds.insert(feeds.end(), others_.begin(), others_.end());
    return Executor(g_).run(ctx_, std::move(feeds)).value();
  }

  double loss_with(size_t input, int64_t element, double delta) {
    Executor::Feeds feeds = feeds_;
    feeds[input].second = feeds[input].second.clone();
    feeds[input].second.data<double>()[element] += delta;
    return run(feeds)[0].data<double>()[0];
  }

  void compare(size_t input, const Tensor& analytic, double tolerance) {
    constexpr double kStep = 1e-5;
    const int64_t n = analytic.elements(), stride = std::max<int64_t>(1, n / 40);
    for (int64_t i = 0; i < n; i += stride) {
      const double numeric = (loss_with(input, i, kStep) - loss_with(input, i, -kStep)) / (2 * kStep);
      const double found = analytic.data<double>()[i];
      EXPECT_NEAR(found, numeric, tolerance * std::max(1.0, std::abs(numeric)))
          << "input " << input << " element " << i;
    }
  }

  ThreadPool pool_;
  kernels::KernelContext ctx_;
  std::mt19937_64 random_;
  graph::Graph g_;
  Executor::Feeds feeds_, others_;
  std::vector<graph::ValueId> targets_;
};

}  // namespace isobit::runtime
