// The three sieves against the rule that they are short cuts for, applied to every output alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/stages/simulation_for_test.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::candidates;
using kernels::rounding::Decided;
using kernels::rounding::LineBounds;
using kernels::rounding::magnitude_of;
using kernels::rounding::NearTie;
using kernels::rounding::ProductBlock;
using kernels::rounding::round_decided;
using kernels::rounding::round_to_bits;
using kernels::rounding::trainer_width;
using Ints = std::vector<int64_t>;

enum class Kind { kDense, kSparse, kPeaked, kSmallIntegers, kPowers, kWithInfinity, kWithNan };

Tensor operand(const Ints& dims, Kind kind, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Tensor t(DType::kFloat64, Shape(dims));
  for (double& x : t.span<double>()) {
    x = normal(random);
    const bool rare = random() % 16 == 0;
    if (kind == Kind::kSparse) x = rare ? x : 0;
    if (kind == Kind::kPeaked) x *= rare ? 0x1p12 : 0x1p-12;
    if (kind == Kind::kSmallIntegers) x = std::nearbyint(4 * x);
    // Products whose exponents lie 24 or 60 apart: ties, some of which have lost a term.
    constexpr int kExponents[] = {0, 6, 30};
    if (kind == Kind::kPowers) x = random() % 4 != 0 ? 0 : std::copysign(std::ldexp(1.0, kExponents[random() % 3]), x);
    if (kind == Kind::kWithInfinity && random() % 400 == 0) x = std::numeric_limits<double>::infinity();
    if (kind == Kind::kWithNan && random() % 400 == 0) x = std::numeric_limits<double>::quiet_NaN();
    x = round_to_bits(x, 32);
  }
  return t;
}

// The exponent of the lowest bit that is set. REQUIRES x != 0, finite.
int lowest_bit(double x) {
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  while (fraction != std::nearbyint(fraction)) {
    fraction *= 2;
    --exponent;
  }
  return exponent;
}

// Whether every order of additions gives the same, without any rounding.
bool no_order_rounds(const ProductBlock& b, int64_t i, int64_t j, double magnitude) {
  std::vector<double> left(static_cast<size_t>(b.k)), right(left.size());
  b.left.read(i, left.data());
  b.right.read(j, right.data());
  int quantum = b.bias(i, j) != 0 ? lowest_bit(b.bias(i, j)) : 970;
  for (size_t l = 0; l < left.size(); ++l) {
    if (left[l] * right[l] != 0) quantum = std::min(quantum, lowest_bit(left[l]) + lowest_bit(right[l]));
  }
  return magnitude * (1 + 0x1p-20) <= std::ldexp(1.0, quantum + 53);
}

