#include "isobit/graph/expansions/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"

namespace isobit::graph::expansions {
namespace {

class Attention {
 public:
  Attention(Graph& graph, const AttentionArguments& arguments)
      : b_(graph, "Attention", arguments.name), a_(arguments) {}

  Expected<std::vector<ValueId>> expand() {
    check();
    take_heads_apart();
    present_key_ = with_past(a_.past_key, k_, "present_key");
    present_value_ = with_past(a_.past_value, v_, "present_value");
    const ValueId scaled = scaled_scores();
    const ValueId y = together(mixed(weights_of(scaled)));
    return b_.finish({y, present_key_, present_value_, a_.wants_qk_matmul_output ? qk_ : kNoValue});
  }

 private:
  void check() {
    b_.require_ranks({a_.q, a_.k, a_.v, a_.attn_mask, a_.past_key, a_.past_value, a_.nonpad_kv_seqlen});
    b_.require(b_.is_float(a_.q), text_of("Q is ", name_of(b_.dtype(a_.q)), ", expected float32 or float64"));
    for (ValueId other : {a_.k, a_.v, a_.past_key, a_.past_value}) {
      if (other != kNoValue) b_.require(b_.dtype(other) == b_.dtype(a_.q), "Q, K, V and what is past differ in type");
    }
    const int rank = b_.rank(a_.q);
    b_.require(rank == 3 || rank == 4, text_of("Q has rank ", rank, ", expected 3 or 4"));
    b_.require(b_.rank(a_.k) == rank && b_.rank(a_.v) == rank, "Q, K and V differ in rank");
    b_.require((a_.past_key == kNoValue) == (a_.past_value == kNoValue), "one of past_key and past_value is absent");
    b_.require(a_.past_key == kNoValue || (b_.rank(a_.past_key) == 4 && b_.rank(a_.past_value) == 4),
               "past_key and past_value need rank 4");
    if (a_.nonpad_kv_seqlen != kNoValue) {
      b_.require(a_.past_key == kNoValue, "nonpad_kv_seqlen and past_key exclude each other");
      b_.require(b_.rank(a_.nonpad_kv_seqlen) == 1 && b_.dtype(a_.nonpad_kv_seqlen) == DType::kInt64,
                 "nonpad_kv_seqlen needs to be int64 of rank 1");
    }
    if (a_.attn_mask != kNoValue) {
      b_.require(b_.dtype(a_.attn_mask) == DType::kBool || b_.dtype(a_.attn_mask) == b_.dtype(a_.q),
                 "attn_mask is neither bool nor of the type of Q");
      b_.require(b_.rank(a_.attn_mask) >= 1 && b_.rank(a_.attn_mask) <= 4,
                 text_of("attn_mask has rank ", b_.rank(a_.attn_mask), ", expected 1 to 4"));
    }
    b_.require(a_.softcap >= 0 && std::isfinite(a_.softcap), "softcap is not a finite number of 0 or more");
    b_.require(!a_.scale || std::isfinite(*a_.scale), "scale is not finite");
    b_.require(a_.qk_matmul_output_mode >= 0 && a_.qk_matmul_output_mode <= 3,
               text_of("qk_matmul_output_mode ", a_.qk_matmul_output_mode, " is not 0, 1, 2 or 3"));
    b_.require(!a_.softmax_precision || RealTypes::contains(*a_.softmax_precision),
               "softmax_precision is no floating-point type");
  }

  // [B, length, heads D] as [B, heads, length, D].
  ValueId heads_of(ValueId x, int64_t heads, const std::string& what) {
    const int64_t width = b_.dim(x, 2);
    if (!b_.require(width < 0 || width % heads == 0, text_of(heads, " heads do not divide a width of ", width))) {
      return kNoValue;
    }
    return b_.transpose(b_.reshape(x, {0, 0, heads, width < 0 ? -1 : width / heads}, what + "_apart"), {0, 2, 1, 3},
                        what);
  }

  void take_heads_apart() {
    is_flat_ = b_.rank(a_.q) == 3;
    q_ = a_.q, k_ = a_.k, v_ = a_.v;
    q_heads_ = is_flat_ ? a_.q_num_heads : b_.dim(q_, 1);
    kv_heads_ = is_flat_ ? a_.kv_num_heads : b_.dim(k_, 1);
    if (!b_.require(q_heads_ > 0 && kv_heads_ > 0,
                    is_flat_ ? "q_num_heads and kv_num_heads are needed where Q has rank 3"
                             : "the numbers of heads must be known before the run, and not 0")) {
      return;
    }
    b_.require(q_heads_ % kv_heads_ == 0,
               text_of(q_heads_, " heads of queries are no multiple of ", kv_heads_, " heads of keys"));
    if (!is_flat_) return;
    q_ = heads_of(q_, q_heads_, "q");
    k_ = heads_of(k_, kv_heads_, "k");
    v_ = heads_of(v_, kv_heads_, "v");
  }

