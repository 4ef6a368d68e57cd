// Every algorithm against the definition in float64, within the bound that its header states; what its bits follow
// from; which shapes it leaves to the platform.
#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/kernels/testing.h"
#include "isobit/kernels/vendor/algorithms/convolution_for_test.h"
#include "isobit/kernels/vendor/algorithms/fft.h"
#include "isobit/kernels/vendor/algorithms/implicit_gemm.h"
#include "isobit/kernels/vendor/algorithms/winograd_matrices.h"
#include "isobit/kernels/vendor/each_library_for_test.h"

namespace isobit::kernels::algorithms {
namespace {

using kernels::testing::same_bits;
using testing::Convolution;
using testing::gamma;
using testing::opened;
using testing::shape_of;

// Ragged edges of tiles of 2 and of 4, one output, more tiles than a block, planes smaller than the taps, batches, sums
// split several times, no padding, padding on one side, padding wider than the taps.
std::vector<ConvShape> shapes_for_all() {
  std::vector<ConvShape> all = {shape_of(1, 1, 1, 1, 1, 3, 1),   shape_of(1, 3, 4, 4, 2, 3, 1),
                                shape_of(2, 5, 7, 9, 3, 3, 1),   shape_of(3, 16, 8, 8, 5, 3, 1),
                                shape_of(1, 2, 33, 18, 4, 3, 1), shape_of(5, 40, 6, 5, 7, 3, 0),
                                shape_of(1, 130, 5, 6, 2, 3, 1), shape_of(1, 3, 3, 3, 2, 3, 0),
                                shape_of(0, 3, 4, 4, 2, 3, 1),   shape_of(2, 4, 2, 11, 3, 3, 4)};
  ConvShape s = shape_of(2, 3, 9, 6, 4, 3, 0);
  s.pad_top = 1, s.pad_right = 2;
  all.push_back(s);
  return all;
}

// Other taps, strides, dilations and groups.
std::vector<ConvShape> other_shapes() {
  std::vector<ConvShape> all = {shape_of(2, 6, 9, 8, 5, 1, 0), shape_of(1, 3, 12, 11, 4, 5, 2)};
  ConvShape s = shape_of(2, 4, 9, 7, 6, 3, 1);
  s.stride_h = 2, s.stride_w = 3;
  all.push_back(s);
  s = shape_of(1, 4, 9, 10, 6, 3, 2);
  s.dilation_h = 2, s.dilation_w = 3;
  all.push_back(s);
  s = shape_of(2, 6, 7, 7, 4, 3, 1);
  s.groups = 2;
  all.push_back(s);
  s = shape_of(1, 5, 6, 6, 5, 3, 1);
  s.groups = 5;
  all.push_back(s);
  s = shape_of(1, 3, 8, 5, 2, 1, 0);
  s.kh = 4, s.kw = 2;
  all.push_back(s);
  return all;
}

// What the algorithm makes of the magnitudes of everything, tile by tile, in float64.
template <int kOutputs>
std::vector<double> winograd_magnitudes(const Convolution& x, bool with_bias) {
  constexpr int kTile = Winograd<kOutputs>::kTile;
  const auto w = winograd<kOutputs>();
  const auto size = [](const Rational& r) {
    return std::fabs(static_cast<double>(r.above) / static_cast<double>(r.below));
  };
  const ConvShape& s = x.s;
  const int64_t oh = s.oh(), ow = s.ow();
  std::vector<double> all(x.outputs());
  for (size_t at = 0; at < all.size(); ++at) {
    const int64_t i = static_cast<int64_t>(at), ox = i % ow, oy = i / ow % oh, oc = i / (ow * oh) % s.oc;
    const int64_t n = i / (ow * oh * s.oc), top = oy / kOutputs * kOutputs, left = ox / kOutputs * kOutputs;
    double total = with_bias ? std::fabs(static_cast<double>(x.bias[static_cast<size_t>(oc)])) : 0;
    for (int64_t c = 0; c < s.ic; ++c) {
      double u[kTile][kTile] = {}, v[kTile][kTile] = {};
      for (size_t a = 0; a < kTile; ++a) {
        for (size_t b = 0; b < kTile; ++b) {
          for (size_t k = 0; k < 9; ++k) {
            u[a][b] += size(w.weights[a][k / 3]) * size(w.weights[b][k % 3]) *
                       std::fabs(static_cast<double>(x.weights[static_cast<size_t>((oc * s.ic + c) * 9) + k]));
          }
          for (int64_t k = 0; k < kTile * kTile; ++k) {
            const int64_t sy = top + k / kTile - s.pad_top, sx = left + k % kTile - s.pad_left;
            if (sy < 0 || sy >= s.ih || sx < 0 || sx >= s.iw) continue;
            v[a][b] +=
                size(w.src[a][static_cast<size_t>(k / kTile)]) * size(w.src[b][static_cast<size_t>(k % kTile)]) *
                std::fabs(static_cast<double>(x.src[static_cast<size_t>(((n * s.ic + c) * s.ih + sy) * s.iw + sx)]));
          }
          total += size(w.back[static_cast<size_t>(oy - top)][a]) * size(w.back[static_cast<size_t>(ox - left)][b]) *
                   u[a][b] * v[a][b];
        }
      }
    }
    all[at] = total;
  }
  return all;
}

double norm(const float* v, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(v[i]) * static_cast<double>(v[i]);
  return std::sqrt(sum);
}

std::vector<double> fft_bounds(const Convolution& x, bool with_bias) {
  const ConvShape& s = x.s;
  const double size = static_cast<double>(transform_size(s.ih + s.pad_top + s.pad_bottom) *
                                          transform_size(s.iw + s.pad_left + s.pad_right));
  const int64_t area = s.oh() * s.ow(), plane = s.ih * s.iw, taps = s.kh * s.kw;
  std::vector<double> bounds(x.outputs());
  for (size_t i = 0; i < bounds.size(); ++i) {
    const int64_t oc = static_cast<int64_t>(i) / area % s.oc, n = static_cast<int64_t>(i) / area / s.oc;
    double sum = 0;
    for (int64_t c = 0; c < s.ic; ++c) {
      sum += norm(x.src.data() + (n * s.ic + c) * plane, plane) * norm(x.weights.data() + (oc * s.ic + c) * taps, taps);
    }
    if (with_bias) sum += std::fabs(static_cast<double>(x.bias[static_cast<size_t>(oc)]));
    bounds[i] = 4 * 0x1p-24 * std::max(1.0, std::log2(size)) * sum;
  }
  return bounds;
}

// The bounds of the headers.
std::vector<double> bounds_of(const std::string& kernel, const Convolution& x, bool with_bias) {
  if (kernel == "fft") return fft_bounds(x, with_bias);
  const bool two = kernel.starts_with("winograd2"), four = kernel.starts_with("winograd4");
  const int64_t tile = two ? 4 : 6, terms = x.s.ic / x.s.groups * x.s.kh * x.s.kw;
  std::vector<double> bounds = two    ? winograd_magnitudes<2>(x, with_bias)
                               : four ? winograd_magnitudes<4>(x, with_bias)
                                      : x.magnitudes(with_bias);
  for (double& b : bounds) b *= two || four ? gamma(4 * tile + 2 * (3 + 1) + x.s.ic + 2) : gamma(terms + 2);
  return bounds;
}

class EachAlgorithm : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!testing::is_installed(GetParam())) GTEST_SKIP() << "skipped: no FFTW";
  }
};

