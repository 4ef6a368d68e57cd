// Gradients through expansions, which are those of their primitives, against central finite differences in float64.
#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/expansions/attention.h"
#include "isobit/graph/expansions/einsum.h"
#include "isobit/graph/expansions/loss.h"
#include "isobit/graph/expansions/recurrent.h"
#include "isobit/graph/expansions/spectrum.h"
#include "isobit/runtime/expansions_for_test.h"

namespace isobit::runtime {
namespace {

using namespace graph::expansions;  // NOLINT: gradients of all of it

// The sum of all real outputs, each element times a number of its own, by every real operand.
class GradientCheck {
 public:
  Expanded e;

  ValueId real(const Ints& dims) {
    reals_.push_back(e.fed(e.random(dims)));
    return reals_.back();
  }

  void check(const Expected<Values>& outputs, double tolerance = 1e-6) {
    ASSERT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
    ValueId loss = kNoValue;
    for (ValueId output : *outputs) {
      if (output == kNoValue || e.g.value(output).dtype != DType::kFloat64) continue;
      const ValueId weights = e.known(DType::kFloat64, e.random(e.g.value(output).dims));
      const ValueId weighed = e.g.emit("Mul", {output, weights}, {}, "weighed");
      const ValueId sum = e.g.emit("ReduceSum", {weighed}, {{"keepdims", int64_t{0}}}, "sum");
      loss = loss == kNoValue ? sum : e.g.emit("Add", {loss, sum}, {}, "loss");
    }
    const auto gradients = graph::append_gradients(e.g, loss, reals_);
    ASSERT_TRUE(gradients) << (gradients ? "" : gradients.error().message);
    e.g.add_output(loss);
    for (ValueId gradient : *gradients) {
      ASSERT_NE(gradient, kNoValue);
      e.g.add_output(gradient);
    }
    const std::vector<Tensor> analytic = run(e.feeds());
    for (size_t i = 0; i < reals_.size(); ++i) compare(reals_[i], analytic[i + 1], tolerance);
  }

 private:
  std::vector<Tensor> run(const Executor::Feeds& feeds) {
    ThreadPool pool(1);
    auto found = Executor(e.g).run({kernels::best_isa(), &pool}, feeds);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found ? *std::move(found) : std::vector<Tensor>(reals_.size() + 1, Tensor::scalar(0.0));
  }

  double loss_with(ValueId input, int64_t element, double delta) {
    Executor::Feeds feeds = e.feeds();
    for (auto& [id, tensor] : feeds) {
      if (id != input) continue;
      tensor = tensor.clone();
      tensor.data<double>()[element] += delta;
    }
    return run(feeds)[0].data<double>()[0];
  }

  void compare(ValueId input, const Tensor& analytic, double tolerance) {
    constexpr double kStep = 1e-5;
    const int64_t n = analytic.elements(), stride = std::max<int64_t>(1, n / 12);
    for (int64_t i = 0; i < n; i += stride) {
      const double slope = (loss_with(input, i, kStep) - loss_with(input, i, -kStep)) / (2 * kStep);
      EXPECT_NEAR(analytic.data<double>()[i], slope, tolerance * (1 + std::abs(slope)))
          << e.g.value(input).name << " " << i;
    }
  }

  Values reals_;
};

LstmArguments operands_of(GradientCheck& c, int64_t gates, const std::string& direction) {
  const int64_t T = 3, B = 2, I = 2, H = 3, D = direction == "bidirectional" ? 2 : 1;
  LstmArguments a;
  a.name = "n";
  a.x = c.real({T, B, I});
  a.w = c.real({D, gates * H, I});
  a.r = c.real({D, gates * H, H});
  a.b = c.real({D, 2 * gates * H});
  a.initial_h = c.real({D, B, H});
  a.direction = direction;
  return a;
}

TEST(ExpansionGradients, OfRecurrentOperators) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    GradientCheck plain, cell, memory;
    plain.check(rnn(plain.e.g, operands_of(plain, 1, direction)));
    GruArguments gru_arguments;
    static_cast<RecurrentArguments&>(gru_arguments) = operands_of(cell, 3, direction);
    cell.check(gru(cell.e.g, gru_arguments));
    LstmArguments lstm_arguments = operands_of(memory, 4, direction);
    const int64_t D = std::string(direction) == "bidirectional" ? 2 : 1;
    lstm_arguments.initial_c = memory.real({D, 2, 3});
    lstm_arguments.p = memory.real({D, 9});
    memory.check(lstm(memory.e.g, lstm_arguments));
  }
}

