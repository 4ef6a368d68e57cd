// Attention and rotary embeddings against plain loops in double.
#include <algorithm>
#include <limits>

#include "isobit/graph/expansions/attention.h"
#include "isobit/runtime/expansions_for_test.h"

namespace isobit::runtime {
namespace {

using graph::expansions::attention;
using graph::expansions::AttentionArguments;
using graph::expansions::rotary_embedding;
using graph::expansions::RotaryEmbeddingArguments;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What one test asks for. Sizes: B batches, Hq and H heads, T queries, S new keys, P past ones, D and Dv numbers a
// head.
struct Example {
  int64_t B = 2, Hq = 3, H = 3, T = 4, S = 6, P = 0, D = 8, Dv = 8;
  bool flat = false, causal = false, bool_mask = false;
  Ints mask = {};    // its shape; none: no mask
  Ints nonpad = {};  // by batch
  double scale = 0;  // 0: that of D
  double softcap = 0;
  int64_t mode = 0;
  std::set<int> unknown = {};  // axes of q, k and v that the graph does not know
};

struct Operands {
  Array q, k, v, past_key, past_value, mask;  // of rank 4, but for the mask
};

Operands operands_of(Expanded& e, const Example& x) {
  Operands o{e.random({x.B, x.Hq, x.T, x.D}), e.random({x.B, x.H, x.S, x.D}),  e.random({x.B, x.H, x.S, x.Dv}),
             e.random({x.B, x.H, x.P, x.D}),  e.random({x.B, x.H, x.P, x.Dv}), Array::zeros({})};
  if (!x.mask.empty()) o.mask = x.bool_mask ? e.random_integers(x.mask, 4) : e.random(x.mask);
  return o;
}

// [B, H, T, D] as [B, T, H D].
Array flat(const Array& a) {
  Array out = Array::zeros({a.dims[0], a.dims[2], a.dims[1] * a.dims[3]});
  for (int64_t b = 0; b < a.dims[0]; ++b) {
    for (int64_t h = 0; h < a.dims[1]; ++h) {
      for (int64_t t = 0; t < a.dims[2]; ++t) {
        for (int64_t d = 0; d < a.dims[3]; ++d) out({b, t, h * a.dims[3] + d}) = a({b, h, t, d});
      }
    }
  }
  return out;
}

Array appended(const Array& past, const Array& a) {
  Array out = Array::zeros({a.dims[0], a.dims[1], past.dims[2] + a.dims[2], a.dims[3]});
  for (int64_t b = 0; b < out.dims[0]; ++b) {
    for (int64_t h = 0; h < out.dims[1]; ++h) {
      for (int64_t s = 0; s < out.dims[2]; ++s) {
        for (int64_t d = 0; d < out.dims[3]; ++d) {
          out({b, h, s, d}) = s < past.dims[2] ? past({b, h, s, d}) : a({b, h, s - past.dims[2], d});
        }
      }
    }
  }
  return out;
}

// The mask where it broadcasts from the right to [B, Hq, T, total]; -inf behind its last axis.
double mask_at(const Example& x, const Array& mask, const Ints& index) {
  if (x.mask.empty()) return 0;
  size_t at = 0;
  for (size_t i = 0; i < mask.dims.size(); ++i) {
    const int64_t place = index[4 - mask.dims.size() + i];
    if (i + 1 == mask.dims.size() && place >= mask.dims[i]) return -kInfinity;
    at = at * static_cast<size_t>(mask.dims[i]) + static_cast<size_t>(mask.dims[i] == 1 ? 0 : place);
  }
  if (x.bool_mask) return mask.values[at] != 0 ? 0 : -kInfinity;
  return mask.values[at];
}

struct Expectation {
  Array y, key, value, qk;
};

Expectation expected(const Example& x, const Operands& o) {
  const int64_t total = x.P + x.S;
  Expectation e{Array::zeros({x.B, x.Hq, x.T, x.Dv}), appended(o.past_key, o.k), appended(o.past_value, o.v),
                Array::zeros({x.B, x.Hq, x.T, total})};
  const double scale = x.scale == 0 ? 1 / std::sqrt(static_cast<double>(x.D)) : x.scale;
  for (int64_t b = 0; b < x.B; ++b) {
    const int64_t offset = x.nonpad.empty() ? x.P : x.nonpad[static_cast<size_t>(b)] - x.T;
    for (int64_t h = 0; h < x.Hq; ++h) {
      const int64_t g = h / (x.Hq / x.H);
      for (int64_t t = 0; t < x.T; ++t) {
        std::vector<double> row;
        double sum = 0, largest = -kInfinity;
        for (int64_t s = 0; s < total; ++s) {
          double score = 0;
          for (int64_t d = 0; d < x.D; ++d) score += o.q({b, h, t, d}) * e.key({b, g, s, d});
          score *= scale;
          if (x.mode == 0) e.qk({b, h, t, s}) = score;
          if (x.softcap != 0) score = std::tanh(score / x.softcap) * x.softcap;
          if (x.mode == 1) e.qk({b, h, t, s}) = score;
          score += mask_at(x, o.mask, {b, h, t, s});
          if (x.causal && s > t + offset) score = -kInfinity;
          if (!x.nonpad.empty() && s >= x.nonpad[static_cast<size_t>(b)]) score = -kInfinity;
          if (x.mode == 2) e.qk({b, h, t, s}) = score;
          row.push_back(score);
          largest = std::max(largest, score);
        }
        const bool hidden = largest == -kInfinity;
        for (double& w : row) sum += w = hidden ? 0 : std::exp(w - largest);
        if (hidden) sum = 1;
        for (int64_t s = 0; s < total; ++s) {
          const double w = row[static_cast<size_t>(s)] / sum;
          if (x.mode == 3) e.qk({b, h, t, s}) = w;
          for (int64_t d = 0; d < x.Dv; ++d) e.y({b, h, t, d}) += w * e.value({b, g, s, d});
        }
      }
    }
  }
  return e;
}

AttentionArguments arguments_of(Expanded& e, const Example& x, const Operands& o) {
  AttentionArguments a{.name = "n"};
  a.q = e.fed(x.flat ? flat(o.q) : o.q, x.unknown);
  a.k = e.fed(x.flat ? flat(o.k) : o.k, x.unknown);
  a.v = e.fed(x.flat ? flat(o.v) : o.v, x.unknown);
  if (x.P > 0) {
    a.past_key = e.fed(o.past_key);
    a.past_value = e.fed(o.past_value);
  }
  if (!x.mask.empty()) a.attn_mask = x.bool_mask ? e.fed(DType::kBool, o.mask) : e.fed(o.mask);
  if (!x.nonpad.empty()) {
    Array lengths = Array::zeros({x.B});
    std::copy(x.nonpad.begin(), x.nonpad.end(), lengths.values.begin());
    a.nonpad_kv_seqlen = e.fed(DType::kInt64, lengths);
  }
  if (x.flat) a.q_num_heads = x.Hq, a.kv_num_heads = x.H;
  a.is_causal = x.causal;
  if (x.scale != 0) a.scale = x.scale;
  a.softcap = x.softcap;
  a.qk_matmul_output_mode = x.mode;
  a.wants_qk_matmul_output = true;
  return a;
}

void check(const Example& x, DType dtype = DType::kFloat64, double tolerance = 1e-12) {
  Expanded e(dtype);
  const Operands o = operands_of(e, x);
  const AttentionArguments a = arguments_of(e, x, o);
  const auto found = e.run("Attention", attention(e.g, a));
  ASSERT_EQ(found.size(), 4U);
  const Expectation wanted = expected(x, o);
  expect_near(x.flat ? flat(wanted.y) : wanted.y, found[0], tolerance);
  expect_near(wanted.key, found[1], 0);
  expect_near(wanted.value, found[2], 0);
  expect_near(wanted.qk, found[3], tolerance);
}

TEST(Attention, OfHeadsApart) { check({}); }
TEST(Attention, OfHeadsSideBySide) { check({.Dv = 10, .flat = true}); }
TEST(Attention, InFloat32) { check({.Dv = 10, .causal = true}, DType::kFloat32, 1e-5); }

TEST(Attention, HeadsOfQueriesShareThoseOfKeys) {
  check({.Hq = 9});
  check({.Hq = 6, .H = 2, .Dv = 5, .flat = true, .causal = true});
  check({.Hq = 4, .H = 1, .P = 3, .mask = {4, 9}});
}

TEST(Attention, MasksOfEveryRankAreAdded) {
  for (const Ints& mask : {Ints{6}, Ints{4, 6}, Ints{1, 6}, Ints{3, 4, 6}, Ints{2, 1, 4, 6}, Ints{2, 3, 4, 6}}) {
    check({.mask = mask});
    check({.bool_mask = true, .mask = mask});
    check({.causal = true, .mask = mask});
  }
}

TEST(Attention, AShortMaskHidesWhatIsBehindIt) {
  check({.mask = {2, 3, 4, 4}});
  check({.bool_mask = true, .mask = {4, 5}});
}

TEST(Attention, AShortMaskIsBroadcastWhereItIsNotContinued) {
  Expanded e;
  const Example x{.mask = {4, 1}};
  const Operands o = operands_of(e, x);
  AttentionArguments a = arguments_of(e, x, o);
  a.pads_short_mask = false;
  const auto found = e.run("Attention", attention(e.g, a));
  Example without = x;
  without.mask = {};
  expect_near(expected(without, o).y, found.at(0), 1e-12);  // the same number for a whole row changes no softmax
}

TEST(Attention, IsCausalFromWhatIsPast) {
  check({.T = 6, .causal = true});
  check({.T = 4, .S = 4, .P = 5, .causal = true});
  check({.T = 2, .S = 6, .causal = true});
  check({.T = 6, .causal = true, .mode = 3});
  check({.T = 6, .causal = true, .mode = 2});
}

TEST(Attention, KeysBehindALengthAreHidden) {
  check({.Dv = 10, .mask = {2, 3, 4, 4}, .nonpad = {3, 4}});
  check({.nonpad = {6, 1}});
  check({.causal = true, .nonpad = {3, 5}});
  check({.flat = true, .causal = true, .mask = {4, 6}, .nonpad = {6, 4}, .mode = 3});
}

TEST(Attention, AQueryThatSeesNoKeyGivesZeros) {
  for (int64_t mode : {2, 3}) {
    check({.nonpad = {0, 4}, .mode = mode});
    check({.S = 1, .bool_mask = true, .mask = {2, 3, 4, 1}, .softcap = 2, .mode = mode});
    check({.causal = true, .nonpad = {1, 5}, .mode = mode});  // the first queries stand before every key
  }
}

TEST(Attention, ScoresAreScaledAndCapped) {
  check({.scale = 0.01});
  check({.softcap = 2});
  check({.flat = true, .mask = {4, 6}, .softcap = 0.5});
  check({.bool_mask = true, .mask = {2, 3, 4, 6}, .softcap = 2});
  check({.T = 6, .causal = true, .softcap = 0.5});
}

TEST(Attention, GivesOutEveryStageOfTheScores) {
  check({.mode = 1});
  for (int64_t mode : {0, 2, 3}) {
    check({.P = 5, .mask = {4, 11}, .softcap = 3, .mode = mode});
    check({.P = 5, .flat = true, .causal = true, .mode = mode});
  }
}

TEST(Attention, BatchesAndLengthsNeedNotBeKnown) {
  check({.unknown = {0}});
  check({.Hq = 6, .causal = true, .unknown = {0, 2}});
  check({.P = 3, .causal = true, .unknown = {2}});
  check({.flat = true, .mask = {4, 6}, .unknown = {0, 1}});
}

TEST(Attention, PrecisionOfTheSoftmax) {
  for (DType precision : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    Expanded e;
    const Example x{.mode = 3};
    const Operands o = operands_of(e, x);
    AttentionArguments a = arguments_of(e, x, o);
    a.softmax_precision = precision;
    const auto found = e.run("Attention", attention(e.g, a));
    const double u = precision == DType::kFloat64 ? 1e-14 : precision == DType::kFloat32 ? 1e-6 : 2e-2;
    expect_near(expected(x, o).qk, found.at(3), u);
    if (precision == DType::kFloat16) {
      for (double w : found.at(3).values) EXPECT_EQ(w * 0x1p24, std::floor(w * 0x1p24)) << "is no float16";
    }
  }
}

void refuse(const std::string& words, const std::function<void(Expanded&, AttentionArguments&)>& change,
            const Example& x = {}) {
  Expanded e;
  const Operands o = operands_of(e, x);
  AttentionArguments a = arguments_of(e, x, o);
  change(e, a);
  Expanded::refused(attention(e.g, a), "Attention", words);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  using A = AttentionArguments;
  refuse("expected float32 or float64", [](Expanded& e, A& a) { a.q = e.fed(DType::kInt64, e.random({2, 3, 4, 8})); });
  refuse("differ in type", [](Expanded& e, A& a) { a.k = e.fed(DType::kFloat32, e.random({2, 3, 6, 8})); });
  refuse("Q has rank 2", [](Expanded& e, A& a) { a.q = e.fed(e.random({2, 3})); });
  refuse("differ in rank", [](Expanded& e, A& a) { a.v = e.fed(e.random({2, 6, 8})); });
  refuse("must be known before the run",
         [](Expanded& e, A& a) { a.q = e.g.add_input("q", DType::kFloat64, graph::kUnknownRank); });
  refuse("past_key and past_value is absent", [](Expanded& e, A& a) { a.past_key = e.fed(e.random({2, 3, 1, 8})); });
  refuse("need rank 4", [](Expanded& e, A& a) { a.past_key = a.past_value = e.fed(e.random({2, 3, 8})); });
  refuse("exclude each other", [](Expanded& e, A& a) { a.nonpad_kv_seqlen = e.fed(DType::kInt64, e.random({2})); },
         {.P = 2});
  refuse("int64 of rank 1", [](Expanded& e, A& a) { a.nonpad_kv_seqlen = e.fed(e.random({2})); });
  refuse("neither bool nor", [](Expanded& e, A& a) { a.attn_mask = e.fed(DType::kInt64, e.random({4, 6})); });
  refuse("attn_mask has rank 5", [](Expanded& e, A& a) { a.attn_mask = e.fed(e.random({1, 1, 1, 4, 6})); });
  refuse("does not broadcast to scores",
         [](Expanded& e, A& a) {
           a.attn_mask = e.fed(e.random({5, 1, 1, 1}));
         },
         {.B = 1});
  refuse("softcap", [](Expanded&, A& a) { a.softcap = -1; });
  refuse("scale is not finite", [](Expanded&, A& a) { a.scale = kInfinity; });
  refuse("qk_matmul_output_mode 4", [](Expanded&, A& a) { a.qk_matmul_output_mode = 4; });
  refuse("qk_matmul_output_mode 1 beside", [](Expanded&, A&) {}, {.mask = {4, 6}, .mode = 1});
  refuse("qk_matmul_output_mode 1 beside", [](Expanded&, A&) {}, {.softcap = 2, .mode = 1});
  refuse("no floating-point type", [](Expanded&, A& a) { a.softmax_precision = DType::kInt32; });
  refuse("are needed where Q has rank 3", [](Expanded&, A& a) { a.kv_num_heads = 0; }, {.flat = true});
  refuse("5 heads do not divide a width of 24", [](Expanded&, A& a) { a.q_num_heads = a.kv_num_heads = 5; },
         {.flat = true});
  refuse("3 heads of queries are no multiple of 2", [](Expanded&, A& a) { a.kv_num_heads = 2; }, {.flat = true});
  refuse("numbers of heads must be known", [](Expanded&, A&) {}, {.unknown = {1}});
  refuse("size of a head must be known", [](Expanded&, A&) {}, {.unknown = {3}});
}

struct Turning {
  Ints dims;  // [B, H, T, D]
  bool flat = false, interleaved = false, by_position = true;
  int64_t turned = 0;
};

void check_turning(const Turning& x) {
  Expanded e;
  const int64_t B = x.dims[0], H = x.dims[1], T = x.dims[2], D = x.dims[3];
  const int64_t r = x.turned == 0 ? D : x.turned, half = r / 2;
  const Array in = e.random(x.dims), positions = e.random_integers({B, T}, 9);
  const Ints cache_dims = x.by_position ? Ints{9, half} : Ints{B, T, half};
  const Array c = e.random(cache_dims), s = e.random(cache_dims);
  Array out = in;
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t h = 0; h < H; ++h) {
      for (int64_t t = 0; t < T; ++t) {
        for (int64_t i = 0; i < half; ++i) {
          const auto at = [&](const Array& cache) {
            return x.by_position ? cache({static_cast<int64_t>(positions({b, t})), i}) : cache({b, t, i});
          };
          const int64_t first = x.interleaved ? 2 * i : i, second = x.interleaved ? 2 * i + 1 : i + half;
          const double x1 = in({b, h, t, first}), x2 = in({b, h, t, second});
          out({b, h, t, first}) = at(c) * x1 - at(s) * x2;
          out({b, h, t, second}) = at(s) * x1 + at(c) * x2;
        }
      }
    }
  }
  RotaryEmbeddingArguments a{.name = "n", .x = e.fed(x.flat ? flat(in) : in), .interleaved = x.interleaved};
  a.cos_cache = e.fed(c);
  a.sin_cache = e.fed(s);
  if (x.by_position) a.position_ids = e.fed(DType::kInt64, positions);
  if (x.flat) a.num_heads = H;
  a.rotary_embedding_dim = x.turned;
  const auto found = e.run("RotaryEmbedding", rotary_embedding(e.g, a));
  ASSERT_EQ(found.size(), 1U);
  expect_near(x.flat ? flat(out) : out, found[0], 1e-14);
}

