// Over a million constructed near-ties against MPFR.
#include <gtest/gtest.h>

#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/oracle_for_test.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::correct {
namespace {

TEST(CorrectMatmulSlow, AMillionHardCases) {
  ThreadPool pool(2);
  std::vector<testing::NamedProduct> products = testing::all_products(&pool);
  int64_t hard = 0;
  uint64_t seed = 100;
  while (hard < 1'100'000) {
    const int64_t k = 6 + static_cast<int64_t>(seed % 13);
    const testing::HardCases h = testing::hard_cases(10000, k, static_cast<int>(10 + seed * 7 % 60), seed);
    std::vector<float> c, unused;
    const testing::NamedProduct& p = products[seed % products.size()];
    matmul({{best_isa(), &pool}, p.product.get()}, h.args(c));
    ASSERT_TRUE(kernels::testing::same_bits(testing::mpfr_matmul(h.args(unused)), c)) << p.name << ", seed " << seed;
    hard += h.hard;
    ++seed;
  }
  std::printf("%lld hard cases\n", static_cast<long long>(hard));
}

}  // namespace
}  // namespace isobit::kernels::correct
