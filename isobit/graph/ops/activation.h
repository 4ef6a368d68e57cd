// What the attributes of activations are where a node lacks them: ONNX's defaults, which are float32.
#pragma once

namespace isobit::graph::ops {

inline constexpr double kEluAlpha = 1, kCeluAlpha = 1, kSwishAlpha = 1, kThresholdedReluAlpha = 1;
inline constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;
inline constexpr double kHardSigmoidAlpha = 0.2f, kHardSigmoidBeta = 0.5;
inline constexpr double kShrinkLambda = 0.5, kShrinkBias = 0;

}  // namespace isobit::graph::ops
