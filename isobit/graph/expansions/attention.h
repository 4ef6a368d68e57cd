// Attention (ONNX opset 23 and 24) as matrix products and a softmax.
//
// Heads: q [B, Hq, T, D], k [B, H, S', D], v [B, H, S', Dv] of rank 4, or of rank 3 with the heads side by side in the
// last axis ([B, T, Hq D] ...), which are taken apart by q_num_heads and kv_num_heads. Hq is a multiple G of H; head h
// of q meets head h / G of k and v, which are not copied: the G heads are rows of one product. S = P + S' with P the
// length of past_key. Each line is one operator, so that in ordered-1 every element is rounded after each:
//
//   present_key = past_key, then k along the length (k itself without past); present_value likewise
//   scores  = q k^T                 inner products of length D
//   scaled  = scores * scale        scale rounded to the type; 1 / sqrt(D) when none is given
//   capped  = tanh(scaled / softcap) * softcap, when softcap is not 0
//   bias    = mask + causal + padding, those that there are, added in this order:
//     mask      attn_mask, broadcast to [B, Hq, T, S]; a bool one is 0 where true and -inf where not. With
//               pads_short_mask a last axis shorter than S is continued by -inf (opset 24)
//     causal    -inf where s > t + P, or where s > t + nonpad_kv_seqlen[b] - T when that is given
//     padding   -inf where s >= nonpad_kv_seqlen[b]
//   biased  = capped + bias
//   weights = softmax over S; zeros for a query whose every key is masked. With softmax_precision: of the scores cast
//   to that type, and cast back; float16 and
//             bfloat16 are rounded to and computed in float32
//   y       = weights v             inner products of length S
//
// A causal mask alone, with T = S known, is isobit.CausalSoftmax of `scaled`: what is masked is not looked at.
//
// Not known before the run may be: B, T, S', P. Heads and D must be (D not where a scale is given).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

struct AttentionArguments {
  std::string name;
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;    // float32 or float64, one type
  ValueId attn_mask = kNoValue;                        // bool or the type of q, rank 1 to 4
  ValueId past_key = kNoValue, past_value = kNoValue;  // [B, H, P, D], [B, H, P, Dv]; both or neither
  ValueId nonpad_kv_seqlen = kNoValue;                 // int64 [B]; not beside past_key
  int64_t q_num_heads = 0, kv_num_heads = 0;           // 0: absent; of rank 3 only
  bool is_causal = false;
  std::optional<double> scale = {};
  double softcap = 0;
  int64_t qk_matmul_output_mode = 0;
  std::optional<DType> softmax_precision = {};
  bool pads_short_mask = true;
  bool wants_qk_matmul_output = false;
};

// Y (of the rank of q), present_key, present_value, and by qk_matmul_output_mode 0 scaled, 2 biased, 3 weights
// (kNoValue unless wanted). Mode 1 is scaled too where there is neither bias nor softcap, and else refused: it was the
// scores with the bias and without the cap up to ONNX 1.20, and is those with the cap and without the bias in 1.23,
// under one opset. The order of cap and bias is that of 1.23 as well; in the other one a masked key took part with a
// score of -softcap.
Expected<std::vector<ValueId>> attention(Graph& graph, const AttentionArguments& arguments);

struct RotaryEmbeddingArguments {
  std::string name;
  ValueId x = kNoValue;                                // [B, H, T, D], or [B, T, H D] with num_heads
  ValueId cos_cache = kNoValue, sin_cache = kNoValue;  // [positions, r / 2], or [B, T, r / 2] without position_ids
  ValueId position_ids = kNoValue;                     // int64 [B, T]
  bool interleaved = false;
  int64_t num_heads = 0;             // 0: absent
  int64_t rotary_embedding_dim = 0;  // r; 0: D
};

// Of each head the first r numbers are r / 2 pairs (x1, x2): numbers i and i + r / 2, or interleaved 2 i and 2 i + 1.
// With c and s the numbers i of the caches at the place of t, a pair becomes
//   (c * x1 - s * x2, s * x1 + c * x2)
// each product and then the difference or the sum rounded. The rest of a head stays as it is. D and H must be known.
Expected<std::vector<ValueId>> rotary_embedding(Graph& graph, const RotaryEmbeddingArguments& arguments);

}  // namespace isobit::graph::expansions
