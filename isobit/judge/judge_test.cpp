// Elements judged alone against what the executor's kernels gave: of every case of every operator, in every type, each
// output and each statistic.
#include "isobit/judge/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "isobit/graph/autograd/autograd.h"
#include "isobit/judge/judged_for_test.h"
#include "isobit/runtime/traits_for_test.h"

namespace isobit::judge {
namespace {

using runtime::OneOperator;

// The first element, the last one and some between.
std::vector<int64_t> some_of(int64_t n) {
  std::vector<int64_t> some;
  for (int64_t e = 0; e < n; e += std::max<int64_t>(1, n / 13)) some.push_back(e);
  if (n > 0 && some.back() != n - 1) some.push_back(n - 1);
  return some;
}

// Zeros of both signs, infinities, NaN, and the least and the largest of numbers among the real operands.
void make_odd(OneOperator& one) {
  const double odd[] = {0.0, -0.0, INFINITY, NAN, -INFINITY, 1e-45, -3e38, 1e-40, 1};
  size_t next = 0;
  for (Tensor& feed : one.feeds) {
    if (!runtime::is_real(feed)) continue;
    feed = feed.clone();
    for (int64_t e = static_cast<int64_t>(next % 5); e < feed.elements(); e += 3 + static_cast<int64_t>(next % 7)) {
      runtime::set_element(feed, e, odd[next++ % std::size(odd)]);
    }
  }
}

class Judged : public runtime::Traits {
 protected:
  enum class Operands { kAsTheyAre, kOdd };

  // Every element that is looked at is judged to be what it is; what cannot be judged says why. How many were judged.
  int expect_judged(const platform::Arithmetic& arithmetic, const kernels::KernelContext& ctx, Operands operands) {
    int judged = 0;
    for (const DType dtype : types()) {
      if (arithmetic.corrects && dtype != DType::kFloat32) continue;
      OneOperator one(GetParam(), dtype);
      if (operands == Operands::kOdd) make_odd(one);
      const RanNode ran = run_watched(one.graph, one.feeds, ctx);
      auto asked = ran.question();
      if (!asked) continue;  // no shape is known before the run: no training step has it
      Question& q = *asked;
      for (size_t o = 0; o < ran.outputs.size(); ++o) {
        if (!ran.outputs[o].defined()) continue;
        q.where.output = o;
        for (const int64_t e : some_of(ran.outputs[o].elements())) judged += is_judged(ran, q, e, arithmetic, ctx);
      }
      for (size_t s = 0; s < ran.statistics.size(); ++s) {
        q.where.statistic = s;
        for (const int64_t e : some_of(ran.statistics[s].elements())) judged += is_judged(ran, q, e, arithmetic, ctx);
      }
    }
    return judged;
  }