// Takes the blocks and the outputs as they are before any rounding, and says what must be undecided.
std::vector<uint64_t> undecided_alone(const std::vector<ProductBlock>& blocks, double width, int bits) {
  std::vector<uint64_t> positions;
  for (const ProductBlock& b : blocks) {
    for (int64_t i = 0; i < b.m; ++i) {
      for (int64_t j = 0; j < b.n; ++j) {
        const double x = b.out[b.at(i, j)];
        if (!std::isfinite(x)) continue;
        const double magnitude = magnitude_of(b, i, j);
        if (candidates(x, width, magnitude, bits).one()) continue;
        const double off = std::fabs(x - round_to_bits(x, bits));
        const bool tie = off == kernels::rounding::spacing(x, bits) / 2;
        if ((x == 0 || tie) && no_order_rounds(b, i, j, magnitude)) continue;
        positions.push_back(static_cast<uint64_t>(b.offset + b.at(i, j)));
      }
    }
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

class CompareSieves final : public Observer {
 public:
  explicit CompareSieves(double divergence, int bits) : width_(trainer_width(divergence)), bits_(bits) {}
  Status before_stage(const NodeRun& run) override {
    const Tensor& before = run.outputs[0];
    KernelCall call = detached(run);
    const std::vector<ProductBlock> blocks = product_blocks(call);
    const std::vector<uint64_t> expected = undecided_alone(blocks, width_, bits_);
    found += expected.size();
    // Whatever is known of the operands beforehand.
    const LineBounds known = testing::bounds_of(run, blocks[0].k);
    const double unknown = std::numeric_limits<double>::infinity();
    std::vector<LineBounds> bounds = {known,
                                      {known.first, 1024 * known.second, known.bias},
                                      {0x1p30 * known.first, known.second, known.bias},
                                      {known.first, unknown, known.bias},
                                      {unknown, unknown, unknown}};
    std::vector<kernels::rounding::MatrixNorms> norms;
    for (size_t i = 0; has_matrices(call.node) && i < 2; ++i) {
      const Tensor& operand = call.in(static_cast<int>(i));
      norms.push_back(
          kernels::rounding::matrix_norms(call.ctx, operand.span<double>(), operand.shape()[-2], operand.shape()[-1]));
    }
    if (!norms.empty()) {
      bounds.push_back({norms[0].most(), norms[1].most(), known.bias, &norms[0], &norms[1]});
      bounds.push_back({norms[0].most(), known.second, known.bias, &norms[0]});
      bounds.push_back({known.first, 1024 * known.second, known.bias, nullptr, &norms[1]});
      bounds.push_back({unknown, norms[1].most(), known.bias, nullptr, &norms[1]});
    }
    for (const LineBounds& b : bounds) {
      std::copy_n(before.data<double>(), before.elements(), call.out().data<double>());
      const Decided decided = round_decided(call.ctx, blocks, b, width_, bits_);
      std::vector<uint64_t> positions;
      for (const NearTie& t : decided.rest) {
        positions.push_back(t.position);
        EXPECT_EQ(t.value, before.data<double>()[t.position]);
        EXPECT_EQ(t.value, call.out().data<double>()[t.position]);
        EXPECT_EQ(t.magnitude, magnitude_of(blocks[t.block], t.i, t.j));
      }
      EXPECT_EQ(positions, expected) << call.node.op;
      check_rounded(before, call.out(), expected, decided.extent);
    }
    return {};
  }
  size_t found = 0;

 private:
  void check_rounded(const Tensor& before, const Tensor& after, std::vector<uint64_t> rest,
                     const Extents::Extent& extent) const {
    double squares = 0;
    for (int64_t p = 0; p < before.elements(); ++p) {
      const double x = before.data<double>()[p], r = after.data<double>()[p];
      EXPECT_FALSE(std::isfinite(r) && std::fabs(r) > extent.peak);
      squares += r * r;
      if (std::binary_search(rest.begin(), rest.end(), static_cast<uint64_t>(p))) continue;
      EXPECT_EQ(numerics::bits_of(r), numerics::bits_of(round_to_bits(x, bits_) + 0.0));
    }
    EXPECT_FALSE(squares > extent.squares * (1 + 0x1p-30));
  }

  double width_;
  int bits_;
};

class Sieves : public ::testing::TestWithParam<std::tuple<Kind, Kind>> {};

TEST_P(Sieves, LeaveWhatEveryOutputAloneWouldLeave) {
  const auto [first, second] = GetParam();
  ThreadPool pool(2);
  size_t found = 0;
  for (int bits : {24, 32}) {
    for (double divergence : {32.0, 0x1p20, 0x1p50}) {
      graph::Graph g;
      Executor::Feeds feeds;
      auto in = [&](Ints dims, Kind kind) {
        const graph::ValueId id = g.add_input("x", DType::kFloat64, dims);
        feeds.emplace_back(id, operand(dims, kind, feeds.size() + static_cast<size_t>(bits)));
        return id;
      };
      auto out = [&](const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {}) {
        g.add_output(g.emit(op, std::move(inputs), std::move(attributes), op));
      };
      out("Gemm", {in({40, 33}, first), in({33, 50}, second), in({50}, first)});
      out("Gemm", {in({15, 700}, first), in({700, 40}, second)});
      out("MatMul", {in({3, 20, 10}, first), in({3, 20, 30}, second)}, {{"transA", int64_t{1}}});
      const graph::Attributes window = {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 1}}};
      const graph::ValueId x = in({4, 3, 12, 11}, first), w = in({8, 3, 3, 3}, second);
      out("Conv", {x, w}, window);
      graph::Attributes grad = window;
      grad.set("src_shape", Ints{4, 3, 12, 11});
      out("isobit.ConvGradSrc", {in({4, 8, 6, 11}, first), w}, grad);
      grad = window;
      grad.set("weights_shape", Ints{8, 3, 3, 3});
      out("isobit.ConvGradWeights", {x, in({4, 8, 6, 11}, second)}, grad);
      CompareSieves compare(divergence, bits);
      ASSERT_TRUE(Executor(g).run({kernels::best_isa(), &pool}, feeds, {.observer = &compare}));
      found += compare.found;
    }
  }
  EXPECT_GT(found, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Operands, Sieves,
    ::testing::Values(std::tuple{Kind::kDense, Kind::kDense}, std::tuple{Kind::kSparse, Kind::kDense},
                      std::tuple{Kind::kSparse, Kind::kSparse}, std::tuple{Kind::kPeaked, Kind::kPeaked},
                      std::tuple{Kind::kSmallIntegers, Kind::kDense}, std::tuple{Kind::kPowers, Kind::kPowers},
                      std::tuple{Kind::kWithInfinity, Kind::kDense}, std::tuple{Kind::kWithInfinity, Kind::kSparse},
                      std::tuple{Kind::kWithNan, Kind::kDense}, std::tuple{Kind::kWithNan, Kind::kSparse}));

}  // namespace
}  // namespace isobit::runtime
