// Simulated platforms of logged arithmetic, and networks on which near-ties are common.
//
// No bound above the sound one is ever used, so near-ties are made common by operands whose products cancel: along the
// axis that is summed over, the second half is the first half again, but for a small relative change and, in one of the
// two operands, the sign. An output is then about `change` of the sum of its magnitudes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/stages/rounding_stage.h"

namespace isobit::runtime::testing {

using Ints = std::vector<int64_t>;

// Uniform in [-1, 1), rounded; every fourth is zero.
inline Tensor random_tensor(const Ints& dims, uint64_t seed, int bits = 32) {
  std::mt19937_64 random(seed);
  Tensor t(DType::kFloat64, Shape(dims));
  for (double& x : t.span<double>()) {
    const uint64_t w = random();
    const double value = static_cast<double>(static_cast<int64_t>(w)) * 0x1p-63;
    x = w % 4 == 0 ? 0.0 : kernels::rounding::round_to_bits(value, bits);
  }
  return t;
}

// Of every `block` elements along the axis the second half becomes sign * (1 + up to +-change) times the first.
inline void cancel_along(Tensor& t, size_t axis, int64_t block, double sign, double change, uint64_t seed) {
  std::mt19937_64 random(seed);
  const Shape& shape = t.shape();
  int64_t outer = 1, inner = 1;
  for (size_t a = 0; a < axis; ++a) outer *= shape.dims()[a];
  for (size_t a = axis + 1; a < shape.dims().size(); ++a) inner *= shape.dims()[a];
  double* data = t.data<double>();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t l = 0; l < shape.dims()[axis]; ++l) {
      if (l % block < block / 2) continue;
      for (int64_t i = 0; i < inner; ++i) {
        const double share = static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63;
        const double twin = data[(o * shape.dims()[axis] + l - block / 2) * inner + i];
        data[(o * shape.dims()[axis] + l) * inner + i] =
            kernels::rounding::round_to_bits(sign * twin * (1 + change * share), 32);
      }
    }
  }
}

// The probability that `checks` outputs show one of the share `share`, where errors fall evenly on all outputs.
inline double even_noticing(double share, double checks) { return 1 - std::pow(1 - share, checks); }

// One product of `op`: operands of these shapes that cancel along these axes, and the attributes.
struct CancellingOperand {
  Ints dims;
  size_t axis;
  int64_t block;
};

// A graph of inner products, each fed from outside so that one false output is not the next one's operand.
struct Net {
  void add(const std::string& op, const CancellingOperand& first, const CancellingOperand& second, double change,
           const graph::Attributes& attributes = {}, const Ints& bias = {}) {
    std::vector<graph::ValueId> inputs;
    double sign = 1;
    for (const CancellingOperand& operand : {first, second}) {
      Tensor t = random_tensor(operand.dims, feeds.size() + 1);
      cancel_along(t, operand.axis, operand.block, sign, change, feeds.size() + 101);
      sign = -sign;
      inputs.push_back(input(t));
    }
    if (!bias.empty()) {
      Tensor t = random_tensor(bias, feeds.size() + 1);
      for (double& x : t.span<double>()) x = kernels::rounding::round_to_bits(x * change, 32);
      inputs.push_back(input(t));
    }
    g.add_output(g.emit(op, std::move(inputs), attributes, op));
  }
  graph::ValueId input(const Tensor& t) {
    feeds.emplace_back(g.add_input("x", DType::kFloat64, t.shape().dims()), t);
    return feeds.back().first;
  }
  graph::Graph g;
  Executor::Feeds feeds;
};

// Every inner-product operator; for fewer bits one long sum, whose bounds are wide enough.
inline Net cancelling_net(int bits) {
  Net net;
  if (bits < 32) {
    net.add("Gemm", {{5, 8192}, 1, 8192}, {{9, 8192}, 1, 8192}, std::ldexp(1.0, bits - 38), {{"transB", int64_t{1}}});
    return net;
  }
  constexpr double kChange = 0x1p-18;
  net.add("Gemm", {{5, 70}, 1, 70}, {{9, 70}, 1, 70}, kChange, {{"transB", int64_t{1}}}, {9});
  net.add("MatMul", {{2, 3, 20, 4}, 2, 20}, {{3, 20, 6}, 1, 20}, kChange, {{"transA", int64_t{1}}});
  const graph::Attributes window = {
      {"pads", Ints{1, 0, 1, 2}}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}, {"group", int64_t{2}}};
  net.add("Conv", {{4, 4, 7, 8}, 1, 2}, {{8, 2, 3, 3}, 1, 2}, kChange, window, {8});
  const Ints dims = net.g.value(net.g.outputs().back()).dims;
  graph::Attributes grad = window;
  grad.set("src_shape", Ints{4, 4, 7, 8});
  net.add("isobit.ConvGradSrc", {dims, 1, 4}, {{8, 2, 3, 3}, 0, 4}, kChange, grad);
  grad = window;
  grad.set("weights_shape", Ints{8, 2, 3, 3});
  net.add("isobit.ConvGradWeights", {{4, 4, 7, 8}, 0, 4}, {dims, 0, 4}, kChange, grad);
  return net;
}

