// Whatever the driver would choose: every product that goes this way is computed so, and held against the scalar
// reference.
#include "isobit/kernels/matmul/taps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "isobit/kernels/conv/reference.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::gemm {
namespace {

// Returns whether it goes this way. special: some gradients are Inf, NaN and their kin.
template <class T>
bool check(const ConvShape& s, uint64_t seed, bool special) {
  const auto numbers = [&](int64_t n, uint64_t more) {
    return testing::random_values<T>(static_cast<size_t>(n), testing::Values::kUnit, seed * 2 + more);
  };
  const std::vector<T> src = numbers(s.n * s.ic * s.ih * s.iw, 0);
  std::vector<T> diff_dst = numbers(s.n * s.oc * s.oh() * s.ow(), 1);
  const std::vector<T> kinds = testing::special_values<T>();
  for (size_t i = 5; special && i < diff_dst.size(); i += 997) diff_dst[i] = kinds[(i + seed) % kinds.size()];
  std::vector<T> expected(static_cast<size_t>(s.oc * s.ic / s.groups * s.kh * s.kw));
  reference::conv_grad_weights(s, src.data(), diff_dst.data(), expected.data());
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const Isa isa : available_isas()) {
      if (isa == Isa::kReference) continue;
      std::vector<T> found(expected.size(), T(-77));
      const auto product = product::product_of<T>(s, product::Direction::kGradWeights, src.data(), diff_dst.data(),
                                                  nullptr, found.data());
      const product::WindowPart part(product.geometry.right.windows, 0, product::Missing::kSkipped);
      const PartWeights<T> none(product, part, std::nullopt);
      const Problem<T> p = problem_of(product, part, none);
      if (!std::isfinite(cost_by_taps(table_of<T>(isa), p))) return false;
      compute_by_taps({isa, &pool}, p);
      EXPECT_TRUE(testing::same_bits(expected, found)) << name_of(isa) << ", seed " << seed;
    }
  }
  return true;
}

TEST(ByTaps, RandomShapesHaveTheReferenceBits) {
  std::mt19937_64 random(11);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  int count = 0;
  for (uint64_t seed = 0; count < 40; ++seed) {
    ConvShape s;
    s.groups = pick(0, 3) == 0 ? 2 : 1;
    s.n = pick(1, 20);
    s.ic = s.groups * pick(1, 40);
    s.oc = s.groups * pick(1, 70);
    s.ih = pick(1, 9), s.iw = pick(1, 19);
    s.kh = pick(1, 3), s.kw = pick(1, 4);
    s.stride_h = pick(1, 3);
    s.dilation_h = pick(1, 2), s.dilation_w = pick(1, 2);
    s.pad_top = pick(0, 3), s.pad_left = pick(0, 3), s.pad_bottom = pick(0, 3), s.pad_right = pick(0, 3);
    if (s.ih + s.pad_top + s.pad_bottom < s.dilation_h * (s.kh - 1) + 1) continue;
    if (s.iw + s.pad_left + s.pad_right < s.dilation_w * (s.kw - 1) + 1) continue;
    count += seed % 4 ? check<float>(s, seed, seed % 3 == 0) : check<double>(s, seed, seed % 3 == 0);
    if (HasFailure()) return;
  }
}

// Several blocks of chunks; ranges of channels.
TEST(ByTaps, LongSumsHaveTheReferenceBits) {
  EXPECT_TRUE(check<float>({9, 20, 24, 24, 17, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, false));
  EXPECT_TRUE(check<float>({2, 600, 5, 5, 33, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 2, true));
}

// Chunks are whole lines; totals and runs grow with the taps.
TEST(ByTaps, WhatTakesMuchMemoryGoesAnotherWay) {
  const auto goes = [](const ConvShape& s) {
    const auto product =
        product::product_of<float>(s, product::Direction::kGradWeights, nullptr, nullptr, nullptr, nullptr);
    const product::WindowPart part(product.geometry.right.windows, 0, product::Missing::kSkipped);
    const PartWeights<float> none(product, part, std::nullopt);
    return std::isfinite(cost_by_taps(table_of<float>(best_isa()), problem_of(product, part, none)));
  };
  EXPECT_TRUE(goes({.n = 256, .ic = 16, .ih = 3, .iw = 3, .oc = 16, .kh = 3, .kw = 3}));
  EXPECT_FALSE(goes({.n = 2, .ic = 16, .iw = 1 << 16, .oc = 16, .kw = 3}));
  EXPECT_FALSE(goes({.n = 256, .ic = 16, .ih = 300, .iw = 300, .oc = 16, .kh = 300, .kw = 300}));
}

}  // namespace
}  // namespace isobit::kernels::gemm
