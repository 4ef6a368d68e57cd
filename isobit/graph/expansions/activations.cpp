#include "isobit/graph/expansions/activations.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"

namespace isobit::graph::expansions {
namespace {

struct Kind {
  const char* name;
  bool has_alpha = false, has_beta = false;
  double alpha = 0, beta = 0;
  bool has_defaults = true;
};

constexpr Kind kKinds[] = {
    {"Relu"},
    {"Tanh"},
    {"Sigmoid"},
    {"Softsign"},
    {"Softplus"},
    {"Affine", true, true, 1, 0},
    {"LeakyRelu", true, false, 0.01},
    {"ThresholdedRelu", true, false, 1},
    {"ScaledTanh", true, true, 0, 0, false},
    {"HardSigmoid", true, true, 0.2, 0.5},
    {"Elu", true, false, 1},
};

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return s;
}

const Kind* kind_named(const std::string& name) {
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return lower(k.name) == lower(name); });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace

ValueId Activation::apply(Builder& b, ValueId x, double clip, const std::string& what) const {
  const DType dtype = b.dtype(x);
  if (clip > 0) x = b.node("Clip", {x, b.scalar(dtype, -clip), b.scalar(dtype, clip)}, {}, what + "_clipped");
  if (op == "Affine") return b.add(b.mul(x, b.scalar(dtype, alpha), what), b.scalar(dtype, beta), what);
  if (op == "ScaledTanh") {
    const ValueId t = b.unary("Tanh", b.mul(x, b.scalar(dtype, beta), what), what);
    return b.mul(t, b.scalar(dtype, alpha), what);
  }
  const Kind* kind = kind_named(op);
  Attributes attributes;
  if (kind != nullptr && kind->has_alpha) attributes.set("alpha", alpha);
  if (kind != nullptr && kind->has_beta) attributes.set("beta", beta);
  return b.node(op, {x}, std::move(attributes), what);
}

std::vector<Activation> activations_named(Builder& b, const std::vector<std::string>& names,
                                          const std::vector<double>& alpha, const std::vector<double>& beta) {
  std::vector<Activation> activations;
  auto next_alpha = alpha.begin(), next_beta = beta.begin();
  for (const std::string& name : names) {
    const Kind* kind = kind_named(name);
    if (kind == nullptr) {
      b.fail(text_of("activation '", name, "' is not known"));
      return {};
    }
    // ONNX gives its ScaledTanh no defaults, and implementations differ in what they take.
    if (!kind->has_defaults && (next_alpha == alpha.end() || next_beta == beta.end())) {
      b.fail(text_of("activation '", name, "' needs a number in activation_alpha and one in activation_beta"));
      return {};
    }
    Activation made{kind->name, kind->alpha, kind->beta};
    if (kind->has_alpha && next_alpha != alpha.end()) made.alpha = *next_alpha++;
    if (kind->has_beta && next_beta != beta.end()) made.beta = *next_beta++;
    b.require(std::isfinite(made.alpha) && std::isfinite(made.beta),
              text_of("activation '", name, "' has an alpha or beta that is not finite"));
    activations.push_back(std::move(made));
  }
  return activations;
}

}  // namespace isobit::graph::expansions
