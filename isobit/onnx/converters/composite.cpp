// Operators that are written as several others (isobit/graph/expansions).
#include "isobit/base/text.h"
#include "isobit/graph/expansions/attention.h"
#include "isobit/graph/expansions/einsum.h"
#include "isobit/graph/expansions/loss.h"
#include "isobit/graph/expansions/recurrent.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

namespace expansions = graph::expansions;

Expected<Operands> attention(Conversion& c) {
  for (int i = 0; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  expansions::AttentionArguments a;
  a.name = c.base_name();
  a.q = c.id(0), a.k = c.id(1), a.v = c.id(2);
  a.attn_mask = c.id(3);
  a.past_key = c.id(4), a.past_value = c.id(5);
  a.nonpad_kv_seqlen = c.id(6);
  ISOBIT_TRY(a.q_num_heads, c.integer("q_num_heads", 0));
  ISOBIT_TRY(a.kv_num_heads, c.integer("kv_num_heads", 0));
  ISOBIT_TRY(const int64_t causal, c.integer("is_causal", 0));
  a.is_causal = causal != 0;
  if (c.has_attribute("scale")) {
    ISOBIT_TRY(a.scale, c.real("scale", 1));
  }
  ISOBIT_TRY(a.softcap, c.real("softcap", 0));
  ISOBIT_TRY(a.qk_matmul_output_mode, c.integer("qk_matmul_output_mode", 0));
  if (c.has_attribute("softmax_precision")) {
    ISOBIT_TRY(a.softmax_precision, c.type("softmax_precision", DType::kFloat32));
  }
  a.pads_short_mask = c.opset() >= 24;
  a.wants_qk_matmul_output = c.has_output(3);
  return c.expand([&](graph::Graph& g) { return expansions::attention(g, a); });
}

Expected<Operands> rotary_embedding(Conversion& c) {
  for (int i = 0; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  expansions::RotaryEmbeddingArguments a;
  a.name = c.base_name();
  a.x = c.id(0), a.cos_cache = c.id(1), a.sin_cache = c.id(2), a.position_ids = c.id(3);
  ISOBIT_TRY(const int64_t interleaved, c.integer("interleaved", 0));
  a.interleaved = interleaved != 0;
  ISOBIT_TRY(a.num_heads, c.integer("num_heads", 0));
  ISOBIT_TRY(a.rotary_embedding_dim, c.integer("rotary_embedding_dim", 0));
  return c.expand([&](graph::Graph& g) { return expansions::rotary_embedding(g, a); });
}

// Inputs and attributes that the three recurrent operators share.
Status read_recurrent(Conversion& c, expansions::RecurrentArguments& a) {
  for (int i = 0; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  a.name = c.base_name();
  a.x = c.id(0), a.w = c.id(1), a.r = c.id(2), a.b = c.id(3), a.sequence_lens = c.id(4), a.initial_h = c.id(5);
  ISOBIT_TRY(a.direction, c.text("direction", "forward"));
  ISOBIT_TRY(a.hidden_size, c.integer("hidden_size", 0));
  ISOBIT_TRY(a.layout, c.integer("layout", 0));
  if (c.has_attribute("clip")) {
    ISOBIT_TRY(a.clip, c.real("clip", 0));
  }
  ISOBIT_TRY(a.activations, c.text_list("activations"));
  ISOBIT_TRY(a.activation_alpha, c.real_list("activation_alpha"));
  ISOBIT_TRY(a.activation_beta, c.real_list("activation_beta"));
  a.wants_y = c.has_output(0);
  return {};
}

Expected<Operands> rnn(Conversion& c) {
  expansions::RecurrentArguments a;
  ISOBIT_RETURN_IF_ERROR(read_recurrent(c, a));
  return c.expand([&](graph::Graph& g) { return expansions::rnn(g, a); });
}

Expected<Operands> gru(Conversion& c) {
  expansions::GruArguments a;
  ISOBIT_RETURN_IF_ERROR(read_recurrent(c, a));
  ISOBIT_TRY(const int64_t before, c.integer("linear_before_reset", 0));
  a.linear_before_reset = before != 0;
  return c.expand([&](graph::Graph& g) { return expansions::gru(g, a); });
}

Expected<Operands> lstm(Conversion& c) {
  expansions::LstmArguments a;
  ISOBIT_RETURN_IF_ERROR(read_recurrent(c, a));
  a.initial_c = c.id(6), a.p = c.id(7);
  ISOBIT_TRY(const int64_t forget, c.integer("input_forget", 0));
  a.input_forget = forget != 0;
  return c.expand([&](graph::Graph& g) { return expansions::lstm(g, a); });
}

Expected<Operands> einsum(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  expansions::EinsumArguments a;
  a.name = c.base_name();
  ISOBIT_TRY(a.equation, c.text("equation", ""));
  for (int i = 0; i < c.input_count(); ++i) {
    ISOBIT_RETURN_IF_ERROR(c.expect(i));
    a.operands.push_back(c.id(i));
  }
  return c.expand([&](graph::Graph& g) { return expansions::einsum(g, a); });
}

Expected<expansions::LossArguments> read_loss(Conversion& c) {
  for (int i = 0; i < 2; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  expansions::LossArguments a;
  a.name = c.base_name();
  a.scores = c.id(0), a.target = c.id(1), a.weights = c.id(2);
  ISOBIT_TRY(a.reduction, c.text("reduction", "mean"));
  if (c.has_attribute("ignore_index")) {
    ISOBIT_TRY(a.ignore_index, c.integer("ignore_index", 0));
  }
  a.wants_log_prob = c.has_output(1);
  return a;
}

Expected<Operands> negative_log_likelihood(Conversion& c) {
  ISOBIT_TRY(const auto a, read_loss(c));
  return c.expand([&](graph::Graph& g) { return expansions::negative_log_likelihood_loss(g, a); });
}

Expected<Operands> softmax_cross_entropy(Conversion& c) {
  ISOBIT_TRY(const auto a, read_loss(c));
  return c.expand([&](graph::Graph& g) { return expansions::softmax_cross_entropy_loss(g, a); });
}

}  // namespace

void add_composite_rows(Table& table) {
  table.own("Attention", attention);
  table.own("RotaryEmbedding", rotary_embedding);
  table.own("RNN", rnn);
  table.own("GRU", gru);
  table.own("LSTM", lstm);
  table.own("Einsum", einsum);
  table.own("NegativeLogLikelihoodLoss", negative_log_likelihood);
  table.own("SoftmaxCrossEntropyLoss", softmax_cross_entropy);
}

}  // namespace isobit::onnx
