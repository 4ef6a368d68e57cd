#include "isobit/kernels/vendor/algorithms/catalogue.h"

#include <algorithm>

#include "isobit/kernels/product/plain_inner_products.h"
#include "isobit/kernels/vendor/algorithms/direct.h"
#include "isobit/kernels/vendor/algorithms/fft.h"
#include "isobit/kernels/vendor/algorithms/implicit_gemm.h"
#include "isobit/kernels/vendor/algorithms/winograd.h"

namespace isobit::kernels::algorithms {
namespace {

using Made = Expected<std::unique_ptr<Algorithm>>;

// What inner_products.h asks, by the ordered kernels.
class Ordered final : public InnerProducts<float> {
 public:
  explicit Ordered(const KernelContext& kernel) : kernel_(kernel) {}
  Status matmul(const MatmulArgs<float>& args) override {
    kernels::matmul(kernel_, args);
    return {};
  }
  Status conv_forward(const ConvShape& s, const float* src, const float* weights, const float* bias,
                      float* dst) override {
    kernels::conv_forward(kernel_, s, src, weights, bias, dst);
    return {};
  }
  Status conv_grad_src(const ConvShape& s, const float* diff_dst, const float* weights, float* diff_src) override {
    kernels::conv_grad_src(kernel_, s, diff_dst, weights, diff_src);
    return {};
  }
  Status conv_grad_weights(const ConvShape& s, const float* src, const float* diff_dst, float* diff_weights) override {
    kernels::conv_grad_weights(kernel_, s, src, diff_dst, diff_weights);
    return {};
  }

 private:
  KernelContext kernel_;
};

// im2col and one product: what PlainInnerProducts does.
class ExplicitGemm final : public Algorithm {
 public:
  ExplicitGemm(std::shared_ptr<MatrixProduct> product, const KernelContext& kernel)
      : products_(std::move(product), kernel) {}
  std::string refuses(const ConvShape&) const override { return ""; }
  Status forward(const Call& c) override { return products_.conv_forward(c.shape, c.src, c.weights, c.bias, c.dst); }

 private:
  PlainInnerProducts<float> products_;
};

std::shared_ptr<MatrixProduct> product_of(const PlatformParts& p) {
  return p.product != nullptr ? p.product : std::make_shared<OrderedProduct>(p.kernel);
}

template <class T>
Made by_loops(const PlatformParts& p) {
  return std::make_unique<T>(p.kernel);
}
template <class T>
Made by_products(const PlatformParts& p) {
  return std::make_unique<T>(product_of(p), p.kernel);
}
Made by_spectra(const PlatformParts& p) {
  ISOBIT_TRY(std::shared_ptr<Fftw> library, Fftw::open());
  return std::make_unique<Fft>(std::move(library), p.kernel);
}

struct Maker {
  Entry entry;
  Made (*make)(const PlatformParts&);
};
const char* const kWinogradApplies = "3x3 taps, stride 1, dilation 1, one group";

const std::vector<Maker>& makers() {
  static const std::vector<Maker> kAll = {
      {{"direct", "loops over taps and channels, a term at a time", "all"}, by_loops<Direct>},
      {{"explicit-gemm", "windows laid out (im2col) and one product of the library", "all"}, by_products<ExplicitGemm>},
      {{"implicit-gemm", "windows gathered a tile at a time, products of 128 terms added", "all"},
       by_products<ImplicitGemm>},
      {{"winograd2", "F(2x2,3x3), a few tiles at a time", kWinogradApplies}, by_loops<WinogradFused<2>>},
      {{"winograd2-nonfused", "F(2x2,3x3), all tiles, then 16 products of the library", kWinogradApplies},
       by_products<WinogradNonFused<2>>},
      {{"winograd4", "F(4x4,3x3), a few tiles at a time", kWinogradApplies}, by_loops<WinogradFused<4>>},
      {{"winograd4-nonfused", "F(4x4,3x3), all tiles, then 36 products of the library", kWinogradApplies},
       by_products<WinogradNonFused<4>>},
      {{"fft", "products of spectra, by FFTW", "stride 1, one group"}, by_spectra},
  };
  return kAll;
}

std::unique_ptr<InnerProducts<float>> own_of(const PlatformParts& p) {
  if (p.product == nullptr) return std::make_unique<Ordered>(p.kernel);
  return std::make_unique<PlainInnerProducts<float>>(p.product, p.kernel);
}

}  // namespace

const std::vector<Entry>& catalogue() {
  static const std::vector<Entry> kAll = [] {
    std::vector<Entry> all;
    for (const Maker& maker : makers()) all.push_back(maker.entry);
    all.push_back({kAutotune, "each of them once for every new shape, and from then on the fastest", "all"});
    return all;
  }();
  return kAll;
}

Expected<std::unique_ptr<InnerProducts<float>>> open(const std::string& name, const PlatformParts& platform,
                                                     Clock clock) {
  if (name == kAutotune) {
    std::vector<Candidate> candidates;
    for (const Maker& maker : makers()) {
      if (platform.product != nullptr && maker.make == by_products<ExplicitGemm>) continue;
      if (Made made = maker.make(platform)) candidates.push_back({maker.entry.name, *std::move(made)});
    }
    return std::make_unique<Fastest>(own_of(platform), std::move(candidates), std::move(clock));
  }
  const auto maker = std::ranges::find(makers(), name, [](const Maker& m) { return m.entry.name; });
  ISOBIT_CHECK(maker != makers().end());
  ISOBIT_TRY(std::unique_ptr<Algorithm> algorithm, maker->make(platform));
  return std::make_unique<AskedFor>(own_of(platform), Candidate{name, std::move(algorithm)});
}

}  // namespace isobit::kernels::algorithms
