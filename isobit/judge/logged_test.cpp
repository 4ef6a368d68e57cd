// Elements of arithmetics that round: the exact value, from the elements alone, is the one that an auditor judges by,
// and what stages gave out is ruled on as they would.
#include "isobit/judge/logged.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "isobit/judge/judged_for_test.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/runtime/traits_for_test.h"

namespace isobit::judge {
namespace {

using kernels::rounding::ExactOutput;
using runtime::Standing;

// What the rule asks of every output of a product, as an auditor has it from the whole operands.
class Auditor : public Watcher {
 public:
  explicit Auditor(int bits) : Watcher(0), bits_(bits) {}
  Status before_stage(const runtime::NodeRun& run) override {
    const auto blocks = runtime::product_blocks(run);
    std::vector<kernels::rounding::NearTie> places;
    for (int64_t e = 0; e < run.outputs[0].elements(); ++e) {
      places.push_back(kernels::rounding::locate(blocks, static_cast<uint64_t>(e)));
    }
    exact = kernels::rounding::evaluate_outputs(run.ctx, blocks, places, bits_);
    for (const ExactOutput& o : exact) {
      adds_exactly.push_back(kernels::rounding::adds_exactly(blocks[o.at.block], o.at.i, o.at.j, o.at.magnitude));
    }
    return Watcher::before_stage(run);
  }
  std::vector<ExactOutput> exact;
  std::vector<bool> adds_exactly;

 private:
  int bits_;
};

class Logged : public ::testing::TestWithParam<runtime::OperatorCase> {
 protected:
  // Float64 operands that are float32 values; many products of one size, so that sums cancel or are exact.
  static runtime::OneOperator operands(bool coarse) {
    runtime::OneOperator one(GetParam(), DType::kFloat64);
    std::mt19937_64 random(3);
    for (Tensor& feed : one.feeds) {
      if (!runtime::is_real(feed)) continue;
      feed = feed.clone();
      for (int64_t e = 0; e < feed.elements(); ++e) {
        const double x = static_cast<double>(static_cast<float>(feed.data<double>()[e]));
        const double y = static_cast<double>(random() % 7) - 3;
        feed.data<double>()[e] = coarse ? y : x;
      }
    }
    return one;
  }