TEST_P(EachAlgorithm, IsWithinItsBound) {
  std::vector<ConvShape> shapes = shapes_for_all();
  const std::vector<ConvShape> others = other_shapes();
  shapes.insert(shapes.end(), others.begin(), others.end());
  const auto loop = std::make_shared<testing::Loop>();
  for (const std::shared_ptr<MatrixProduct>& product :
       {std::shared_ptr<MatrixProduct>(loop), std::shared_ptr<MatrixProduct>()}) {
    const auto products = opened(GetParam(), product, 2);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Convolution x(shapes[i], false, i);
      for (const bool with_bias : {false, true}) {
        const std::vector<float> found = x.by(*products, with_bias);
        const std::string kernel = products->last_conv_forward().name;
        EXPECT_EQ(testing::beyond(found, x.exact(with_bias), bounds_of(kernel, x, with_bias)), "")
            << kernel << ", shape " << i << ", " << (product ? "loop" : "ordered");
      }
    }
  }
}

TEST_P(EachAlgorithm, ComputesWhatItSaysAndLeavesTheRest) {
  const auto products = opened(GetParam(), nullptr);
  const bool is_winograd = GetParam().starts_with("winograd"), is_fft = GetParam() == "fft";
  for (const ConvShape& s : shapes_for_all()) {
    Convolution(s).by(*products);
    EXPECT_EQ(products->last_conv_forward().name, GetParam());
    EXPECT_EQ(products->last_conv_forward().why, "");
  }
  for (const ConvShape& s : other_shapes()) {
    const Convolution x(s);
    const std::vector<float> found = x.by(*products);
    const bool strided = s.stride_h != 1 || s.groups != 1;
    const bool left = is_winograd || (is_fft && strided);
    const ConvKernel kernel = products->last_conv_forward();
    EXPECT_EQ(kernel.name, left ? "own" : GetParam());
    EXPECT_EQ(kernel.why.empty(), !left) << kernel.why;
    if (!left) continue;
    std::vector<float> own(found.size());
    conv_forward(testing::kernel(), s, x.src.data(), x.weights.data(), x.bias.data(), own.data());
    EXPECT_TRUE(same_bits(own, found));
  }
}