TEST(RotaryEmbedding, TurnsPairs) {
  for (bool interleaved : {false, true}) {
    for (bool flat : {false, true}) {
      for (bool by_position : {false, true}) {
        for (int64_t turned : {0, 2, 4, 8}) {
          check_turning({{2, 4, 3, 8}, flat, interleaved, by_position, turned});
        }
      }
    }
  }
}

TEST(RotaryEmbedding, RefusesWhatDoesNotFit) {
  const auto refuse = [](const std::string& words, const std::function<void(Expanded&, RotaryEmbeddingArguments&)>& f) {
    Expanded e;
    RotaryEmbeddingArguments a{.name = "n", .x = e.fed(e.random({2, 4, 3, 8}))};
    a.cos_cache = a.sin_cache = e.fed(e.random({9, 4}));
    a.position_ids = e.fed(DType::kInt64, e.random_integers({2, 3}, 9));
    f(e, a);
    Expanded::refused(rotary_embedding(e.g, a), "RotaryEmbedding", words);
  };
  using A = RotaryEmbeddingArguments;
  refuse("expected float32 or float64", [](Expanded& e, A& a) { a.x = e.fed(DType::kInt64, e.random({2, 4, 3, 8})); });
  refuse("X has rank 2", [](Expanded& e, A& a) { a.x = e.fed(e.random({2, 4})); });
  refuse("num_heads is needed", [](Expanded& e, A& a) { a.x = e.fed(e.random({2, 3, 32})); });
  refuse("5 heads do not divide a width of 32", [](Expanded& e, A& a) {
    a.x = e.fed(e.random({2, 3, 32}));
    a.num_heads = 5;
  });
  refuse("the caches have rank 2, expected 3", [](Expanded&, A& a) { a.position_ids = kNoValue; });
  refuse("position_ids need rank 2", [](Expanded& e, A& a) { a.position_ids = e.fed(DType::kInt64, e.random({2})); });
  refuse("expected an even number up to 8", [](Expanded&, A& a) { a.rotary_embedding_dim = 3; });
  refuse("expected an even number up to 8", [](Expanded&, A& a) { a.rotary_embedding_dim = 10; });
  refuse("the caches have 1 numbers a position", [](Expanded& e, A& a) { a.sin_cache = e.fed(e.random({9, 1})); });
  refuse("size of a head must be known", [](Expanded& e, A& a) { a.x = e.fed(e.random({2, 4, 3, 8}), {3}); });
}

}  // namespace
}  // namespace isobit::runtime