  ValueId with_past(ValueId past, ValueId x, const std::string& what) {
    return past == kNoValue ? x : b_.concat({past, x}, 2, what);
  }

  // The heads of queries that meet one head of keys, one below the other: [B, Hq, T, n] as [B, H, G T, n]; and back.
  ValueId grouped(ValueId x, const std::string& what) {
    if (q_heads_ == kv_heads_ || b_.failed()) return x;
    return b_.reshape(x, {0, kv_heads_, b_.times(q_heads_ / kv_heads_, b_.dim(x, 2)), 0}, what);
  }
  ValueId ungrouped(ValueId x, const std::string& what) {
    return q_heads_ == kv_heads_ ? x : b_.reshape(x, {0, q_heads_, b_.dim(q_, 2), 0}, what);
  }

  ValueId scaled_scores() {
    const int64_t size = std::max(b_.dim(q_, 3), b_.dim(k_, 3));
    b_.require(a_.scale || size > 0, "the size of a head must be known before the run, and not 0, or a scale given");
    const double scale = a_.scale ? *a_.scale : 1.0 / std::sqrt(static_cast<double>(size));
    const ValueId scores = ungrouped(b_.matmul_transposed(grouped(q_, "q_grouped"), present_key_, "scores"), "scores");
    return b_.mul(scores, b_.scalar(b_.dtype(a_.q), scale), "scaled");
  }

  ValueId zero() { return b_.scalar(b_.dtype(a_.q), 0); }
  ValueId minus_infinity() { return b_.scalar(b_.dtype(a_.q), -std::numeric_limits<double>::infinity()); }

  ValueId mask_bias() {
    if (a_.attn_mask == kNoValue) return kNoValue;
    ValueId bias = a_.attn_mask;
    if (b_.dtype(bias) == DType::kBool) bias = b_.where(bias, zero(), minus_infinity(), "mask");
    const int64_t have = b_.dim(bias, -1), need = b_.dim(present_key_, 2);
    if (!a_.pads_short_mask || have < 0 || need < 0 || have >= need) return bias;
    const std::vector<int64_t> pads = {0, need - have}, axes = {-1};
    return b_.node("Pad", {bias, kNoValue, minus_infinity()}, {{"pads", pads}, {"axes", axes}}, "mask");
  }

  // Query t sees keys 0 .. t + offset.
  ValueId causal_bias() {
    if (!a_.is_causal) return kNoValue;
    const ValueId queries = b_.extent(q_, 2, "queries");
    ValueId rows = b_.range(queries, "rows");
    if (a_.past_key != kNoValue) rows = b_.add(rows, b_.extent(a_.past_key, 2, "past"), "rows");
    rows = b_.unsqueeze(rows, {1}, "rows");
    if (a_.nonpad_kv_seqlen != kNoValue) {
      const ValueId offsets = b_.sub(a_.nonpad_kv_seqlen, queries, "offsets");
      rows = b_.add(rows, b_.unsqueeze(offsets, {1, 2, 3}, "offsets"), "rows");
    }
    const ValueId columns = b_.range(b_.extent(present_key_, 2, "keys"), "columns");
    const ValueId later = b_.node("Less", {rows, columns}, {}, "later");
    return b_.where(later, minus_infinity(), zero(), "causal");
  }

  ValueId padding_bias() {
    if (a_.nonpad_kv_seqlen == kNoValue) return kNoValue;
    const ValueId columns = b_.range(b_.extent(present_key_, 2, "keys"), "columns");
    const ValueId lengths = b_.unsqueeze(a_.nonpad_kv_seqlen, {1, 2, 3}, "lengths");
    return b_.where(b_.node("Less", {columns, lengths}, {}, "present"), zero(), minus_infinity(), "padding");
  }

  ValueId biased(ValueId scores) {
    ValueId bias = kNoValue;
    for (ValueId part : {mask_bias(), causal_bias(), padding_bias()}) {
      if (part != kNoValue) bias = bias == kNoValue ? part : b_.add(bias, part, "bias");
    }
    if (bias == kNoValue) return scores;
    const ValueId sum = b_.add(scores, bias, "biased");
    bool widened = b_.rank(sum) > b_.rank(scores);
    for (int i = 0; i < b_.rank(scores); ++i) {
      widened |= b_.dim(scores, i) >= 0 && b_.dim(sum, i) >= 0 && b_.dim(scores, i) != b_.dim(sum, i);
    }
    b_.require(!widened, text_of("a mask of shape ", Shape(b_.dims(bias)).text(), " does not broadcast to scores of ",
                                 Shape(b_.dims(scores)).text()));
    return sum;
  }