TEST(ExpansionGradients, OfRecurrentOperatorsWithLengthsAndVariants) {
  for (bool lengths : {false, true}) {
    GradientCheck c;
    GruArguments a;
    static_cast<RecurrentArguments&>(a) = operands_of(c, 3, "bidirectional");
    a.linear_before_reset = true;
    a.layout = 0;
    if (lengths) a.sequence_lens = c.e.fed(DType::kInt64, {{2}, {1, 3}});
    c.check(gru(c.e.g, a));
  }
}

TEST(ExpansionGradients, OfAttention) {
  for (bool causal : {false, true}) {
    GradientCheck c;
    AttentionArguments a{.name = "n", .is_causal = causal, .softcap = causal ? 0 : 2.0};
    a.q = c.real({2, 4, 3, 2});
    a.k = c.real({2, 2, 3, 2});
    a.v = c.real({2, 2, 3, 2});
    if (!causal) a.attn_mask = c.real({3, 3});
    c.check(attention(c.e.g, a));
  }
  GradientCheck c;
  AttentionArguments a{.name = "n", .q_num_heads = 2, .kv_num_heads = 2, .is_causal = true};
  a.q = c.real({1, 3, 4});
  a.k = c.real({1, 2, 4});
  a.v = c.real({1, 2, 4});
  a.past_key = c.real({1, 2, 2, 2});
  a.past_value = c.real({1, 2, 2, 2});
  c.check(attention(c.e.g, a));
}

// The second query sees no key: nothing flows through it, and no NaN.
TEST(ExpansionGradients, OfAttentionWithAQueryThatSeesNothing) {
  GradientCheck c;
  AttentionArguments a{.name = "n", .softcap = 2.0};
  a.q = c.real({2, 2, 2, 3});
  a.k = c.real({2, 2, 3, 3});
  a.v = c.real({2, 2, 3, 2});
  a.attn_mask = c.e.fed(DType::kBool, {{2, 3}, {1, 0, 1, 0, 0, 0}});
  c.check(attention(c.e.g, a));
}

TEST(ExpansionGradients, OfRotaryEmbeddings) {
  for (bool interleaved : {false, true}) {
    GradientCheck c;
    RotaryEmbeddingArguments a{.name = "n", .interleaved = interleaved, .rotary_embedding_dim = 4};
    a.x = c.real({1, 2, 3, 6});
    a.cos_cache = c.real({1, 3, 2});
    a.sin_cache = c.real({1, 3, 2});
    c.check(rotary_embedding(c.e.g, a));
  }
}

TEST(ExpansionGradients, OfEinsum) {
  const auto check = [](const std::string& equation, const std::vector<Ints>& dims) {
    SCOPED_TRACE(equation);
    GradientCheck c;
    Values operands;
    for (const Ints& d : dims) operands.push_back(c.real(d));
    c.check(einsum(c.e.g, {"n", equation, operands}));
  };
  check("bhqd,bhkd->bhqk", {{2, 2, 3, 2}, {2, 2, 2, 2}});
  check("ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 2}});
  check("...ii->...i", {{2, 3, 3}});
  check("ij,kj->", {{2, 3}, {2, 3}});
}

TEST(ExpansionGradients, OfLosses) {
  for (const char* reduction : {"none", "sum", "mean"}) {
    for (bool weighed : {false, true}) {
      for (bool log_prob : {false, true}) {
        GradientCheck c;
        LossArguments a{.name = "n", .reduction = reduction, .wants_log_prob = log_prob};
        a.scores = c.real({3, 4, 2});
        a.target = c.e.fed(DType::kInt64, {{3, 2}, {0, 3, 1, 1, 2, 0}});
        if (weighed) {
          a.weights = c.real({4});
          a.ignore_index = 1;
        }
        c.check(softmax_cross_entropy_loss(c.e.g, a));
      }
    }
  }
}

TEST(ExpansionGradients, OfSpectra) {
  GradientCheck c;
  c.check(dft(c.e.g, {.name = "n", .x = c.real({2, 5, 2}), .dft_length = 4}));
  GradientCheck d;
  StftArguments a{.name = "n", .frame_step = 2};
  a.signal = d.real({2, 9});
  a.window = d.real({4});
  d.check(stft(d.e.g, a));
}

}  // namespace
}  // namespace isobit::runtime
