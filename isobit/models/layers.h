// Layers as the builders use them: each declares its parameters and appends its operators.
#pragma once

#include <string>
#include <vector>

#include "isobit/models/model.h"

namespace isobit::models {

// Square kernels, the same on both axes; pad at every edge.
struct ConvOptions {
  int64_t channels = 1, kernel = 1;
  int64_t stride = 1, pad = 0;
  bool bias = true;
};

// The input of a builder of images. kUnreadable for other samples than [channels, height, width] of that least side.
Expected<graph::ValueId> image_input(const ModelConfig& config, Model& model, int64_t smallest_side);

class Layers {
 public:
  Layers(const ModelConfig& config, Model& model) : config_(config), model_(model) {}

  using V = graph::ValueId;

  V parameter(const std::string& name, std::vector<int64_t> dims, Init init);

  // He uniform weights (bound sqrt(6 / fan_in), Init), zero bias. x is [rows, in]; weights are [out, in].
  V linear(const std::string& name, V x, int64_t out, bool bias = true);
  // Normal weights; in_first: they are [in, out].
  V linear_normal(const std::string& name, V x, int64_t out, float deviation, bool in_first);
  V conv(const std::string& name, V x, const ConvOptions& options);
  V batch_norm(const std::string& name, V x);
  V layer_norm(const std::string& name, V x);
  V relu(V x);
  // Square windows, a stride of their size where none is said, padded by what is no maximum.
  V max_pool(V x, int64_t kernel, int64_t stride = 0, int64_t pad = 0);
  V flatten(V x);
  V dropout(V x);
  // Scaled dot-product attention with a causal mask: queries, keys, values [B*T, 3C] -> [B*T, C] before the output
  // projection.
  V causal_attention(const std::string& name, V qkv, int64_t context);

  graph::Graph& graph() { return model_.graph; }

 private:
  // N * H * W of [N, C, H, W].
  int64_t values_of_a_channel(V x) const;
  V heads_of(const std::string& name, V qkv, int64_t part, int64_t context);

  const ModelConfig& config_;
  Model& model_;
  int64_t dropouts_ = 0;
};

}  // namespace isobit::models