// Rules under which a few per cent of the outputs of that net are near-ties.
inline RoundingRules cancelling_rules(int bits) {
  RoundingRules rules;
  rules.bits = bits;
  rules.divergence = bits < 32 ? 8192 : 32;
  return rules;
}

// How far a platform's results lie from the exact ones: up to `reach` times what the job's bound allows, d / 2 + 1, of
// a share of the outputs up to `rare_reach` times that; never more than the sound bound.
struct Errors {
  double reach = 0.999;
  double rare_reach = 0;
  double rare_share = 0;
};

// Computes as told: the exact value and an error, even in [-bound, bound], of its own. What no classical platform
// rounds is exact.
class Simulated final : public Stage {
 public:
  Simulated(Stage& inner, const RoundingRules& rules, uint64_t seed, const Errors& errors)
      : inner_(inner), rules_(rules), random_(seed), errors_(errors) {}
  void begin_run(const graph::Graph& graph) override { inner_.begin_run(graph); }
  Status apply(size_t index, KernelCall& call) override {
    if (graph::op_of(call.node).is_inner_product()) disturb(call);
    return inner_.apply(index, call);
  }
  Status apply_again(size_t index, KernelCall& call) override { return inner_.apply_again(index, call); }

 private:
  double uniform() { return static_cast<double>(static_cast<int64_t>(random_())) * 0x1p-63; }
  void disturb(KernelCall& call) {
    for (const kernels::rounding::ProductBlock& b : product_blocks(call)) {
      const ErrorBounds bounds = rules_.bounds_of(call.node.op, b.k);
      for (int64_t i = 0; i < b.m; ++i) {
        for (int64_t j = 0; j < b.n; ++j) {
          const double magnitude = kernels::rounding::magnitude_of(b, i, j);
          const kernels::rounding::ExactValue z = kernels::rounding::evaluate_exactly(b, i, j);
          const bool rare = std::fabs(uniform()) < errors_.rare_share;
          const double most =
              std::min((rare ? errors_.rare_reach : errors_.reach) * (bounds.divergence / 2 + 1), bounds.sound / 2);
          const double error = uniform() * most * kernels::rounding::kUnit * magnitude;
          b.out[b.at(i, j)] = kernels::rounding::adds_exactly(b, i, j, magnitude) ? z.high : z.high + (z.low + error);
        }
      }
    }
  }

  Stage& inner_;
  const RoundingRules& rules_;
  std::mt19937_64 random_;
  const Errors errors_;
};

class StageTest : public ::testing::Test {
 protected:
  Expected<std::vector<Tensor>> run(const Net& net, Stage& stage) {
    return Executor(net.g).run({kernels::best_isa(), &pool_}, net.feeds, {.stage = &stage});
  }
  Status observe(const Net& net, Observer& observer) {
    return Executor(net.g).run({kernels::best_isa(), &pool_}, net.feeds, {.observer = &observer}).map([](auto&&) {});
  }
  ThreadPool pool_{2};
};

// What the operands of a product of k terms that has run say of it.
inline kernels::rounding::LineBounds bounds_of(const NodeRun& run, int64_t k) {
  Extents extents;
  const auto extent = [&](size_t i) { return extents.of(run.ctx, graph::kNoValue, *run.inputs[i]); };
  const bool has_bias = run.inputs.size() > 2 && run.inputs[2] != nullptr;
  return {kernels::rounding::line_bound(k, extent(0)), kernels::rounding::line_bound(k, extent(1)),
          has_bias ? extent(2).peak : 0};
}

inline bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!identical(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}

}  // namespace isobit::runtime::testing
