#include <gtest/gtest.h>

#include "isobit/base/whole_for_test.h"
#include "isobit/kernels/correct/bound_check_for_test.h"
#include "isobit/kernels/correct/case_for_test.h"
#include "isobit/kernels/correct/engine.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/oracle_for_test.h"
#include "isobit/kernels/correct/reference.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::correct {
namespace {

using kernels::testing::random_values;
using kernels::testing::same_bits;
using kernels::testing::Values;
using testing::all_products;
using testing::Case;
using testing::hard_cases;
using testing::HardCases;
using testing::mpfr_matmul;
using testing::NamedProduct;
using testing::random_case;

// Every product, instruction set and number of threads against `expected`, and every bound against MPFR.
template <class Args>
void expect_everywhere(const std::vector<float>& expected, const Args& args, const std::string& what) {
  std::vector<float> unused;
  testing::BoundCheck bounds(args(unused));
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    const std::vector<NamedProduct> products = all_products(&pool);
    for (Isa isa : available_isas()) {
      for (const NamedProduct& p : products) {
        std::vector<float> c;
        const Status status =
            matmul({.kernel = {isa, &pool}, .product = p.product.get(), .instruments = {.bounds = &bounds}}, args(c));
        ASSERT_TRUE(status) << what << ", " << p.name << ": " << status.error().message;
        ASSERT_TRUE(same_bits(expected, c))
            << what << ", " << p.name << ", instruction set " << name_of(isa) << "/" << threads;
      }
    }
  }
  EXPECT_LE(bounds.largest(), 1.0) << what;
  std::printf("%s: error at most %.3g of the bound, %lld outputs\n", what.c_str(), bounds.largest(),
              static_cast<long long>(bounds.seen()));
}

TEST(CorrectMatmul, IsMpfrsRoundingOnHardCasesForEveryProduct) {
  const struct {
    int64_t m, k;
    int spread;
  } kSets[] = {{2500, 6, 20}, {2000, 10, 40}, {1000, 24, 60}, {150, 301, 30}, {60, 1500, 40}};
  uint64_t seed = 1;
  for (const auto& s : kSets) {
    const HardCases h = hard_cases(s.m, s.k, s.spread, seed++);
    std::vector<float> unused;
    expect_everywhere(
        mpfr_matmul(h.args(unused)), [&](std::vector<float>& c) { return h.args(c); }, "k " + std::to_string(s.k));
  }
}

TEST(CorrectMatmul, IsMpfrsRoundingOfRandomAndSpecialValues) {
  uint64_t seed = 0;
  for (const Values values : {Values::kUnit, Values::kWide, Values::kSpecial}) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                  {3, 5, 2},
                                  {17, 33, 7},
                                  {9, 300, 40},
                                  {5, 7, 1100},
                                  {31, 2, 513},
                                  {4, 6, 1025},
                                  {0, 3, 2},
                                  {3, 0, 2},
                                  {3, 4, 0}}) {
      for (int flavour = 0; flavour < 8; ++flavour) {
        const Case x = random_case(m, n, k, values, 8 * ++seed + static_cast<uint64_t>(flavour));
        std::vector<float> expected;
        const std::vector<float> mpfr = mpfr_matmul(x.args(expected));
        reference::matmul(x.args(expected));
        ASSERT_TRUE(same_bits(mpfr, expected)) << "reference, seed " << seed;
        ThreadPool pool(1 + flavour % 3);
        std::vector<NamedProduct> products = all_products(&pool);
        const auto isas = available_isas();
        const NamedProduct& p = products[seed % products.size()];
        const Isa isa = isas[1 + seed % (isas.size() - 1)];
        std::vector<float> c;
        testing::BoundCheck bounds(x.args(c));
        matmul({.kernel = {isa, &pool}, .product = p.product.get(), .instruments = {.bounds = &bounds}}, x.args(c));
        EXPECT_LE(bounds.largest(), 1.0) << p.name << ", " << name_of(isa) << ", seed " << seed;
        ASSERT_TRUE(same_bits(mpfr, c)) << p.name << ", " << name_of(isa) << ", seed " << seed << ", " << m << " x "
                                        << n << " x " << k;
      }
    }
  }
}

