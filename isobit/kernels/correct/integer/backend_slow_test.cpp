// A hundred million outputs of many kinds by residues on every unit, each against the same output over a float64
// product, bit by bit, and near-ties against MPFR.
#include <gtest/gtest.h>

#include "isobit/kernels/correct/bound_check_for_test.h"
#include "isobit/kernels/correct/integer/backend_for_test.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/operands_for_test.h"
#include "isobit/kernels/correct/oracle_for_test.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::correct {
namespace {

using testing::Kind;
using testing::kKinds;
using testing::kNames;

void expect_a_hundred_million(const testing::NamedUnit& unit) {
  ThreadPool pool(2);
  std::vector<Statistics> totals(kKinds);
  OrderedProduct product({best_isa(), &pool});
  int64_t elements = 0, taken = 0, products = 0;
  for (uint64_t seed = 1; elements < 100'000'000; ++seed) {
    // Mostly short sums; now and then one of a thousand terms and more, and of several blocks.
    const int64_t k =
        seed % 31 == 0 ? 700 + static_cast<int64_t>(seed * 37 % 3000) : 8 + static_cast<int64_t>(seed * 13 % 89);
    const int64_t m = k > 100 ? 250 : 900 + static_cast<int64_t>(seed * 7 % 300),
                  n = 1000 + static_cast<int64_t>(seed % 50);
    const auto kind = static_cast<Kind>(seed % kKinds);
    const testing::Case x = testing::case_of(kind, m, n, k, seed);
    std::vector<float> c, expected;
    ASSERT_TRUE(matmul({.kernel = {best_isa(), &pool}, .product = &product}, x.args(expected)));
    // One in four as it chooses itself, the others at 10, 11 and 12 moduli.
    const int moduli = seed / kKinds % 4 == 0 ? 0 : 9 + static_cast<int>(seed / kKinds % 4);
    integer::Backend backend(unit.unit, {.moduli = moduli});
    Watch watch(1000);
    const Status status = matmul({.kernel = {unit.isa, &pool},
                                  .product = &product,
                                  .statistics = &totals[seed % kKinds],
                                  .watch = &watch,
                                  .integer = &backend},
                                 x.args(c));
    ASSERT_TRUE(status) << unit.name << ", seed " << seed << ": " << status.error().message;
    ASSERT_TRUE(kernels::testing::same_bits(expected, c))
        << unit.name << ", " << kNames[seed % kKinds] << ", seed " << seed;
    elements += backend.products() * m * n;
    taken += backend.products();
    ++products;
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    const Statistics& s = totals[static_cast<size_t>(kind)];
    const auto count = static_cast<double>(s.elements);
    std::printf("%-11s %9lld outputs, repaired %.1e, of these by residues %.1e, by the exact accumulator %.1e\n",
                kNames[kind], static_cast<long long>(s.elements), static_cast<double>(s.repaired) / count,
                static_cast<double>(s.combined) / count, static_cast<double>(s.exact) / count);
  }
  std::printf("%s: %lld outputs in %lld products of %lld by residues, none different\n", unit.name.c_str(),
              static_cast<long long>(elements), static_cast<long long>(taken), static_cast<long long>(products));
  EXPECT_GT(taken, products / 2);
}

TEST(IntegerBackendSlow, AHundredMillionOutputsOfEveryUnitAgainstAFloat64Product) {
  for (const testing::NamedUnit& unit : testing::all_units()) expect_a_hundred_million(unit);
}

TEST(IntegerBackendSlow, HardCasesAgainstMpfr) {
  ThreadPool pool(2);
  const std::vector<testing::NamedUnit> units = testing::all_units();
  OrderedProduct product({best_isa(), &pool});
  int64_t hard = 0;
  testing::Largest largest;
  for (uint64_t seed = 500; hard < 300'000; ++seed) {
    const int64_t k = 6 + static_cast<int64_t>(seed % 13);
    const testing::HardCases h = testing::hard_cases(10000, k, static_cast<int>(10 + seed * 7 % 60), seed);
    std::vector<float> c, unused;
    const testing::NamedUnit& t = units[seed % units.size()];
    integer::Backend backend(t.unit, {.moduli = 10 + static_cast<int>(seed / units.size() % 3)});
    testing::BoundCheck bounds(h.args(unused));
    ASSERT_TRUE(
        matmul({.kernel = {t.isa, &pool}, .product = &product, .instruments = {.bounds = &bounds}, .integer = &backend},
               h.args(c)));
    ASSERT_EQ(backend.products(), 1);
    ASSERT_LE(bounds.largest(), 1.0) << t.name << ", seed " << seed;
    largest.see(bounds.largest());
    ASSERT_TRUE(kernels::testing::same_bits(testing::mpfr_matmul(h.args(unused)), c)) << t.name << ", seed " << seed;
    hard += h.hard;
  }
  std::printf("%lld hard cases, error at most %.3f of the bound\n", static_cast<long long>(hard), largest.value());
}

}  // namespace
}  // namespace isobit::kernels::correct
