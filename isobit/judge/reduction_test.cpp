// Elements of many terms chunk by chunk, against what the executor's kernels gave.
#include "isobit/judge/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "isobit/judge/judged_for_test.h"
#include "isobit/kernels/dispatch/dispatch.h"

namespace isobit::judge {
namespace {

using Dims = std::vector<int64_t>;

Tensor random_tensor(DType dtype, const Dims& dims, std::mt19937_64& random) {
  Tensor t(dtype, Shape(dims));
  for (int64_t e = 0; e < t.elements(); ++e) {
    // Of many magnitudes, so that every order of additions rounds otherwise.
    const double x = std::ldexp(static_cast<double>(random() % 20001) - 10000, -static_cast<int>(random() % 24));
    if (dtype == DType::kFloat32) t.data<float>()[e] = static_cast<float>(x);
    if (dtype == DType::kFloat64) t.data<double>()[e] = x * (1 + 0x1p-30);
  }
  return t;
}

struct LongCase {
  std::string op;
  std::vector<Dims> inputs;
  graph::Attributes attributes = {};
  std::vector<int64_t> indices = {};  // in place of input 0
};

class Reductions : public ::testing::Test {
 protected:
  RanNode run(const LongCase& c, DType dtype, const kernels::KernelContext& ctx) {
    std::mt19937_64 random(5);
    graph::Graph graph;
    std::vector<Tensor> operands;
    std::vector<graph::ValueId> ids;
    for (const Dims& dims : c.inputs) {
      const bool is_index = ids.empty() && !c.indices.empty();
      operands.push_back(is_index ? Tensor::of<int64_t>(Shape(dims), c.indices) : random_tensor(dtype, dims, random));
      ids.push_back(graph.add_input("input", operands.back().dtype(), dims));
    }
    const auto outputs = static_cast<size_t>(graph::find_op(c.op)->max_outputs);
    for (const graph::ValueId id : graph.emit_all(c.op, ids, c.attributes, std::vector<std::string>(outputs, "y"))) {
      graph.add_output(id);
    }
    return run_watched(graph, operands, ctx);
  }

  // Chunk by chunk to the element's bits, each state from that of before alone.
  void expect_chunks(const RanNode& ran, const Question& q, const Tensor& expected,
                     const platform::Arithmetic& arithmetic, int64_t least_chunks) {
    const auto reduction = Reduction::of(q, arithmetic);
    ASSERT_TRUE(reduction) << reduction.error().message;
    const Reduction& r = **reduction;
    EXPECT_GE(r.chunks(), least_chunks);
    const std::vector<Bits> once = ran.values(r.once());
    State state = r.begin(once);
    size_t needs = r.once().size();
    for (int64_t c = 0; c < r.chunks(); ++c) {
      EXPECT_LE(r.chunk_begin(c + 1) - r.chunk_begin(c), Reduction::kMostTerms);
      const std::vector<Bits> values = ran.values(r.needs(c));
      needs += values.size();
      auto behind = r.partial(once, c, values, state);
      ASSERT_TRUE(behind) << behind.error().message;
      EXPECT_NE(*behind, state);
      EXPECT_FALSE(r.partial(once, c, std::span(values).first(values.size() - 1), state)) << "a value too few";
      if (c > 0) {
        EXPECT_FALSE(r.partial(once, c, values, r.begin(once))) << "the state of another chunk";
        EXPECT_FALSE(r.finish(once, state)) << "before the end";
      }
      State longer = state;
      longer.push_back(0);
      EXPECT_FALSE(r.partial(once, c, values, longer));
      state = std::move(*behind);
    }
    const auto bits = r.finish(once, state);
    ASSERT_TRUE(bits);
    EXPECT_EQ(*bits, bits_of(expected, q.where.element));
    const auto whole = needs_of(q);
    ASSERT_TRUE(whole);
    EXPECT_EQ(needs, whole->size());
    const auto at_once = evaluate({kernels::Isa::kReference, &pool_}, q, ran.values(*whole), arithmetic);
    ASSERT_TRUE(at_once);
    EXPECT_EQ(*at_once, *bits);
  }

  // The first and the last element of output o, or of a statistic.
  void expect_of(const LongCase& c, size_t output, std::optional<size_t> statistic, int64_t least_chunks) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      for (const char* name : {"ordered-1", "correct-1"}) {
        const platform::Arithmetic& arithmetic = platform::arithmetic_of(name);
        if (arithmetic.corrects && dtype == DType::kFloat64) continue;
        SCOPED_TRACE(c.op + " " + name + " " + name_of(dtype));
        CorrectProducts correct(&pool_);
        const RanNode ran = run(
            c, dtype, arithmetic.corrects ? correct.context() : kernels::KernelContext{kernels::best_isa(), &pool_});
        Question q = ran.question().value();
        q.where.output = output;
        q.where.statistic = statistic;
        const Tensor& expected = statistic ? ran.statistics[*statistic] : ran.outputs[output];
        for (const int64_t e : {int64_t{0}, expected.elements() - 1}) {
          q.where.element = e;
          ran.expect_named(q);
          expect_chunks(ran, q, expected, arithmetic, least_chunks);
        }
      }
    }
  }

