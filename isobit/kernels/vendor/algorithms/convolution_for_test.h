// What the tests of convolution algorithms share: random convolutions, their definition in float64, and the products
// that the algorithms stand on.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/vendor/algorithms/catalogue.h"
#include "isobit/kernels/vendor/algorithms/fftw.h"

namespace isobit::kernels::algorithms::testing {

inline ConvShape shape_of(int64_t n, int64_t ic, int64_t ih, int64_t iw, int64_t oc, int64_t taps, int64_t pad) {
  ConvShape s;
  s.n = n, s.ic = ic, s.ih = ih, s.iw = iw, s.oc = oc, s.kh = s.kw = taps;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  return s;
}

inline std::vector<float> numbers(int64_t count, bool whole, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) {
    const auto bits = static_cast<int32_t>(random() >> 40) - (1 << 23);
    x = whole ? static_cast<float>(bits % 9) : static_cast<float>(bits) * 0x1p-22f;
  }
  return v;
}

struct Convolution {
  ConvShape s;
  std::vector<float> src, weights, bias;

  explicit Convolution(const ConvShape& shape, bool whole = false, uint64_t seed = 1)
      : s(shape),
        src(numbers(s.n * s.ic * s.ih * s.iw, whole, seed)),
        weights(numbers(s.oc * (s.ic / s.groups) * s.kh * s.kw, whole, seed + 1)),
        bias(numbers(s.oc, whole, seed + 2)) {}

  size_t outputs() const { return static_cast<size_t>(s.n * s.oc * s.oh() * s.ow()); }
  std::vector<float> by(InnerProducts<float>& products, bool with_bias = true) const {
    std::vector<float> dst(outputs(), NAN);
    const Status done =
        products.conv_forward(s, src.data(), weights.data(), with_bias ? bias.data() : nullptr, dst.data());
    if (!done) dst.assign(1, NAN);
    return dst;
  }

  // By the definition, in float64: f(x) of every operand x. The terms of these tests are exact in float64, and its sums
  // err by less than 2^-50 of what is compared.
  template <class F>
  std::vector<double> defined(bool with_bias, F f) const {
    std::vector<double> dst(outputs());
    const int64_t channels = s.ic / s.groups, oh = s.oh(), ow = s.ow();
    for (size_t i = 0; i < dst.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i), x = at % ow, y = at / ow % oh, oc = at / (ow * oh) % s.oc;
      const int64_t n = at / (ow * oh * s.oc), first = oc / (s.oc / s.groups) * channels;
      double sum = with_bias ? f(bias[static_cast<size_t>(oc)]) : 0;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t ky = 0; ky < s.kh; ++ky) {
          for (int64_t kx = 0; kx < s.kw; ++kx) {
            const int64_t sy = y * s.stride_h + ky * s.dilation_h - s.pad_top;
            const int64_t sx = x * s.stride_w + kx * s.dilation_w - s.pad_left;
            if (sy < 0 || sy >= s.ih || sx < 0 || sx >= s.iw) continue;
            sum += f(weights[static_cast<size_t>(((oc * channels + c) * s.kh + ky) * s.kw + kx)]) *
                   f(src[static_cast<size_t>(((n * s.ic + first + c) * s.ih + sy) * s.iw + sx)]);
          }
        }
      }
      dst[i] = sum;
    }
    return dst;
  }
  std::vector<double> exact(bool with_bias = true) const {
    return defined(with_bias, [](float x) { return static_cast<double>(x); });
  }
  std::vector<double> magnitudes(bool with_bias = true) const {
    return defined(with_bias, [](float x) { return std::fabs(static_cast<double>(x)); });
  }
};

inline double gamma(int64_t roundings) {
  const double nu = static_cast<double>(roundings) * 0x1p-24;
  return nu / (1 - nu);
}

// "" or the first element that is further from the exact one than its bound.
inline std::string beyond(const std::vector<float>& found, const std::vector<double>& exact,
                          const std::vector<double>& bounds) {
  if (found.size() != exact.size()) return text_of("an error, or ", found.size(), " outputs of ", exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    const double distance = std::fabs(static_cast<double>(found[i]) - exact[i]);
    if (distance <= bounds[i]) continue;
    return text_of("element ", i, " of ", exact.size(), " is ", found[i], ", expected ", exact[i], " +- ", bounds[i]);
  }
  return "";
}

inline ThreadPool& pool_of(int threads) {
  static ThreadPool pools[] = {ThreadPool(1), ThreadPool(2), ThreadPool(3)};
  return pools[threads - 1];
}
inline KernelContext kernel(int threads = 1) { return {best_isa(), &pool_of(threads)}; }

// A product whose sums are in ascending order without fma; counts its calls.
class Loop final : public MatrixProduct {
 public:
  std::string name() const override { return "loop"; }
  bool has_f32() const override { return true; }
  int calls = 0;

 private:
  void product(const GemmArgs<float>& g) override {
    ++calls;
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < g.k; ++l) sum += g.a[i * g.lda + l] * g.b[l * g.ldb + j];
        g.c[i * g.ldc + j] = sum;
      }
    }
  }
};

inline bool is_installed(const std::string& name) { return name != "fft" || Fftw::open().has_value(); }

inline std::unique_ptr<InnerProducts<float>> opened(const std::string& name, std::shared_ptr<MatrixProduct> product,
                                                    int threads = 1, Clock clock = nullptr) {
  auto made = open(name, {std::move(product), kernel(threads)}, std::move(clock));
  ISOBIT_CHECK(made.has_value());
  return *std::move(made);
}

}  // namespace isobit::kernels::algorithms::testing