TEST(CorrectMatmul, SparseOperandsAndCancellingOnes) {
  for (uint64_t seed = 0; seed < (whole_test() ? 8 : 3); ++seed) {
    Case x = random_case(40, 50, 130, Values::kUnit, seed + 8);
    std::mt19937_64 random(seed);
    for (std::vector<float>* v : {&x.a, &x.b}) {
      for (float& e : *v) {
        if (random() % 16 != 0) e = random() % 2 ? 0.0f : -0.0f;
      }
    }
    std::vector<float> unused;
    expect_everywhere(
        mpfr_matmul(x.args(unused)), [&](std::vector<float>& c) { return x.args(c); },
        "sparse " + std::to_string(seed));
    // Small integers: sums are often exactly zero though terms are not.
    for (std::vector<float>* v : {&x.a, &x.b, &x.bias}) {
      for (float& e : *v) e = static_cast<float>(static_cast<int>(random() % 3) - 1);
    }
    expect_everywhere(
        mpfr_matmul(x.args(unused)), [&](std::vector<float>& c) { return x.args(c); },
        "integers " + std::to_string(seed));
  }
}

TEST(CorrectMatmul, ZeroAndInfinityByHand) {
  const float inf = INFINITY, max = std::numeric_limits<float>::max(), tiny = std::numeric_limits<float>::denorm_min();
  const struct {
    std::vector<float> a, b;
    float bias;
    uint32_t bits;
  } kCases[] = {
      {{0, -0.0f}, {-1, 1}, -0.0f, 0x00000000},     // exact zero
      {{1, -1}, {3, 3}, 0, 0x00000000},             // by cancellation
      {{tiny, 0}, {-tiny, 5}, 0, 0x80000000},       // underflow keeps its sign
      {{tiny, 0}, {0.5f, 5}, 0, 0x00000000},        // tie to even
      {{tiny, tiny}, {0.5f, tiny}, 0, 0x00000001},  // a trace above the tie
      {{max, max}, {1, 0x1p-25f}, 0, 0x7f7fffff},   // just below the overflow edge
      {{max, 0x1p103f}, {1, 1}, 0, 0x7f800000},     // on it: away from max, which is odd
      {{inf, 1}, {1, 1}, 0, 0x7f800000},
      {{inf, 1}, {-1, 1}, 0, 0xff800000},
      {{inf, 1}, {0, 1}, 0, 0x7fc00000},
      {{0, 1}, {-inf, 1}, 0, 0x7fc00000},
      {{inf, 1}, {1, 1}, -inf, 0x7fc00000},
      {{inf, inf}, {1, -1}, 0, 0x7fc00000},
      {{1, 1}, {1, 1}, -inf, 0xff800000},
      {{1, 1}, {1, 1}, NAN, 0x7fc00000},
      {{-NAN, 1}, {1, 1}, 0, 0x7fc00000},
      {{max, max}, {max, -max}, 7, 0x40e00000},
      // In float64 these are a tie, which the second of two terms breaks.
      {{5, 0x1p-40f}, {3355445, 1}, 0, 0x4b800005},
      {{5, 0x1p-40f}, {3355445, -1}, 0, 0x4b800004},
      {{5, 0x1p-40f}, {3355447, -1}, 0, 0x4b800009},
      {{5, 0}, {3355445, 1}, 0x1p-40f, 0x4b800005},
      {{5, 0}, {3355445, 1}, 0, 0x4b800004},  // and this is one
  };
  for (const auto& x : kCases) {
    const std::vector<float> expected = {numerics::f32_from_bits(x.bits)};
    const auto args = [&](std::vector<float>& c) {
      c.assign(1, NAN);
      MatmulArgs<float> p;
      p.m = p.n = 1, p.k = 2;
      p.a = x.a.data(), p.a_row_stride = 2, p.b = x.b.data(), p.b_row_stride = 1;
      p.c = c.data(), p.c_row_stride = 1, p.bias = &x.bias;
      return p;
    };
    expect_everywhere(expected, args, "case " + std::to_string(&x - kCases));
  }
}

