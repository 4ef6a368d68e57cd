// Over a million constructed near-ties against MPFR.
#include <gtest/gtest.h>

#include "isobit/kernels/correct/bound_check_for_test.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/oracle_for_test.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::correct {
namespace {

TEST(CorrectMatmulSlow, AMillionHardCases) {
  ThreadPool pool(2);
  std::vector<testing::NamedProduct> products = testing::all_products(&pool);
  int64_t hard = 0;
  testing::Largest largest;
  uint64_t seed = 100;
  while (hard < 1'100'000) {
    const int64_t k = 6 + static_cast<int64_t>(seed % 13);
    const testing::HardCases h = testing::hard_cases(10000, k, static_cast<int>(10 + seed * 7 % 60), seed);
    std::vector<float> c, unused;
    const testing::NamedProduct& p = products[seed % products.size()];
    testing::BoundCheck bounds(h.args(unused));
    matmul({.kernel = {best_isa(), &pool}, .product = p.product.get(), .instruments = {.bounds = &bounds}}, h.args(c));
    ASSERT_LE(bounds.largest(), 1.0) << p.name << ", seed " << seed;
    largest.see(bounds.largest());
    ASSERT_TRUE(kernels::testing::same_bits(testing::mpfr_matmul(h.args(unused)), c)) << p.name << ", seed " << seed;
    hard += h.hard;
    ++seed;
  }
  std::printf("%lld hard cases, error at most %.3f of the bound\n", static_cast<long long>(hard), largest.value());
}

}  // namespace
}  // namespace isobit::kernels::correct