  static int is_judged(const RanNode& ran, Question& q, int64_t e, const platform::Arithmetic& arithmetic,
                       const kernels::KernelContext& ctx) {
    q.where.element = e;
    const auto needs = needs_of(q);
    if (!needs) {
      EXPECT_NE(needs.error().message.find("cannot be judged alone: "), std::string::npos) << needs.error().message;
      return 0;
    }
    const auto found = evaluate(ctx, q, ran.values(*needs), arithmetic);
    const Tensor& expected = q.where.statistic ? ran.statistics[*q.where.statistic] : ran.outputs[q.where.output];
    EXPECT_TRUE(found) << found.error().message;
    if (found) {
      EXPECT_EQ(*found, bits_of(expected, e))
          << name_of(expected.dtype()) << (q.where.statistic ? " statistic " : " output ")
          << q.where.statistic.value_or(q.where.output) << " element " << e << " of " << needs->size() << " needs";
    }
    return 1;
  }
};

INSTANTIATE_TEST_SUITE_P(Operators, Judged, ::testing::ValuesIn(runtime::operator_cases()), runtime::name_of_case);

TEST_P(Judged, AsTheOrderedKernelsGiveIt) {
  const platform::Arithmetic& ordered = platform::arithmetic_of("ordered-1");
  const kernels::KernelContext ctx{kernels::best_isa(), &pool_};
  RecordProperty("elements", expect_judged(ordered, ctx, Operands::kAsTheyAre));
  RecordProperty("elements of odd numbers", expect_judged(ordered, ctx, Operands::kOdd));
}

TEST_P(Judged, AsCorrectProductsAre) {
  if (!graph::find_op(GetParam().op)->is_inner_product()) return;
  CorrectProducts correct(&pool_);
  const platform::Arithmetic& arithmetic = platform::arithmetic_of("correct-1");
  EXPECT_GT(expect_judged(arithmetic, correct.context(), Operands::kAsTheyAre), 0);
  EXPECT_GT(expect_judged(arithmetic, correct.context(), Operands::kOdd), 0);
}

// What no element of is judged alone, and why; by operator. Everything else is judged in every output and statistic.
TEST(JudgedOfAll, WhatIsRefusedSaysWhy) {
  const std::string of_nothing = "it follows from shapes and attributes, and needs no operand";
  const std::string sampled = "where it comes from follows from real numbers, and is not said";
  const std::string inner = "it is made by nodes of its own";
  const std::string integers = "its terms are products of integers less their zero points";
  const std::string open = "its shapes are not known before the run";
  const std::map<std::string, std::string> expected = {
      {"ConstantOfShape", of_nothing},
      {"EyeLike", of_nothing},
      {"Shape", of_nothing},
      {"Size", of_nothing},
      {"Compress", open},
      {"NonMaxSuppression", open},
      {"NonZero", open},
      {"Range", open},
      {"Unique", open},
      {"ConvInteger", integers},
      {"MatMulInteger", integers},
      {"QLinearConv", integers},
      {"QLinearMatMul", integers},
      {"If", inner},
      {"Loop", inner},
      {"Scan", inner},
      {"Det", "it is made by elimination"},
      {"isobit.TreeEnsemble", "which leaves it is made of follows from a walk down every tree"},
      {"GridSample", sampled},
      {"isobit.GridSampleGradSrc", sampled},
      {"isobit.GridSampleGradGrid", sampled},
      {"isobit.DeformIm2Col", sampled},
      {"isobit.DeformIm2ColGradSrc", sampled},
      {"isobit.DeformIm2ColGradOffset", sampled},
      {"MaxRoiPool", sampled},
      {"isobit.MaxRoiPoolGrad", sampled},
      {"RoiAlign", sampled},
      {"isobit.RoiAlignGrad", sampled},
      {"Resize", sampled},
      {"isobit.ResizeGrad", sampled},
  };
  std::map<std::string, std::string> refused;
  ThreadPool pool(1);
  for (const runtime::OperatorCase& c : runtime::operator_cases()) {
    const OneOperator one(c, DType::kFloat32);
    const RanNode ran = run_watched(one.graph, one.feeds, {kernels::best_isa(), &pool});
    auto asked = ran.question();
    if (!asked) {
      EXPECT_NE(asked.error().message.find(open), std::string::npos) << asked.error().message;
      refused[c.op] = open;
      continue;
    }
    for (size_t o = 0; o < ran.outputs.size(); ++o) {
      asked->where.output = o;
      if (!ran.outputs[o].defined() || ran.outputs[o].elements() == 0) continue;
      const auto needs = needs_of(*asked);
      if (needs) continue;
      const std::string& why = needs.error().message;
      refused[c.op] = why.substr(why.find("alone: ") + 7);
    }
  }
  for (const auto& [op, why] : refused) {
    const auto found = expected.find(op);
    EXPECT_TRUE(found != expected.end() && found->second == why) << op << ": " << why;
  }
  for (const auto& [op, why] : expected) EXPECT_TRUE(refused.contains(op)) << op << " is judged";
}

// Operators of the step of any network: those that have a gradient, and those that gradients are made of. What of them
// is not judged.
TEST(JudgedOfAll, WhatTrainingStepsAreMadeOf) {
  std::set<std::string> refused;
  for (const runtime::OperatorCase& c : runtime::operator_cases()) {
    if (graph::find_gradient(c.op) == nullptr) continue;
    const OneOperator one(c, DType::kFloat32);
    graph::Graph step = alone(one.graph, one.feeds);
    std::vector<graph::Seed> seeds;
    const std::vector<graph::ValueId> outputs = step.nodes()[0].outputs;
    for (const graph::ValueId id : outputs) {
      const graph::Value value = step.value(id);
      if (value.dtype != DType::kFloat32 || !value.is_static()) continue;
      seeds.push_back({id, step.add_input("diff", value.dtype, value.dims)});
    }
    std::vector<graph::ValueId> targets;
    for (const graph::ValueId id : step.nodes()[0].inputs) {
      if (id != graph::kNoValue && step.value(id).dtype == DType::kFloat32) targets.push_back(id);
    }
    if (!graph::append_gradients(step, seeds, targets)) continue;  // none in this use of it
    for (const graph::Node& node : step.nodes()) {
      auto asked = ask_about(step, node, {});
      if (!asked) continue;
      for (size_t o = 0; o < node.outputs.size(); ++o) {
        asked->where.output = o;
        const bool is_there = node.outputs[o] != graph::kNoValue && asked->elements() > 0;
        if (is_there && !can_judge(*asked)) refused.insert(node.op);
      }
    }
  }
  EXPECT_EQ(refused,
            (std::set<std::string>{"Det", "GridSample", "If", "MaxRoiPool", "Resize", "RoiAlign", "Scan",
                                   "isobit.DeformIm2Col", "isobit.DeformIm2ColGradOffset", "isobit.DeformIm2ColGradSrc",
                                   "isobit.GridSampleGradGrid", "isobit.GridSampleGradSrc", "isobit.MaxRoiPoolGrad",
                                   "isobit.ResizeGrad", "isobit.RoiAlignGrad", "isobit.TreeEnsemble"}));
}

}  // namespace
}  // namespace isobit::judge
