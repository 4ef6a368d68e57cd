#include "isobit/graph/ops/activation.h"

#include "isobit/kernels/activation/formulas.h"
#include "isobit/kernels/elementwise/functions.h"
#include "isobit/kernels/elementwise/numbers.h"
#include "isobit/runtime/kernels/formulas.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;
namespace defaults = graph::ops;

using At = const KernelSite&;

double real(const KernelSite& site, const char* name, double fallback) {
  return site.attributes().real(name, fallback);
}

// A formula of float64, of floats.
template <class Make>
Kernel in_float64(Make make) {
  return map_made<FloatTypes>([make](At s) { return k::InFloat64{make(s)}; });
}

k::Selu selu(At s) {
  return {.alpha = real(s, "alpha", defaults::kSeluAlpha), .gamma = real(s, "gamma", defaults::kSeluGamma)};
}
k::HardSigmoid hard_sigmoid(At s) {
  return {.alpha = real(s, "alpha", defaults::kHardSigmoidAlpha), .beta = real(s, "beta", defaults::kHardSigmoidBeta)};
}
k::Shrink shrink(At s) {
  return {.lambda = real(s, "lambd", defaults::kShrinkLambda), .bias = real(s, "bias", defaults::kShrinkBias)};
}

}  // namespace

void add_activation_kernels(KernelTable& table) {
  table["Elu"] = in_float64([](At s) { return k::Elu{real(s, "alpha", defaults::kEluAlpha)}; });
  table["Celu"] = in_float64([](At s) { return k::Celu{real(s, "alpha", defaults::kCeluAlpha)}; });
  table["Selu"] = in_float64(selu);
  table["Swish"] = in_float64([](At s) { return k::Swish{real(s, "alpha", defaults::kSwishAlpha)}; });
  table["HardSigmoid"] = in_float64(hard_sigmoid);
  table["HardSwish"] = in_float64([](At) { return k::HardSwish(); });
  table["Softsign"] = in_float64([](At) { return k::Softsign(); });
  table["ThresholdedRelu"] =
      in_float64([](At s) { return k::ThresholdedRelu{real(s, "alpha", defaults::kThresholdedReluAlpha)}; });
  table["Shrink"] = map_made<NumberTypes>([](At s) { return k::InFloat64{shrink(s)}; });
  table["Softplus"] = map_formula<FloatTypes>(k::Softplus());
  table["Mish"] = map_formula<FloatTypes>(k::Mish());
  table["PRelu"] = zip_formula<Types<float, double, int32_t, int64_t, uint32_t, uint64_t>>(k::LeakyBySlope());
}

}  // namespace isobit::runtime
