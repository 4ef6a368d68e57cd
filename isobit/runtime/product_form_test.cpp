// The form that an operator says its inner products have (graph::ProductForm) is how the stages of logs find the terms
// of an element: summed, they must be what the kernel computed, of every element.
#include <gtest/gtest.h>

#include <cmath>

#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/traits_for_test.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::ProductBlock;

class ProductForm : public Traits {};

INSTANTIATE_TEST_SUITE_P(Operators, ProductForm, ::testing::ValuesIn(operator_cases()), name_of_case);

TEST_P(ProductForm, TheTermsOfEveryElementAddUpToIt) {
  if (!graph::find_op(GetParam().op)->is_inner_product()) return;
  const OneOperator one(GetParam(), DType::kFloat64);
  std::vector<Tensor> outputs = run(one);
  KernelCall call{{kernels::best_isa(), &pool_}, one.node(), {}, outputs};
  for (const Tensor& t : one.feeds) call.inputs.push_back(&t);
  std::vector<bool> met(static_cast<size_t>(outputs[0].elements()), false);
  for (const ProductBlock& block : product_blocks(call)) {
    EXPECT_EQ(block.k, terms_of(one.graph, one.node()));
    for (int64_t i = 0; i < block.m; ++i) {
      for (int64_t j = 0; j < block.n; ++j) {
        double sum = block.bias(i, j), magnitude = std::fabs(sum);
        for (int64_t l = 0; l < block.k; ++l) {
          const double term = block.left.element(i, l) * block.right.element(j, l);
          sum += term;
          magnitude += std::fabs(term);
        }
        EXPECT_NEAR(block.out[block.at(i, j)], sum, 1e-14 * magnitude) << i << " " << j;
        met[static_cast<size_t>(block.offset + block.at(i, j))] = true;
      }
    }
  }
  for (size_t e = 0; e < met.size(); ++e) EXPECT_TRUE(met[e]) << "no terms for element " << e;
}

}  // namespace
}  // namespace isobit::runtime