  ThreadPool pool_{1};
};

std::vector<runtime::OperatorCase> products() {
  std::vector<runtime::OperatorCase> cases;
  for (const runtime::OperatorCase& c : runtime::operator_cases()) {
    if (graph::find_op(c.op)->is_inner_product()) cases.push_back(c);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Products, Logged, ::testing::ValuesIn(products()), runtime::name_of_case);

TEST_P(Logged, AnElementIsRuledOnAsTheWholeOutputIs) {
  for (const int bits : {22, 32}) {
    for (const bool coarse : {false, true}) {
      const runtime::OneOperator one = operands(coarse);
      Auditor auditor(bits);
      const RanNode ran = run_watched(one.graph, one.feeds, {kernels::best_isa(), &pool_}, auditor);
      Question q = ran.question().value();
      for (q.where.element = 0; q.where.element < q.elements(); ++q.where.element) {
        SCOPED_TRACE(q.where.element);
        const auto e = static_cast<size_t>(q.where.element);
        const LoggedProduct product = LoggedProduct::of(q).value();
        std::vector<Bits> values;
        for (int64_t c = 0; c < product.chunks(); ++c) {
          const std::vector<Bits> of_chunk = ran.values(product.needs(c));
          values.insert(values.end(), of_chunk.begin(), of_chunk.end());
        }
        const std::vector<Bits> once = ran.values(product.once());
        values.insert(values.end(), once.begin(), once.end());
        const ExactElement found = exact_element(product, values, bits).value();
        const ExactOutput& expected = auditor.exact[e];
        EXPECT_EQ(word_of(found.output.z.high), word_of(expected.z.high));
        EXPECT_EQ(word_of(found.output.z.low), word_of(expected.z.low));
        EXPECT_EQ(word_of(found.output.rounded), word_of(expected.rounded));
        EXPECT_EQ(found.output.at.magnitude, expected.at.magnitude);
        EXPECT_EQ(found.adds_exactly, auditor.adds_exactly[e]);

        const runtime::ErrorBounds bounds{32, runtime::sound_divergence(product.terms())};
        const auto standing = [&](double claimed) {
          return rule_on_claim(found, word_of(claimed), bounds, bits).standing;
        };
        // What this platform's own product rounds to is legal; what is far away, or no value at all, never.
        const double own = kernels::rounding::round_to_bits(ran.outputs[0].data<double>()[e], bits) + 0.0;
        EXPECT_TRUE(rule_on_claim(found, word_of(own), bounds, bits).taken());
        EXPECT_EQ(standing(expected.rounded), Standing::kDecided);
        const double far = expected.rounded < 0 ? expected.rounded - 3 : expected.rounded + 3;
        EXPECT_TRUE(standing(far) == Standing::kIllegal || standing(far) == Standing::kForbidden) << far;
        if (own != 0) {
          EXPECT_EQ(standing(own * (1 + 0x1p-40)), Standing::kIllegal) << "no value of so few bits";
        }
        EXPECT_EQ(standing(-0.0), Standing::kIllegal);
        EXPECT_EQ(standing(NAN), Standing::kIllegal);
      }
    }
  }
}

// What the stage makes of everything else is decided.
class Rounded : public runtime::Traits {};
INSTANTIATE_TEST_SUITE_P(Operators, Rounded, ::testing::ValuesIn(runtime::operator_cases()), runtime::name_of_case);

TEST_P(Rounded, IsWhatTheStageMakesOfIt) {
  const graph::OpDef& def = *graph::find_op(GetParam().op);
  if (!def.any_real_type || def.is_inner_product() || def.runs_graphs) return;
  const runtime::OneOperator one(GetParam(), DType::kFloat64);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool_};
  Watcher watcher(0);
  runtime::RoundingStage stage(24);
  const RanNode ran = run_watched(one.graph, one.feeds, ctx, watcher, &stage);
  auto asked = ran.question();
  if (!asked) return;
  Question& q = *asked;
  for (size_t o = 0; o < ran.outputs.size(); ++o) {
    q.where.output = o;
    if (!ran.outputs[o].defined()) continue;
    for (q.where.element = 0; q.where.element < q.elements(); ++q.where.element) {
      ran.expect_named(q);
      const auto needs = needs_of(q);
      if (!needs) break;
      const auto before = evaluate(ctx, q, ran.values(*needs), platform::arithmetic_of("logged-1"));
      ASSERT_TRUE(before);
      EXPECT_EQ(rounded(q, *before, 24), bits_of(ran.outputs[o], q.where.element)) << o << " " << q.where.element;
    }
  }
}

// A long product chunk by chunk: z to the last bit, whatever the number of terms.
TEST(LoggedProducts, ChunkByChunk) {
  std::mt19937_64 random(11);
  ThreadPool pool(2);
  for (const int64_t k : {1, 7, 1024, 1025, 131072}) {
    graph::Graph graph;
    std::vector<Tensor> operands;
    std::vector<graph::ValueId> ids;
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2, k}, {k, 2}, {2}}) {
      Tensor t(DType::kFloat64, Shape(dims));
      for (double& x : t.span<double>())
        x = std::ldexp(static_cast<double>(random() % 20001) - 10000, -static_cast<int>(random() % 24));
      ids.push_back(graph.add_input("input", t.dtype(), dims));
      operands.push_back(std::move(t));
    }
    graph.add_output(graph.emit("Gemm", ids, {}, "y"));
    Auditor auditor(32);
    const RanNode ran = run_watched(graph, operands, {kernels::best_isa(), &pool}, auditor);
    Question q = ran.question().value();
    q.where.element = 3;
    const LoggedProduct product = LoggedProduct::of(q).value();
    State state = product.begin();
    for (int64_t c = 0; c < product.chunks(); ++c) {
      const std::vector<Bits> values = ran.values(product.needs(c));
      EXPECT_LE(values.size(), static_cast<size_t>(2 * Reduction::kMostTerms));
      if (c > 0) {
        EXPECT_FALSE(product.partial(c, values, product.begin()));
      }
      state = product.partial(c, values, state).value();
    }
    const ExactElement found = product.finish(ran.values(product.once()), state, 32).value();
    EXPECT_EQ(word_of(found.output.z.high), word_of(auditor.exact[3].z.high));
    EXPECT_EQ(word_of(found.output.z.low), word_of(auditor.exact[3].z.low));
    EXPECT_EQ(found.output.rounded, auditor.exact[3].rounded);
    EXPECT_EQ(found.output.at.magnitude, auditor.exact[3].at.magnitude);
    state.back() ^= 7;
    EXPECT_FALSE(product.finish(ran.values(product.once()), state, 32));
  }
}

}  // namespace
}  // namespace isobit::judge