TEST_P(EachAlgorithm, RepeatsItsBitsOnAnyPool) {
  for (const ConvShape& s : {shape_of(3, 20, 17, 13, 9, 3, 1), shape_of(2, 3, 40, 30, 8, 3, 0)}) {
    const Convolution x(s);
    const auto products = opened(GetParam(), nullptr, 1);
    const std::vector<float> expected = x.by(*products);
    EXPECT_TRUE(same_bits(expected, x.by(*products)));
    for (const int threads : {2, 3}) {
      EXPECT_TRUE(same_bits(expected, x.by(*opened(GetParam(), nullptr, threads)))) << threads;
    }
  }
}

TEST_P(EachAlgorithm, GradientsAndProductsAreThePlatformsOwn) {
  const auto products = opened(GetParam(), nullptr);
  const Convolution x(shape_of(2, 5, 7, 6, 4, 3, 1));
  const std::vector<float> diff_dst = testing::numbers(static_cast<int64_t>(x.outputs()), false, 9);
  std::vector<float> found(x.src.size()), own(x.src.size());
  ASSERT_TRUE(products->conv_grad_src(x.s, diff_dst.data(), x.weights.data(), found.data()));
  conv_grad_src(testing::kernel(), x.s, diff_dst.data(), x.weights.data(), own.data());
  EXPECT_TRUE(same_bits(own, found));
  found.resize(x.weights.size()), own.resize(x.weights.size());
  ASSERT_TRUE(products->conv_grad_weights(x.s, x.src.data(), diff_dst.data(), found.data()));
  conv_grad_weights(testing::kernel(), x.s, x.src.data(), diff_dst.data(), own.data());
  EXPECT_TRUE(same_bits(own, found));
  EXPECT_EQ(products->last_conv_forward().name, "") << "no forward convolution yet";
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Entry& entry : catalogue()) {
    if (entry.name != kAutotune) all.push_back(entry.name);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, EachAlgorithm, ::testing::ValuesIn(names()),
                         kernels::testing::test_name_of_library);

