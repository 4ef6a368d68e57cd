// Which operand a kernel may write its output over is a claim like the traits: here every operator runs over its
// operands and with memory of its own for every value, and gives the same bits.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/naive_executor_for_test.h"
#include "isobit/runtime/operator_cases_for_test.h"
#include "isobit/runtime/plan.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {
namespace {

class InPlace : public ::testing::TestWithParam<OperatorCase> {};

INSTANTIATE_TEST_SUITE_P(Operators, InPlace, ::testing::ValuesIn(operator_cases()), name_of_case);

TEST_P(InPlace, AnOutputOverAnOperandHasTheSameBits) {
  std::vector<DType> types = {DType::kFloat32};
  if (graph::find_op(GetParam().op)->any_real_type) types.push_back(DType::kFloat64);
  for (DType dtype : types) {
    const OneOperator one(GetParam(), dtype);
    if (!is_static(one.graph)) continue;  // it is not planned
    Executor::Feeds feeds;
    for (size_t i = 0; i < one.feeds.size(); ++i) feeds.emplace_back(one.graph.inputs()[i], one.feeds[i]);
    for (kernels::Isa isa : kernels::available_isas()) {
      for (int threads : {1, 3}) {
        ThreadPool pool(threads);
        const kernels::KernelContext ctx{isa, &pool};
        const auto apart = testing::run_naively(one.graph, ctx, feeds).value();
        const std::vector<Tensor> over = one.run(ctx);
        for (size_t o = 0; o < over.size(); ++o) {
          EXPECT_TRUE(identical(over[o], apart.at(one.graph.outputs()[o])))
              << name_of(isa) << " " << threads << " output " << o;
        }
      }
    }
  }
}

// A rule that applies to no example would be checked by none.
TEST(InPlaceOfAll, EveryRuleIsUsed) {
  using Rule = std::tuple<std::string, int, int>;  // operator, output, input
  std::set<Rule> said, used;
  for (const auto& [op, kernel] : kernel_table()) {
    for (const auto& [output, input] : kernel.in_place) said.insert({op, output, input});
  }
  for (const OperatorCase& c : operator_cases()) {
    const OneOperator one(c, DType::kFloat32);
    if (!is_static(one.graph)) continue;
    const Plan plan = make_plan(one.graph, kernel_table()).value();
    if (plan.steps[0].kernel->is_view) continue;
    const std::vector<int>& over = plan.steps[0].over;
    for (size_t o = 0; o < over.size(); ++o) {
      if (over[o] >= 0) used.insert({c.op, static_cast<int>(o), over[o]});
    }
  }
  EXPECT_EQ(said, used);
  EXPECT_GT(used.size(), 30U);
}

}  // namespace
}  // namespace isobit::runtime