  ValueId capped(ValueId x) {
    if (a_.softcap == 0) return x;
    const ValueId cap = b_.scalar(b_.dtype(x), a_.softcap);
    return b_.mul(b_.unary("Tanh", b_.div(x, cap, "in_caps"), "tanh"), cap, "capped");
  }

  ValueId rounded_to(ValueId x, DType precision, const std::string& what) {
    if (FloatTypes::contains(precision)) return b_.cast(x, precision, what);
    return b_.cast(b_.cast(x, precision, what), DType::kFloat32, what);
  }

  ValueId softmax(const std::string& op, ValueId x) {
    if (!a_.softmax_precision || *a_.softmax_precision == b_.dtype(x)) return b_.unary(op, x, "weights");
    const ValueId y = b_.unary(op, rounded_to(x, *a_.softmax_precision, "in_precision"), "softmax");
    return b_.cast(rounded_to(y, *a_.softmax_precision, "of_precision"), b_.dtype(x), "weights");
  }

  // Softmax in which a row that is masked as a whole has weights of zero, and passes no gradient on. Such a row is of
  // zeros before the softmax, so that none of its numbers, and none of their gradients, is NaN.
  ValueId softmax_of_masked(ValueId x) {
    // A causal mask alone leaves every query its first key.
    if (a_.attn_mask == kNoValue && a_.nonpad_kv_seqlen == kNoValue) return softmax("Softmax", x);
    const ValueId none = b_.scalar(b_.dtype(x), -std::numeric_limits<double>::infinity());
    const ValueId hidden = b_.node("Equal", {b_.reduce("ReduceMax", x, {-1}, true, "largest"), none}, {}, "hidden");
    const ValueId weights = softmax("Softmax", b_.where(hidden, b_.scalar(b_.dtype(x), 0), x, "seen"));
    return b_.where(hidden, b_.scalar(b_.dtype(weights), 0), weights, "weights");
  }

  bool is_square_causal_alone() {
    const int64_t queries = b_.dim(q_, 2);
    const bool looks_at_bias =
        a_.wants_qk_matmul_output && (a_.qk_matmul_output_mode == 1 || a_.qk_matmul_output_mode == 2);
    return a_.is_causal && a_.attn_mask == kNoValue && a_.past_key == kNoValue && a_.nonpad_kv_seqlen == kNoValue &&
           a_.softcap == 0 && queries >= 0 && queries == b_.dim(present_key_, 2) && !looks_at_bias;
  }

  // Sets qk_ on the way.
  ValueId weights_of(ValueId scaled) {
    ValueId by_mode[4] = {scaled, kNoValue, kNoValue, kNoValue};
    if (is_square_causal_alone()) {
      by_mode[3] = softmax("isobit.CausalSoftmax", scaled);
    } else {
      by_mode[1] = capped(scaled);
      by_mode[2] = biased(by_mode[1]);
      by_mode[3] = softmax_of_masked(by_mode[2]);
      b_.require(
          !a_.wants_qk_matmul_output || a_.qk_matmul_output_mode != 1 || by_mode[2] == scaled,
          "qk_matmul_output_mode 1 beside a mask or softcap: versions of ONNX differ in what it is; take 0 or 2");
    }
    qk_ = b_.failed() ? kNoValue : by_mode[a_.qk_matmul_output_mode];
    return by_mode[3];
  }

  ValueId mixed(ValueId weights) {
    return ungrouped(b_.node("MatMul", {grouped(weights, "weights_grouped"), present_value_}, {}, "mixed"), "mixed");
  }

  ValueId together(ValueId y) {
    if (!is_flat_ || b_.failed()) return y;
    return b_.reshape(b_.transpose(y, {0, 2, 1, 3}, "together"), {0, 0, b_.times(q_heads_, b_.dim(y, 3))}, "heads");
  }

  Builder b_;
  const AttentionArguments& a_;
  bool is_flat_ = false;
  int64_t q_heads_ = 0, kv_heads_ = 0;
  ValueId q_ = kNoValue, k_ = kNoValue, v_ = kNoValue;
  ValueId present_key_ = kNoValue, present_value_ = kNoValue, qk_ = kNoValue;
};

class RotaryEmbedding {
 public:
  RotaryEmbedding(Graph& graph, const RotaryEmbeddingArguments& arguments)
      : b_(graph, "RotaryEmbedding", arguments.name), a_(arguments) {}

