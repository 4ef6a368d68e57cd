// Networks for images as torchvision has them: the same layers under the same names, so that its weights fit.
#pragma once

#include <array>

#include "isobit/models/model.h"

namespace isobit::models {

struct ResnetPlan {
  std::array<int64_t, 4> blocks;  // of each stage
  bool bottleneck = false;        // blocks of a 1x1, a 3x3 and a 1x1 convolution; else of two 3x3
};
inline constexpr ResnetPlan kResnet18 = {{2, 2, 2, 2}}, kResnet34 = {{3, 4, 6, 3}}, kResnet50 = {{3, 4, 6, 3}, true};

// He et al. 2016, section 4.1; the stride of a bottleneck lies in its 3x3 convolution. Form::kSmall begins with a 3x3
// convolution of stride 1 in place of one of 7x7, stride 2 and a pooling.
Status residual_network(const ModelConfig& config, const ResnetPlan& plan, Model& model);

// Simonyan and Zisserman 2015, configuration A, with batch norm. Form::kImagenet averages to 7x7 and has three linear
// layers, dropout behind the first two; Form::kSmall pools to what 32x32 comes to, 1x1, and has one.
Status vgg11_bn(const ModelConfig& config, Model& model);

// Elements of the largest tensor, roughly.
double largest_of_vision(const ModelConfig& config);

}  // namespace isobit::models