  ThreadPool pool_{2};
};

TEST_F(Reductions, OfMatrixProducts) {
  for (const int64_t k : {1, 255, 1024, 1025, 5000, 131072}) {
    expect_of({"Gemm", {{2, k}, {k, 2}, {2}}}, 0, {}, (k + 1023) / 1024);
    expect_of({"MatMul", {{2, 2, k}, {k, 1}}}, 0, {}, (k + 1023) / 1024);
  }
}

TEST_F(Reductions, OfConvolutions) {
  // Of 3 x 3 taps with padding, a short last block of channels; of more taps than a chunk has terms; in groups.
  expect_of({"Conv", {{1, 150, 4, 4}, {2, 150, 3, 3}, {2}}, {{"pads", Dims{1, 1, 1, 1}}}}, 0, {}, 2);
  expect_of({"Conv", {{1, 20, 12, 12}, {1, 20, 12, 12}}, {{"pads", Dims{2, 0, 0, 2}}}}, 0, {}, 3);
  expect_of({"Conv", {{1, 256, 3, 3}, {2, 128, 3, 3}}, {{"group", int64_t{2}}}}, 0, {}, 2);
  expect_of({"isobit.ConvGradSrc",
             {{1, 300, 3, 2}, {300, 2, 3, 3}},
             {{"src_shape", Dims{1, 2, 6, 5}}, {"strides", Dims{2, 2}}, {"pads", Dims{1, 0, 1, 0}}}},
            0, {}, 2);
  expect_of({"isobit.ConvGradWeights",
             {{9, 2, 40, 30}, {9, 1, 40, 30}},
             {{"weights_shape", Dims{1, 2, 3, 3}}, {"pads", Dims{1, 1, 1, 1}}}},
            0, {}, 9);
  expect_of({"isobit.ConvGradWeights", {{600, 1, 3, 3}, {600, 1, 3, 3}}, {{"weights_shape", Dims{1, 1, 1, 1}}}}, 0, {},
            5);
}

TEST_F(Reductions, OfSums) {
  for (const int64_t n : {1, 1000, 1024, 131072}) {
    const int64_t chunks = (n + 1023) / 1024;
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}) {
      expect_of({op, {{2, n}}, {{"axes", Dims{1}}}}, 0, {}, chunks);
    }
    expect_of({"ReduceL2", {{2, n}}, {{"axes", Dims{1}}}}, 0, 0, chunks);
    expect_of({"Softmax", {{2, n}}}, 0, 0, chunks);
    expect_of({"Softmax", {{2, n}}}, 0, 1, chunks);
    expect_of({"LayerNormalization", {{2, n}, {n}}}, 0, 0, chunks);
    expect_of({"LayerNormalization", {{2, n}, {n}}}, 0, 1, chunks);
    expect_of({"isobit.BatchStatistics", {{2, 2, n}}}, 1, {}, 2 * n / 1024);
  }
  expect_of({"isobit.GlobalNorm", {{3000}, {40, 50}, {7}}}, 0, 0, 5);
  expect_of({"isobit.LayerNormGrad", {{3000, 3}, {3000}, {3000}, {3}, {3000, 3}}}, 1, {}, 3);
  expect_of({"isobit.SumTo", {{50, 60, 2}}, {{"shape", Dims{1, 2}}}}, 0, {}, 3);
  for (const bool backward : {false, true}) {
    expect_of({"CumSum", {{5000}}, {{"axis", int64_t{0}}, {"reverse", int64_t{backward}}}}, 0, {}, 1);
  }
}

// Among the terms of these is a zero that stands before them.
TEST_F(Reductions, OfWhatIsGivenBack) {
  std::vector<int64_t> indices(3000);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = i % 3 == 0 ? 1 : 0;
  expect_of({"isobit.GatherGrad", {{3000}, {3000, 2}}, {{"src_shape", Dims{2, 2}}, {"axis", int64_t{0}}}, indices}, 0,
            {}, 1);
  expect_of({"isobit.EmbeddingGrad", {{3000}, {3000, 2}}, {{"table_shape", Dims{2, 2}}}, indices}, 0, {}, 1);
}

// Points that all lie beyond a border; channels of one point, each with all that its place is made of.
TEST_F(Reductions, OfWhatIsSampled) {
  const graph::Attributes border = {{"padding_mode", std::string("border")}};
  graph::Attributes grad_src = border;
  grad_src.set("src_shape", Dims{1, 1, 1, 2});
  expect_of({"isobit.GridSampleGradSrc", {{1, 1, 3000, 1}, {1, 3000, 1, 2}}, grad_src}, 0, {}, 1);
  expect_of({"isobit.GridSampleGradGrid", {{1, 3000, 1, 1}, {1, 3000, 2, 2}, {1, 1, 1, 2}}, border}, 0, {}, 3);
}

}  // namespace
}  // namespace isobit::judge
