// Radford et al. 2019: learned positions, pre-norm blocks, GELU (tanh form), output weights tied to the embedding.
#pragma once

#include "isobit/models/model.h"

namespace isobit::models {

// What its parameters are called, and how its matrices lie.
struct GptForm {
  const char* root;   // before all names
  const char* block;  // before a block's number
  const char *norm1, *qkv, *attention_out, *norm2, *feed, *feed_out;
  bool in_first;  // matrices are [in, out]
};
inline constexpr GptForm kOwnGpt = {"", "h", "ln1", "attn.qkv", "attn.proj", "ln2", "mlp.fc", "mlp.proj", false};
// As transformers.GPT2LMHeadModel has them.
inline constexpr GptForm kGpt2 = {"transformer.", "h.",       "ln_1",       "attn.c_attn", "attn.c_proj",
                                  "ln_2",         "mlp.c_fc", "mlp.c_proj", true};

Status gpt(const ModelConfig& config, const GptForm& form, Model& model);

// Elements of the largest tensor, roughly.
double largest_of_gpt(const ModelConfig& config);

}  // namespace isobit::models