// Sums of small whole numbers are exact, and so are the transforms of F(2 x 2, 3 x 3) of weights that are multiples
// of 4. The 1/6 of F(4 x 4, 3 x 3) and what FFTW multiplies by are no float32 numbers.
TEST(Algorithms, AreExactWhereTheirNumbersAre) {
  for (const char* name : {"direct", "explicit-gemm", "implicit-gemm", "winograd2", "winograd2-nonfused"}) {
    const auto products = opened(name, std::make_shared<testing::Loop>());
    for (const ConvShape& s : shapes_for_all()) {
      Convolution x(s, true);
      for (float& w : x.weights) w *= 4;
      const std::vector<double> exact = x.exact();
      EXPECT_EQ(testing::beyond(x.by(*products), exact, std::vector<double>(exact.size(), 0.0)), "") << name;
    }
  }
}

// ---- fused and non-fused

// Over a product that adds as the fused form does they are one, over our ordered one (a chain of fma) they are one for
// a single channel alone.
TEST(Winograd, FusedAndNonFusedDifferInTheSumOverChannelsAlone) {
  for (const std::string form : {"winograd2", "winograd4"}) {
    for (const int64_t channels : {1, 2, 24}) {
      const Convolution x(shape_of(3, channels, 14, 11, 6, 3, 1));
      const std::vector<float> fused = x.by(*opened(form, nullptr));
      EXPECT_TRUE(same_bits(fused, x.by(*opened(form + "-nonfused", std::make_shared<testing::Loop>()))));
      EXPECT_EQ(fused == x.by(*opened(form + "-nonfused", nullptr)), channels == 1) << form << ", " << channels;
    }
  }
}

TEST(Winograd, NonFusedAsksForOneProductPerElementOfATile) {
  const Convolution x(shape_of(2, 6, 12, 12, 5, 3, 1));
  for (const auto& [name, products] : {std::pair("winograd2-nonfused", 16), std::pair("winograd4-nonfused", 36)}) {
    const auto loop = std::make_shared<testing::Loop>();
    x.by(*opened(name, loop));
    EXPECT_EQ(loop->calls, products);
  }
}

TEST(ImplicitGemm, SplitsItsSumsAndItsColumns) {
  const Convolution x(shape_of(1, 32, 20, 20, 5, 3, 1));  // 288 terms, 400 columns
  const auto loop = std::make_shared<testing::Loop>();
  x.by(*opened("implicit-gemm", loop));
  EXPECT_EQ(loop->calls, 3 * 2);
}

TEST(Algorithms, HaveBitsOfTheirOwn) {
  const Convolution x(shape_of(2, 24, 15, 13, 8, 3, 1));
  std::vector<std::vector<float>> results;
  for (const std::string& name : names()) {
    if (testing::is_installed(name)) results.push_back(x.by(*opened(name, nullptr)));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE(results[i] == results[k]) << names()[i] << " and " << names()[k];
  }
}

TEST(Fft, SizesHaveSmallFactorsOnly) {
  EXPECT_EQ(transform_size(1), 1);
  EXPECT_EQ(transform_size(11), 12);
  EXPECT_EQ(transform_size(34), 35);
  EXPECT_EQ(transform_size(121), 125);
}

TEST(Fft, PlanesThatDoNotFitAreRefused) {
  if (!testing::is_installed("fft")) GTEST_SKIP() << "skipped: no FFTW";
  const Fft fft(*Fftw::open(), testing::kernel());
  EXPECT_EQ(fft.refuses(shape_of(1, 4, 64, 64, 4, 3, 1)), "");
  EXPECT_NE(fft.refuses(shape_of(1, 4, 1 << 15, 1, 4, 1, 0)), "");
  EXPECT_NE(fft.refuses(shape_of(1, 4096, 512, 512, 4, 3, 1)), "");
}

}  // namespace
}  // namespace isobit::kernels::algorithms
