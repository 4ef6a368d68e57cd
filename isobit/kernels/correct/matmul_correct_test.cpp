#include <gtest/gtest.h>

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
using testing::hard_cases;
using testing::HardCases;
using testing::mpfr_matmul;
using testing::NamedProduct;

struct Case {
  int64_t m, n, k;
  bool transpose_a, transpose_b, biased;
  std::vector<float> a, b, bias;

  MatmulArgs<float> args(std::vector<float>& c) const {
    c.assign(static_cast<size_t>(m * n), NAN);
    MatmulArgs<float> p;
    p.m = m, p.n = n, p.k = k;
    p.a = a.data(), p.a_row_stride = transpose_a ? 1 : k, p.a_col_stride = transpose_a ? m : 1;
    p.b = b.data(), p.b_row_stride = transpose_b ? 1 : n, p.b_col_stride = transpose_b ? k : 1;
    p.c = c.data(), p.c_row_stride = n;
    p.bias = biased ? bias.data() : nullptr;
    return p;
  }
};

Case random_case(int64_t m, int64_t n, int64_t k, Values values, uint64_t seed) {
  Case x{m, n, k, (seed & 1) != 0, (seed & 2) != 0, (seed & 4) != 0, {}, {}, {}};
  x.a = random_values<float>(static_cast<size_t>(m * k), values, seed * 3);
  x.b = random_values<float>(static_cast<size_t>(k * n), values, seed * 3 + 1);
  x.bias = random_values<float>(static_cast<size_t>(n), values, seed * 3 + 2);
  return x;
}

// Every product, engine instruction set and number of threads against `expected`.
template <class Args>
void expect_everywhere(const std::vector<float>& expected, const Args& args, const std::string& what) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    const std::vector<NamedProduct> products = all_products(&pool);
    for (Isa isa : available_isas()) {
      for (const NamedProduct& p : products) {
        std::vector<float> c;
        matmul({{isa, &pool}, p.product.get()}, args(c));
        ASSERT_TRUE(same_bits(expected, c)) << what << ", " << p.name << ", engine " << name_of(isa) << "/" << threads;
      }
    }
  }
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
        matmul({{isa, &pool}, p.product.get()}, x.args(c));
        ASSERT_TRUE(same_bits(mpfr, c)) << p.name << ", " << name_of(isa) << ", seed " << seed << ", " << m << " x "
                                        << n << " x " << k;
      }
    }
  }
}

TEST(CorrectMatmul, SparseOperandsAndCancellingOnes) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
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
  Scratch scratch;
  Statistics statistics;
  const CorrectContext ctx{{best_isa(), &pool}, &product, &scratch, &statistics};
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
  const Case x = random_case(1100, 1030, 12, Values::kUnit, 4);
  matmul(ctx, x.args(c));
  std::vector<float> slow;
  reference::matmul(x.args(slow));
  EXPECT_TRUE(same_bits(slow, c));
  // Several blocks of terms.
  const Case y = random_case(12, 1030, 9000, Values::kUnit, 5);
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

// The hard cases would notice a bound that is too small, or a product that is worse than it may be.
TEST(CorrectMatmul, AProductBeyondTheBoundIsNoticed) {
  ThreadPool pool(1);
  testing::WorstProduct illegal(8.0);
  const HardCases h = hard_cases(2000, 20, 10, 5);
  std::vector<float> c, unused;
  matmul({{best_isa(), &pool}, &illegal}, h.args(c));
  EXPECT_FALSE(same_bits(mpfr_matmul(h.args(unused)), c));
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
      matmul({{best_isa(), &pool}, p.product.get()}, h.args(c), GetParam());
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
                         ::testing::Values(Mutation::kNoBound, Mutation::kSmallBound, Mutation::kNoDoubledStep,
                                           Mutation::kNoExactStep));

}  // namespace
}  // namespace isobit::kernels::correct
