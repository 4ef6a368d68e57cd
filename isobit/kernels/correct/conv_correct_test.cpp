#include <gtest/gtest.h>

#include "isobit/kernels/correct/conv.h"
#include "isobit/kernels/correct/oracle_for_test.h"
#include "isobit/kernels/correct/reference.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::correct {
namespace {

using kernels::testing::random_values;
using kernels::testing::same_bits;
using kernels::testing::Values;

int64_t elements(int64_t n, int64_t c, int64_t h, int64_t w) { return n * c * h * w; }

struct Data {
  ConvShape s;
  std::vector<float> src, weights, bias, diff_dst;
  Data(const ConvShape& shape, Values values, uint64_t seed) : s(shape) {
    const auto make = [&](int64_t n, uint64_t salt) {
      return random_values<float>(static_cast<size_t>(n), values, seed * 7 + salt);
    };
    src = make(elements(s.n, s.ic, s.ih, s.iw), 1);
    weights = make(elements(s.oc, s.ic / s.groups, s.kh, s.kw), 2);
    bias = make(s.oc, 3);
    diff_dst = make(elements(s.n, s.oc, s.oh(), s.ow()), 4);
  }
};

ConvShape random_shape(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto upto = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  ConvShape s;
  s.groups = 1 + upto(3);
  s.n = upto(4);
  s.ic = s.groups * (1 + upto(4));
  s.oc = s.groups * (1 + upto(4));
  s.kh = 1 + upto(3), s.kw = 1 + upto(4);
  s.stride_h = 1 + upto(3), s.stride_w = 1 + upto(3);
  s.dilation_h = 1 + upto(2), s.dilation_w = 1 + upto(2);
  s.pad_top = upto(3), s.pad_left = upto(3), s.pad_bottom = upto(3), s.pad_right = upto(3);
  s.ih = s.dilation_h * (s.kh - 1) + 1 + upto(8);
  s.iw = s.dilation_w * (s.kw - 1) + 1 + upto(12);
  return s;
}

// The definition once more, as a scatter over (output, tap) pairs into MPFR sums: shares no indexing with the others.
struct MpfrGradients {
  std::vector<float> dst, diff_src, diff_weights;
  explicit MpfrGradients(const Data& d) {
    const ConvShape& s = d.s;
    const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, oh = s.oh(), ow = s.ow();
    std::vector<testing::MpfrSum> y(d.diff_dst.size()), x(d.src.size()), w(d.weights.size());
    for (int64_t i = 0; i < s.n * s.oc * oh * ow; ++i) {
      const int64_t n = i / (s.oc * oh * ow), oc = i / (oh * ow) % s.oc, row = i / ow % oh, column = i % ow;
      for (int64_t t = 0; t < icg * s.kh * s.kw; ++t) {
        const int64_t c = t / (s.kh * s.kw), kh = t / s.kw % s.kh, kw = t % s.kw;
        const int64_t iy = row * s.stride_h + kh * s.dilation_h - s.pad_top;
        const int64_t ix = column * s.stride_w + kw * s.dilation_w - s.pad_left;
        if (iy < 0 || ix < 0 || iy >= s.ih || ix >= s.iw) continue;
        const size_t from = static_cast<size_t>(((n * s.ic + oc / ocg * icg + c) * s.ih + iy) * s.iw + ix);
        const size_t weight = static_cast<size_t>(oc * icg * s.kh * s.kw + t), to = static_cast<size_t>(i);
        y[to].add_product(d.src[from], d.weights[weight]);
        x[from].add_product(d.diff_dst[to], d.weights[weight]);
        w[weight].add_product(d.src[from], d.diff_dst[to]);
      }
      y[static_cast<size_t>(i)].add(d.bias[static_cast<size_t>(oc)]);
    }
    for (const auto& sum : y) dst.push_back(sum.rounded());
    for (const auto& sum : x) diff_src.push_back(sum.rounded());
    for (const auto& sum : w) diff_weights.push_back(sum.rounded());
  }
};

struct Results {
  std::vector<float> dst, plain, diff_src, diff_weights;
  explicit Results(const Data& d)
      : dst(d.diff_dst.size(), NAN), plain(dst), diff_src(d.src.size(), NAN), diff_weights(d.weights.size(), NAN) {}
};

Results by_reference(const Data& d) {
  Results r(d);
  reference::conv_forward(d.s, d.src.data(), d.weights.data(), d.bias.data(), r.dst.data());
  reference::conv_forward(d.s, d.src.data(), d.weights.data(), nullptr, r.plain.data());
  reference::conv_grad_src(d.s, d.diff_dst.data(), d.weights.data(), r.diff_src.data());
  reference::conv_grad_weights(d.s, d.src.data(), d.diff_dst.data(), r.diff_weights.data());
  return r;
}

Results by_engine(const CorrectContext& ctx, const Data& d) {
  Results r(d);
  conv_forward(ctx, d.s, d.src.data(), d.weights.data(), d.bias.data(), r.dst.data());
  conv_forward(ctx, d.s, d.src.data(), d.weights.data(), nullptr, r.plain.data());
  conv_grad_src(ctx, d.s, d.diff_dst.data(), d.weights.data(), r.diff_src.data());
  conv_grad_weights(ctx, d.s, d.src.data(), d.diff_dst.data(), r.diff_weights.data());
  return r;
}

void expect_equal(const Results& expected, const Results& actual, const std::string& what) {
  EXPECT_TRUE(same_bits(expected.dst, actual.dst)) << what << ", forward";
  EXPECT_TRUE(same_bits(expected.plain, actual.plain)) << what << ", forward without bias";
  EXPECT_TRUE(same_bits(expected.diff_src, actual.diff_src)) << what << ", gradient of src";
  EXPECT_TRUE(same_bits(expected.diff_weights, actual.diff_weights)) << what << ", gradient of weights";
}

TEST(CorrectConv, ReferenceIsMpfrsRounding) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Data d(random_shape(seed), seed % 2 ? Values::kUnit : Values::kWide, seed);
    const bool finite = std::all_of(d.weights.begin(), d.weights.end(), [](float x) { return std::isfinite(x); }) &&
                        std::all_of(d.diff_dst.begin(), d.diff_dst.end(), [](float x) { return std::isfinite(x); });
    if (!finite) continue;  // the scatter leaves out padding, which then would matter
    const MpfrGradients expected(d);
    const Results actual = by_reference(d);
    EXPECT_TRUE(same_bits(expected.dst, actual.dst)) << seed;
    EXPECT_TRUE(same_bits(expected.diff_src, actual.diff_src)) << seed;
    EXPECT_TRUE(same_bits(expected.diff_weights, actual.diff_weights)) << seed;
  }
}

TEST(CorrectConv, EveryProductGivesTheReference) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Values values = seed % 3 == 0 ? Values::kUnit : seed % 3 == 1 ? Values::kWide : Values::kSpecial;
    const Data d(random_shape(seed), values, seed);
    const Results expected = by_reference(d);
    ThreadPool pool(1 + static_cast<int>(seed % 3));
    for (const testing::NamedProduct& p : testing::all_products(&pool)) {
      for (Isa isa : available_isas()) {
        const CorrectContext ctx{{isa, &pool}, p.product.get()};
        expect_equal(expected, by_engine(ctx, d), p.name + ", " + name_of(isa) + ", seed " + std::to_string(seed));
      }
    }
    if (HasFailure()) return;
  }
}

TEST(CorrectConv, ManySlicesAndTiles) {
  ConvShape s;
  s.n = 5, s.ic = 130, s.ih = s.iw = 19, s.oc = 6, s.kh = s.kw = 3;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  const Data d(s, Values::kUnit, 9);
  ThreadPool pool(2);
  OrderedProduct product({best_isa(), &pool});
  expect_equal(by_reference(d), by_engine({{best_isa(), &pool}, &product}, d), "large");
}

}  // namespace
}  // namespace isobit::kernels::correct
