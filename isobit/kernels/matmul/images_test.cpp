// Whatever the driver would choose: every product that goes this way is computed so, and held against the scalar
// reference.
#include "isobit/kernels/matmul/images.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "isobit/kernels/conv/reference.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::gemm {
namespace {

using product::Direction;
using product::Product;

// Returns how many parts went by images.
template <class T>
int compute_all(const KernelContext& ctx, const Product<T>& product) {
  const product::Windows& w = product.geometry.right.windows;
  int count = 0;
  for (int64_t q = 0; q < product::part_count(w); ++q) {
    const product::WindowPart part(w, q, product::Missing::kSkipped);
    const PartWeights<T> weights(product, part, std::nullopt);
    const Problem<T> p = problem_of(product, part, weights);
    if (p.n == 0) continue;
    const bool goes = std::isfinite(cost_by_images(table_of<T>(ctx.isa), p));
    goes ? compute_by_images(ctx, p) : compute(ctx, p);
    count += goes;
  }
  return count;
}

template <class T>
int check(const ConvShape& s, uint64_t seed) {
  const auto numbers = [&](int64_t n, uint64_t more) {
    std::vector<T> v = testing::random_values<T>(static_cast<size_t>(n), testing::Values::kUnit, seed * 4 + more);
    // What ReLU leaves behind, and products that underflow.
    for (size_t i = seed % 3; i < v.size(); i += 3) v[i] = i % 2 ? T(-0.0) : -std::sqrt(std::numeric_limits<T>::min());
    return v;
  };
  const std::vector<T> src = numbers(s.n * s.ic * s.ih * s.iw, 0), bias = numbers(s.oc, 2),
                       weights = numbers(s.oc * (s.ic / s.groups) * s.kh * s.kw, 1),
                       diff_dst = numbers(s.n * s.oc * s.oh() * s.ow(), 3);
  std::vector<T> dst(diff_dst.size()), diff_src(src.size());
  reference::conv_forward(s, src.data(), weights.data(), bias.data(), dst.data());
  reference::conv_grad_src(s, diff_dst.data(), weights.data(), diff_src.data());
  int count = 0;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const Isa isa : available_isas()) {
      if (isa == Isa::kReference) continue;
      const KernelContext ctx{isa, &pool};
      std::vector<T> forward(dst.size(), T(-77)), backward(diff_src.size(), T(-77)), ended(dst.size(), T(-77));
      const Ending<T> ending{diff_dst.data(), true};
      count += compute_all(
          ctx, product::product_of(s, Direction::kForward, src.data(), weights.data(), bias.data(), forward.data()));
      count += compute_all(ctx, product::product_of<T>(s, Direction::kGradSrc, diff_dst.data(), weights.data(), nullptr,
                                                       backward.data()));
      Product<T> added =
          product::product_of(s, Direction::kForward, src.data(), weights.data(), bias.data(), ended.data());
      added.ending = &ending;
      compute_all(ctx, added);
      for (size_t i = 0; i < dst.size(); ++i) {
        const T x = numerics::canonical(dst[i] + diff_dst[i]);
        EXPECT_EQ(ended[i], x > 0 ? x : T(0)) << "ended on " << name_of(isa) << ", seed " << seed;
      }
      EXPECT_TRUE(testing::same_bits(dst, forward)) << "forward on " << name_of(isa) << ", seed " << seed;
      EXPECT_TRUE(testing::same_bits(diff_src, backward)) << "gradient on " << name_of(isa) << ", seed " << seed;
    }
  }
  return count;
}

TEST(ByImages, RandomShapesHaveTheReferenceBits) {
  std::mt19937_64 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  int by_images = 0;
  for (uint64_t seed = 0; seed < 40;) {
    ConvShape s;
    s.groups = pick(0, 3) == 0 ? 2 : 1;
    s.n = pick(0, 2) ? pick(1, 20) : pick(20, 70);
    s.ic = s.groups * (pick(0, 1) ? pick(1, 16) : 16 * pick(1, 2));
    s.oc = s.groups * (pick(0, 1) ? pick(1, 16) : 16 * pick(1, 2));
    s.ih = pick(1, 7), s.iw = pick(1, 19);
    s.kh = pick(1, 3), s.kw = pick(1, 4);
    s.stride_h = pick(1, 3), s.stride_w = pick(1, 3);
    s.dilation_h = pick(1, 2), s.dilation_w = pick(1, 2);
    s.pad_top = pick(0, 2), s.pad_left = pick(0, 2), s.pad_bottom = pick(0, 2), s.pad_right = pick(0, 2);
    if (s.ih + s.pad_top + s.pad_bottom < s.dilation_h * (s.kh - 1) + 1) continue;
    if (s.iw + s.pad_left + s.pad_right < s.dilation_w * (s.kw - 1) + 1) continue;
    by_images += seed % 4 ? check<float>(s, seed) : check<double>(s, seed);
    if (HasFailure()) return;
    ++seed;
  }
  EXPECT_GT(by_images, 150);
}

// Bands of the grid and ranges of rows are several here, blocks of sums, too.
TEST(ByImages, LargeShapesHaveTheReferenceBits) {
  EXPECT_GT(check<float>({18, 32, 17, 18, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1), 0);
  EXPECT_GT(check<float>({16, 592, 2, 3, 20, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 2), 0);
}

// Lines that are long by padding alone would have running totals of as many positions.
TEST(ByImages, WhatTakesMuchMemoryGoesAnotherWay) {
  for (const int64_t padding : {int64_t{1}, int64_t{1} << 20}) {
    const ConvShape s{.n = 16, .ic = 16, .oc = 16, .kw = 3, .pad_left = 1, .pad_right = padding};
    const auto product = product::product_of<float>(s, Direction::kForward, nullptr, nullptr, nullptr, nullptr);
    const product::WindowPart part(product.geometry.right.windows, 0, product::Missing::kSkipped);
    const PartWeights<float> weights(product, part, std::nullopt);
    const double cost = cost_by_images(table_of<float>(best_isa()), problem_of(product, part, weights));
    EXPECT_EQ(std::isfinite(cost), padding == 1);
  }
}

}  // namespace
}  // namespace isobit::kernels::gemm