  Expected<std::vector<ValueId>> expand() {
    check();
    ValueId x = a_.x;
    if (is_flat_)
      x = b_.reshape(x, {0, 0, a_.num_heads, b_.failed() || b_.dim(x, 2) < 0 ? -1 : b_.dim(x, 2) / a_.num_heads},
                     "apart");
    const int64_t size = b_.dim(x, 3), turned = a_.rotary_embedding_dim == 0 ? size : a_.rotary_embedding_dim;
    if (!b_.require(size >= 0, "the size of a head must be known before the run")) return b_.finish({});
    if (!b_.require(turned > 0 && turned % 2 == 0 && turned <= size,
                    text_of("rotary_embedding_dim is ", turned, ", expected an even number up to ", size))) {
      return b_.finish({});
    }
    const std::vector<ValueId> parts =
        size > turned ? b_.split(x, 3, {turned, size - turned}, "part") : std::vector<ValueId>{x};
    std::vector<ValueId> together = {rotated(parts[0], turned)};
    if (size > turned) together.push_back(parts[1]);
    ValueId y = b_.concat(together, 3, "heads");
    if (is_flat_) y = b_.reshape(y, {0, 0, b_.times(a_.num_heads, size)}, "together");
    return b_.finish({y});
  }

 private:
  void check() {
    b_.require_ranks({a_.x, a_.cos_cache, a_.sin_cache, a_.position_ids});
    is_flat_ = b_.rank(a_.x) == 3;
    b_.require(b_.is_float(a_.x), text_of("X is ", name_of(b_.dtype(a_.x)), ", expected float32 or float64"));
    b_.require(is_flat_ || b_.rank(a_.x) == 4, text_of("X has rank ", b_.rank(a_.x), ", expected 3 or 4"));
    if (is_flat_) {
      b_.require(a_.num_heads > 0, "num_heads is needed where X has rank 3");
      b_.require(b_.failed() || b_.dim(a_.x, 2) < 0 || b_.dim(a_.x, 2) % a_.num_heads == 0,
                 text_of(a_.num_heads, " heads do not divide a width of ", b_.dim(a_.x, 2)));
    }
    const int caches = a_.position_ids == kNoValue ? 3 : 2;
    for (ValueId cache : {a_.cos_cache, a_.sin_cache}) {
      b_.require(b_.rank(cache) == caches, text_of("the caches have rank ", b_.rank(cache), ", expected ", caches));
    }
    b_.require(a_.position_ids == kNoValue || b_.rank(a_.position_ids) == 2, "position_ids need rank 2");
  }

  // The cache at the positions, with an axis of length 1 for the heads.
  ValueId angles(ValueId cache, int64_t half, const std::string& what) {
    b_.require(b_.dim(cache, -1) < 0 || b_.dim(cache, -1) >= half,
               text_of("the caches have ", b_.dim(cache, -1), " numbers a position, expected ", half));
    if (a_.position_ids != kNoValue) cache = b_.gather(cache, a_.position_ids, 0, what);
    return b_.unsqueeze(b_.slice(cache, 2, 0, half, 1, what), {is_flat_ ? 2 : 1}, what);
  }

  ValueId rotated(ValueId x, int64_t turned) {
    const int64_t half = turned / 2;
    const ValueId c = angles(a_.cos_cache, half, "cos"), s = angles(a_.sin_cache, half, "sin");
    std::vector<ValueId> halves;
    if (a_.interleaved) {
      halves = {b_.slice(x, 3, 0, turned, 2, "x1"), b_.slice(x, 3, 1, turned, 2, "x2")};
    } else {
      halves = b_.split(x, 3, {half, half}, "x");
    }
    const ValueId x1 = halves[0], x2 = halves[1];
    const ValueId real = b_.sub(b_.mul(c, x1, "cos_x1"), b_.mul(s, x2, "sin_x2"), "real");
    const ValueId imaginary = b_.add(b_.mul(s, x1, "sin_x1"), b_.mul(c, x2, "cos_x2"), "imaginary");
    if (!a_.interleaved) return b_.concat({real, imaginary}, 3, "rotated");
    const ValueId pairs =
        b_.concat({b_.unsqueeze(real, {4}, "real"), b_.unsqueeze(imaginary, {4}, "imaginary")}, 4, "pairs");
    return b_.reshape(pairs, {0, 0, 0, turned}, "rotated");
  }

  Builder b_;
  const RotaryEmbeddingArguments& a_;
  bool is_flat_ = false;
};

}  // namespace

Expected<std::vector<ValueId>> attention(Graph& graph, const AttentionArguments& arguments) {
  return Attention(graph, arguments).expand();
}

Expected<std::vector<ValueId>> rotary_embedding(Graph& graph, const RotaryEmbeddingArguments& arguments) {
  return RotaryEmbedding(graph, arguments).expand();
}

}  // namespace isobit::graph::expansions
