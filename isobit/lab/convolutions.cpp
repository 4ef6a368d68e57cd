#include "isobit/lab/convolutions.h"

#include "isobit/base/bytes.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/vendor/algorithms/catalogue.h"
#include "isobit/numerics/philox.h"
#include "isobit/platform/platform.h"

namespace isobit::lab {

namespace {

std::vector<float> drawn(uint32_t place, int64_t count) {
  const numerics::Stream stream{1, numerics::Purpose::kSyntheticData, place};
  std::vector<float> values(static_cast<size_t>(count));
  numerics::fill_normal_f32(stream, 0, values.data(), count);
  return values;
}

Expected<std::string> digest_of(const std::string& algorithm) {
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform("ordered/1t+" + algorithm));
  platform::Engine engine(p);
  ISOBIT_TRY(const platform::Context context, engine.context_for(platform::arithmetic_of("float32")));
  kernels::ConvShape s;
  s.n = 2, s.ic = 5, s.ih = 11, s.iw = 9, s.oc = 7, s.kh = s.kw = 3;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  const std::vector<float> src = drawn(0, s.n * s.ic * s.ih * s.iw), weights = drawn(1, s.oc * s.ic * 9);
  const std::vector<float> bias = drawn(2, s.oc);
  std::vector<float> dst(static_cast<size_t>(s.n * s.oc * s.oh() * s.ow()));
  ISOBIT_RETURN_IF_ERROR(
      context.kernels().products_f32->conv_forward(s, src.data(), weights.data(), bias.data(), dst.data()));
  ByteWriter bytes;
  for (const float x : dst) bytes.f32(x);
  return commit::hex_of(commit::sha256(bytes.view()));
}

}  // namespace

std::vector<ConvolutionAlgorithm> convolution_algorithms() {
  std::vector<ConvolutionAlgorithm> all;
  for (const kernels::algorithms::Entry& entry : kernels::algorithms::catalogue()) {
    ConvolutionAlgorithm& a = all.emplace_back(ConvolutionAlgorithm{entry.name, entry.words, entry.applies, "", ""});
    if (entry.name == kernels::algorithms::kAutotune) continue;
    auto digest = digest_of(entry.name);
    digest ? a.digest = *std::move(digest) : a.error = std::move(digest).error().message;
  }
  return all;
}

}  // namespace isobit::lab
