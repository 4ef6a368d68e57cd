// Two platforms as far apart as the sound bound allows: they must see the same operands all the same, and nothing that
// they round apart may be missed.
#include "isobit/lab/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/rounding/round_to_bits.h"

namespace isobit::lab {
namespace {

using kernels::MatmulArgs;
using kernels::rounding::round_to_bits;

constexpr int64_t kLines = 120, kTerms = 4000;

Tensor random_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor t(DType::kFloat64, Shape({rows, columns}));
  for (double& x : t.span<double>()) {
    x = round_to_bits(static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63, 32);
  }
  return t;
}

// A platform whose results are up to half the sound bound off; keeps what it made of them.
class Disturbed final : public kernels::InnerProducts<double> {
 public:
  Disturbed(kernels::KernelContext kernel, uint64_t seed) : kernel_(kernel), random_(seed) {}
  Status matmul(const MatmulArgs<double>& p) override {
    kernels::matmul(kernel_, p);
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double magnitude = 0;
        for (int64_t l = 0; l < p.k; ++l) {
          magnitude += std::fabs(p.a[i * p.a_row_stride + l] * p.b[l * p.b_row_stride + j]);
        }
        const double share = static_cast<double>(static_cast<int64_t>(random_())) * 0x1p-63;
        p.c[i * p.c_row_stride + j] +=
            share * runtime::sound_divergence(p.k) / 2 * kernels::rounding::kUnit * magnitude;
      }
    }
    values_.emplace_back(p.c, p.c + p.m * p.n);
    return {};
  }
  Status conv_forward(const kernels::ConvShape&, const double*, const double*, const double*, double*) override {
    return unavailable("no convolutions here");
  }
  Status conv_grad_src(const kernels::ConvShape&, const double*, const double*, double*) override {
    return unavailable("no convolutions here");
  }
  Status conv_grad_weights(const kernels::ConvShape&, const double*, const double*, double*) override {
    return unavailable("no convolutions here");
  }
  const std::vector<std::vector<double>>& values() const { return values_; }

 private:
  const kernels::KernelContext kernel_;
  std::mt19937_64 random_;
  std::vector<std::vector<double>> values_;
};

// (A B) C': the second product has the first one's results as operands.
struct TwoProducts {
  TwoProducts() {
    const auto in = [&](int64_t rows, int64_t columns) {
      const graph::ValueId id = g.add_input("x", DType::kFloat64, {rows, columns});
      feeds.emplace_back(id, random_matrix(rows, columns, feeds.size() + 1));
      return id;
    };
    const graph::ValueId a = in(kLines, kTerms), b = in(kTerms, kLines), c = in(kLines, 30);
    const graph::ValueId first = g.emit("MatMul", {a, b}, {}, "first");
    g.add_output(first);
    g.add_output(g.emit("MatMul", {first, c}, {}, "second"));
  }
  graph::Graph g;
  runtime::Executor::Feeds feeds;
};

struct Calibrated {
  std::vector<Tensor> outputs;
  std::vector<CalibrationRecord> records;
};

Calibrated calibrate(const TwoProducts& net, const kernels::KernelContext& ctx, uint64_t samples) {
  ExactRounding rounding(32);
  Calibration calibration(rounding, 7, samples);
  calibration.begin(3, 10);
  auto done = runtime::Executor(net.g).run(ctx, net.feeds, {.observer = &calibration, .stage = &rounding});
  EXPECT_TRUE(done) << done.error().message;
  return {*std::move(done), calibration.records()};
}

TEST(Calibration, PlatformsWithinTheSoundBoundSeeTheSameOperands) {
  const TwoProducts net;
  ThreadPool pool(2);
  std::vector<std::vector<Tensor>> outputs;
  std::vector<std::vector<CalibrationRecord>> records;
  std::vector<std::vector<double>> first;
  for (uint64_t seed : {1, 2}) {
    kernels::KernelContext ctx{kernels::best_isa(), &pool};
    Disturbed disturbed(ctx, seed);
    ctx.products_f64 = &disturbed;
    Calibrated calibrated = calibrate(net, ctx, 64);
    outputs.push_back(std::move(calibrated.outputs));
    records.push_back(std::move(calibrated.records));
    first.push_back(disturbed.values()[0]);
  }
  for (size_t t = 0; t < 2; ++t) {
    EXPECT_TRUE(identical(outputs[0][t], outputs[1][t]));
    ASSERT_EQ(records[0].size(), 2u);
    EXPECT_EQ(records[0][t].operands, records[1][t].operands);
    EXPECT_EQ(records[0][t].node, 10 + t);
    EXPECT_EQ(records[0][t].pass, 3u);
  }
  EXPECT_NE(records[0][0].operands, records[0][1].operands);

  int straddles = 0;
  for (size_t p = 0; p < first[0].size(); ++p) {
    if (round_to_bits(first[0][p], 32) == round_to_bits(first[1][p], 32)) continue;
    ++straddles;
    for (size_t platform : {0u, 1u}) {
      const auto& ties = records[platform][0].ties;
      const auto at = std::find_if(ties.begin(), ties.end(), [p](const CalibrationTie& t) { return t.position == p; });
      ASSERT_NE(at, ties.end()) << p;
      EXPECT_EQ(at->value, first[platform][p]);
    }
  }
  EXPECT_GT(straddles, 0);
  EXPECT_LT(records[0][0].ties.size(), first[0].size() / 10);
}

TEST(Calibration, SamplesAreDrawnAlikeAndMeasuredRightly) {
  const TwoProducts net;
  ThreadPool pool(1);
  const kernels::KernelContext plain{kernels::best_isa(), &pool};
  Disturbed disturbed(plain, 5);
  kernels::KernelContext ctx = plain;
  ctx.products_f64 = &disturbed;
  const Calibrated calibrated = calibrate(net, ctx, 64);
  const CalibrationRecord& r = calibrated.records[0];
  EXPECT_EQ(r.k, kTerms);
  EXPECT_EQ(r.outputs, static_cast<uint64_t>(kLines * kLines));
  EXPECT_GT(r.samples.size(), 50u);
  const auto a = net.feeds[0].second.span<double>(), b = net.feeds[1].second.span<double>();
  for (size_t s = 0; s < r.samples.size(); ++s) {
    const CalibrationSample& sample = r.samples[s];
    if (s > 0) {
      EXPECT_LT(r.samples[s - 1].position, sample.position);
    }
    EXPECT_EQ(sample.value, disturbed.values()[0][sample.position]);
    const auto i = static_cast<int64_t>(sample.position) / kLines, j = static_cast<int64_t>(sample.position) % kLines;
    double magnitude = 0;
    for (int64_t l = 0; l < kTerms; ++l) {
      magnitude += std::fabs(a[static_cast<size_t>(i * kTerms + l)] * b[static_cast<size_t>(l * kLines + j)]);
    }
    EXPECT_NEAR(sample.magnitude, magnitude, 1e-12 * magnitude);
    EXPECT_LE(std::fabs(sample.value - sample.exact.high),
              runtime::sound_divergence(kTerms) * kernels::rounding::kUnit * magnitude);
    EXPECT_NE(sample.value, sample.exact.high);
  }
  // Fewer outputs than samples: all of them.
  EXPECT_EQ(calibrate(net, plain, 1 << 20).records[1].samples.size(), static_cast<size_t>(kLines * 30));
}

}  // namespace
}  // namespace isobit::lab