TEST(CorrectMatmul, StridesBatchesAndTilesBeyondOne) {
  ThreadPool pool(2);
  OrderedProduct product({best_isa(), &pool});
  Workspace workspace;
  Statistics statistics;
  const CorrectContext ctx{{best_isa(), &pool}, &product, &workspace, &statistics};
  // A batch in which b is shared, a has column stride 2 and c a gap.
  const auto a = random_values<float>(3 * 8 * 20 * 2, Values::kUnit, 1),
             b = random_values<float>(20 * 9, Values::kUnit, 2);
  std::vector<float> c(3 * 8 * 12, 5.0f), expected = c;
  MatmulArgs<float> p;
  p.m = 8, p.n = 9, p.k = 20, p.batch = 3;
  p.a = a.data(), p.a_row_stride = 40, p.a_col_stride = 2, p.a_batch_stride = 320;
  p.b = b.data(), p.b_row_stride = 9;
  p.c = c.data(), p.c_row_stride = 12, p.c_batch_stride = 96;
  matmul(ctx, p);
  p.c = expected.data();
  reference::matmul(p);
  EXPECT_TRUE(same_bits(expected, c));
  EXPECT_EQ(statistics.elements, 3 * 8 * 9);
  // Several tiles both ways.
  const Case x = random_case(1100, 1030, whole_test() ? 12 : 3, Values::kUnit, 4);
  matmul(ctx, x.args(c));
  std::vector<float> slow;
  reference::matmul(x.args(slow));
  EXPECT_TRUE(same_bits(slow, c));
  // Several blocks of terms.
  const Case y = random_case(whole_test() ? 12 : 2, 1030, 9000, Values::kUnit, 5);
  matmul(ctx, y.args(c));
  reference::matmul(y.args(slow));
  EXPECT_TRUE(same_bits(slow, c));
}

TEST(CorrectMatmul, CountsZerosAndRepairs) {
  ThreadPool pool(1);
  OrderedProduct product({best_isa(), &pool});
  Statistics statistics;
  const HardCases h = hard_cases(1000, 10, 40, 3);
  std::vector<float> c;
  matmul({{best_isa(), &pool}, &product, nullptr, &statistics}, h.args(c));
  EXPECT_EQ(statistics.elements, 5000);
  EXPECT_GT(statistics.repaired, 1000);
  EXPECT_GT(statistics.exact, 100);
  EXPECT_LT(statistics.exact, statistics.repaired);
  statistics = {};
  std::vector<float> a = {1, 0, 1, 1}, b = {0, 0, 2, 3};  // row 0 meets only zeros of b
  MatmulArgs<float> p;
  c.assign(4, NAN);
  p.m = p.n = p.k = 2, p.a = a.data(), p.a_row_stride = 2, p.b = b.data(), p.b_row_stride = 2;
  p.c = c.data(), p.c_row_stride = 2;
  matmul({{best_isa(), &pool}, &product, nullptr, &statistics}, p);
  EXPECT_EQ(statistics.zeros, 2);
  EXPECT_EQ(statistics.repaired, 0);
}

// Sums that are ties, exactly, for which no bound but zero decides.
TEST(CorrectMatmul, SettlesExactSumsWithoutRepair) {
  ThreadPool pool(2);
  for (NamedProduct& p : all_products(&pool)) {
    for (const bool biased : {false, true}) {
      Case x = random_case(60, 70, 30, Values::kUnit, 8);
      std::mt19937_64 random(5);
      for (float& e : x.a) e = static_cast<float>(random() % 17) / 16;
      for (float& e : x.bias) e = static_cast<float>(static_cast<int64_t>(random() % 4096) - 2048) * 0x1p-20f;
      for (float& e : x.b)
        e = std::ldexp(static_cast<float>(static_cast<int64_t>(random() % 0x2000000) - 0x1000000), -25);
      x.biased = biased;
      Statistics statistics;
      std::vector<float> c, unused;
      matmul({{best_isa(), &pool}, p.product.get(), nullptr, &statistics}, x.args(c));
      EXPECT_TRUE(same_bits(mpfr_matmul(x.args(unused)), c)) << p.name;
      EXPECT_GT(statistics.settled, 50) << p.name;
      EXPECT_LE(statistics.repaired, 1) << p.name;
    }
  }
}

TEST(CorrectSteps, MasksAndGridsOfEveryInstructionSet) {
  for (int64_t k = 1; k < 150; ++k) {
    std::vector<float> x = random_values<float>(static_cast<size_t>(k), Values::kWide, static_cast<uint64_t>(k));
    for (size_t l = 0; l < x.size(); ++l) {
      if (!std::isfinite(x[l]) || (l + static_cast<size_t>(k)) % 3 == 0) x[l] = l % 2 ? 0.0f : -0.0f;
    }
    if (k % 5 == 0) x[0] = std::ldexp(static_cast<float>(k), -149);
    if (k % 7 == 0) x.assign(x.size(), std::ldexp(static_cast<float>(k), static_cast<int>(k) - 75));
    if (k % 50 == 0) x.assign(x.size(), 0.0f);
    std::vector<uint64_t> expected(static_cast<size_t>(k + 63) / 64);
    int grid = kNoGrid;
    for (size_t l = 0; l < x.size(); ++l) {
      if (x[l] == 0) continue;
      expected[l / 64] |= uint64_t{1} << l % 64;
      grid = std::min(grid, testing::lowest_bit(static_cast<double>(x[l])));
    }
    for (Isa isa : available_isas()) {
      std::vector<uint64_t> mask(expected.size(), 0x5555);
      table_of(isa).mask(k, x.data(), mask.data());
      EXPECT_EQ(mask, expected) << name_of(isa) << ", k " << k;
      EXPECT_EQ(table_of(isa).grid(k, x.data()), grid) << name_of(isa) << ", k " << k;
      const std::vector<double> wide(x.begin(), x.end());
      mask.assign(expected.size(), 0x5555);
      table_of(isa).mask_f64(k, wide.data(), mask.data());
      EXPECT_EQ(mask, expected) << name_of(isa) << ", k " << k;
      EXPECT_EQ(table_of(isa).grid_f64(k, wide.data()), grid) << name_of(isa) << ", k " << k;
      // As a matrix of rows of 13: bit l of word j is element (l, j).
      const int64_t rows = k / 13;
      std::vector<uint64_t> words(13, 0x5555);
      table_of(isa).column_masks(rows, 13, wide.data(), 13, words.data());
      for (int64_t j = 0; j < 13; ++j) {
        uint64_t word = 0;
        for (int64_t l = 0; l < rows; ++l)
          word |= static_cast<uint64_t>(wide[static_cast<size_t>(13 * l + j)] != 0) << l;
        EXPECT_EQ(words[static_cast<size_t>(j)], word) << name_of(isa) << ", k " << k << ", column " << j;
      }
    }
  }
}

// The hard cases would notice a bound that is too small, or a product that is worse than it may be.
TEST(CorrectMatmul, AProductBeyondTheBoundIsNoticed) {
  ThreadPool pool(1);
  testing::WorstProduct illegal(8.0);
  const HardCases h = hard_cases(2000, 20, 10, 5);
  std::vector<float> c, unused;
  const Status status = matmul({{best_isa(), &pool}, &illegal}, h.args(c));
  EXPECT_FALSE(same_bits(mpfr_matmul(h.args(unused)), c));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(status.error().message.find("platform worst is not classical"), std::string::npos)
      << status.error().message;
}

// The tests above would notice each of these mistakes.
class MutantTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(MutantTest, IsKilled) {
  ThreadPool pool(1);
  for (NamedProduct& p : all_products(&pool)) {
    int64_t wrong = 0, hard = 0;
    for (const auto& [m, k, spread] : {std::array<int64_t, 3>{2500, 6, 20}, {2000, 10, 40}}) {
      const HardCases h = hard_cases(m, k, static_cast<int>(spread), static_cast<uint64_t>(k));
      std::vector<float> c, unused;
      matmul({.kernel = {best_isa(), &pool}, .product = p.product.get(), .instruments = {.mutation = GetParam()}},
             h.args(c));
      const std::vector<float> expected = mpfr_matmul(h.args(unused));
      for (size_t i = 0; i < c.size(); ++i) wrong += numerics::bits_of(c[i]) != numerics::bits_of(expected[i]);
      hard += h.hard;
    }
    EXPECT_GT(wrong, 0) << p.name;
    std::printf("%s: %lld wrong of %lld hard\n", p.name.c_str(), static_cast<long long>(wrong),
                static_cast<long long>(hard));
  }
}
INSTANTIATE_TEST_SUITE_P(All, MutantTest,
                         ::testing::Values(Mutation::kNoBound, Mutation::kSmallBound, Mutation::kFewTermsAreExact,
                                           Mutation::kGridUnchecked, Mutation::kNoDoubledStep, Mutation::kNoExactStep));

}  // namespace
}  // namespace isobit::kernels::correct
