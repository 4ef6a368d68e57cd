// `correct-1` by residues: MPFR's roundings, under a bound that holds, whatever the operands.
#include "isobit/kernels/correct/integer/backend.h"

#include <gtest/gtest.h>

#include "isobit/base/whole_for_test.h"
#include "isobit/kernels/correct/bound_check_for_test.h"
#include "isobit/kernels/correct/case_for_test.h"
#include "isobit/kernels/correct/conv.h"
#include "isobit/kernels/correct/inner_products.h"
#include "isobit/kernels/correct/integer/backend_for_test.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/oracle_for_test.h"
#include "isobit/kernels/correct/reference.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::correct {
namespace {

using integer::Backend;
using integer::kFewestModuli;
using integer::kMostModuli;
using kernels::testing::random_values;
using kernels::testing::same_bits;
using kernels::testing::Values;
using testing::all_units;
using testing::Case;
using testing::hard_cases;
using testing::HardCases;
using testing::mpfr_matmul;
using testing::NamedUnit;
using testing::random_case;

// A context whose float64 product must not be asked.
class NoProduct final : public MatrixProduct {
 public:
  std::string name() const override { return "none"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>&) override { ADD_FAILURE() << "the float64 product was asked"; }
};

struct Outcome {
  std::vector<float> c;
  Statistics statistics;
  double share_of_bound = 0;
};

template <class Args>
Outcome compute(const NamedUnit& t, int threads, int moduli, const Args& args, Mutation mutation = Mutation::kNone) {
  ThreadPool pool(threads);
  NoProduct none;
  Backend backend(t.unit, {.moduli = moduli});
  Outcome outcome;
  testing::BoundCheck bounds(args(outcome.c));
  Watch all(1);
  const Status status = matmul({.kernel = {t.isa, &pool},
                                .product = &none,
                                .statistics = &outcome.statistics,
                                .instruments = {.mutation = mutation, .bounds = &bounds},
                                .watch = &all,
                                .integer = &backend},
                               args(outcome.c));
  EXPECT_TRUE(status) << t.name << ": " << status.error().message;
  outcome.share_of_bound = bounds.largest();
  return outcome;
}

// Every tile product, instruction set and number of moduli against `expected`; the largest share of the bound.
template <class Args>
double expect_everywhere(const std::vector<float>& expected, const Args& args, const std::string& what) {
  double share = 0;
  int threads = 1;
  for (const NamedUnit& t : all_units()) {
    for (int moduli = kFewestModuli; moduli <= kMostModuli; ++moduli) {
      const Outcome o = compute(t, threads, moduli, args);
      threads = 4 - threads;
      EXPECT_TRUE(same_bits(expected, o.c)) << what << ", " << t.name << ", " << moduli << " moduli";
      EXPECT_LE(o.share_of_bound, 1.0) << what << ", " << t.name << ", " << moduli << " moduli";
      share = std::max(share, o.share_of_bound);
    }
  }
  return share;
}

TEST(IntegerBackend, IsMpfrsRoundingOnHardCases) {
  const struct {
    int64_t m, k;
    int spread;
  } kSets[] = {{1200, 6, 20}, {800, 10, 40}, {500, 24, 60}, {100, 301, 30}, {40, 2100, 40}};
  uint64_t seed = 1;
  for (const auto& s : kSets) {
    const HardCases h = hard_cases(s.m, s.k, s.spread, seed++);
    std::vector<float> unused;
    const double share = expect_everywhere(
        mpfr_matmul(h.args(unused)), [&](std::vector<float>& c) { return h.args(c); }, "k " + std::to_string(s.k));
    std::printf("k %lld: error at most %.3g of the bound\n", static_cast<long long>(s.k), share);
  }
}

TEST(IntegerBackend, IsMpfrsRoundingOfRandomAndSpecialValues) {
  uint64_t seed = 0;
  const std::vector<NamedUnit> units = all_units();
  for (const Values values : {Values::kUnit, Values::kWide, Values::kSpecial}) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                  {3, 5, 2},
                                  {17, 33, 7},
                                  {9, 300, 40},
                                  {65, 31, 64},
                                  {5, 7, 2049},
                                  {4, 6, 4200}}) {
      for (uint64_t flavour = 0; flavour < 8; ++flavour) {
        const Case x = random_case(m, n, k, values, 8 * ++seed + flavour);
        std::vector<float> unused;
        const auto args = [&](std::vector<float>& c) { return x.args(c); };
        const Outcome o = compute(units[seed % units.size()], 1 + static_cast<int>(flavour % 3),
                                  kFewestModuli + static_cast<int>(flavour / 2 % 3), args);
        ASSERT_TRUE(same_bits(mpfr_matmul(x.args(unused)), o.c))
            << "seed " << seed << ", " << m << " x " << n << " x " << k;
        ASSERT_LE(o.share_of_bound, 1.0) << "seed " << seed;
      }
    }
  }
}

// Zeros by rows, by columns, by disjoint places; exact zeros by cancellation; lines of subnormal numbers and of the
// largest; lines of which rounding to integers takes nearly all.
TEST(IntegerBackend, ZerosSubnormalsAndHugelyRangedLines) {
  Case x = random_case(60, 45, 200, Values::kUnit, 8);
  std::mt19937_64 random(4);
  const auto row = [&](int64_t i) { return x.a.data() + i * x.k; };
  for (int64_t l = 0; l < x.k; ++l) {
    const auto exponent = [&](int range) { return static_cast<int>(random() % static_cast<uint64_t>(range)); };
    row(0)[l] = 0;
    row(1)[l] = -0.0f;
    row(2)[l] = std::ldexp(row(2)[l], -140);
    row(3)[l] = std::ldexp(row(3)[l], 125);
    row(4)[l] = std::ldexp(row(4)[l], exponent(250) - 125);
    row(5)[l] = std::ldexp(row(5)[l], exponent(70) - 35);
    row(6)[l] = l % 2 ? 0.0f : row(6)[l];
    row(7)[l] = l < 100 ? row(7)[l] : -row(7)[l - 100];
    row(8)[l] = l == 7 ? INFINITY : row(8)[l];
    row(9)[l] = l == 9 ? NAN : row(9)[l];
    row(10)[l] = l % 40 == 0 ? std::ldexp(row(10)[l], -60) : row(10)[l];
    float* b = x.b.data() + l * x.n;
    b[0] = l % 2 ? b[0] : 0.0f;                                             // meets row 6 nowhere
    b[1] = l < 100 ? b[1] : x.b[static_cast<size_t>((l - 100) * x.n + 1)];  // cancels row 7
    b[2] = std::ldexp(b[2], exponent(250) - 125);
    b[3] = std::ldexp(b[3], -149);
    b[4] = 0;
    b[5] = l % 50 == 0 ? std::ldexp(b[5], -50) : b[5];
    b[6] = l == 3 ? -INFINITY : b[6];
  }
  for (int64_t i = 20; i < 60; ++i) {
    for (int64_t l = 0; l < x.k; ++l) row(i)[l] = random() % 8 == 0 ? row(i)[l] : 0.0f;
  }
  for (const bool biased : {false, true}) {
    x.biased = biased;
    for (float& v : x.bias) v = random() % 3 == 0 ? -0.0f : v;
    std::vector<float> unused;
    expect_everywhere(
        mpfr_matmul(x.args(unused)), [&](std::vector<float>& c) { return x.args(c); }, biased ? "biased" : "plain");
  }
}

// Sums that are ties exactly: pixels, small integers.
TEST(IntegerBackend, ExactSumsAreSettledByTheirResidues) {
  Case x = random_case(70, 60, 30, Values::kUnit, 8);
  std::mt19937_64 random(5);
  for (float& e : x.a) e = static_cast<float>(random() % 17) / 16;
  for (float& e : x.b) e = std::ldexp(static_cast<float>(static_cast<int64_t>(random() % 0x2000000) - 0x1000000), -25);
  std::vector<float> unused;
  const auto args = [&](std::vector<float>& c) { return x.args(c); };
  expect_everywhere(mpfr_matmul(x.args(unused)), args, "ties");
  const Outcome o = compute(all_units().back(), 1, 10, args);
  EXPECT_GT(o.statistics.combined, 50);
  EXPECT_EQ(o.statistics.combined, o.statistics.repaired);
}

// Blocks of terms beyond what int32 would hold in one, several tiles both ways, and sides that keep what they have.
TEST(IntegerBackend, LongSumsAndManyTiles) {
  std::vector<float> c, expected;
  for (const NamedUnit& t : all_units()) {
    if (t.isa != best_isa() && !whole_test()) continue;
    const Case shapes[] = {random_case(3, 5, 140000, Values::kUnit, 9), random_case(1100, 1030, 20, Values::kUnit, 12),
                           random_case(1100, 1030, 3, Values::kUnit, 15),
                           random_case(2, 1030, 4100, Values::kUnit, 18)};
    for (const Case& x : shapes) {
      ThreadPool pool(2);
      NoProduct none;
      Backend backend(t.unit, {.moduli = 11});
      Watch watch(100);
      Statistics statistics;
      const CorrectContext ctx{
          .kernel = {t.isa, &pool}, .product = &none, .statistics = &statistics, .watch = &watch, .integer = &backend};
      ASSERT_TRUE(matmul(ctx, x.args(c)));
      reference::matmul(x.args(expected));
      EXPECT_TRUE(same_bits(expected, c)) << t.name << ", " << x.m << " x " << x.n << " x " << x.k;
      EXPECT_EQ(statistics.elements, x.m * x.n);
      EXPECT_EQ(backend.products(), 1);
    }
  }
}

struct ConvolutionCase {
  ConvShape shape;
  std::vector<float> src, weights, diff, bias;

  explicit ConvolutionCase(Values values) {
    ConvShape& s = shape;
    s.n = 3, s.ic = 6, s.ih = 11, s.iw = 9, s.oc = 8, s.kh = 3, s.kw = 2, s.groups = 2;
    s.stride_h = 2, s.pad_top = s.pad_left = 1, s.pad_bottom = 1, s.dilation_w = 2;
    const auto count = [](int64_t a, int64_t b, int64_t c, int64_t d) { return static_cast<size_t>(a * b * c * d); };
    src = random_values<float>(count(s.n, s.ic, s.ih, s.iw), values, 1);
    weights = random_values<float>(count(s.oc, s.ic / s.groups, s.kh, s.kw), values, 2);
    diff = random_values<float>(count(s.n, s.oc, s.oh(), s.ow()), values, 3);
    bias = random_values<float>(static_cast<size_t>(s.oc), values, 4);
  }
};

void expect_convolutions(const ConvolutionCase& x, const std::string& what) {
  const ConvShape& s = x.shape;
  for (const NamedUnit& t : all_units()) {
    ThreadPool pool(2);
    NoProduct none;
    Backend backend(t.unit, {.moduli = 10});
    const CorrectContext ctx{.kernel = {t.isa, &pool}, .product = &none, .integer = &backend};
    std::vector<float> out(x.diff.size()), expected(x.diff.size());
    ASSERT_TRUE(conv_forward(ctx, s, x.src.data(), x.weights.data(), x.bias.data(), out.data()));
    reference::conv_forward(s, x.src.data(), x.weights.data(), x.bias.data(), expected.data());
    EXPECT_TRUE(same_bits(expected, out)) << t.name << ", " << what;
    out.assign(x.src.size(), NAN), expected.assign(x.src.size(), 0);
    ASSERT_TRUE(conv_grad_src(ctx, s, x.diff.data(), x.weights.data(), out.data()));
    reference::conv_grad_src(s, x.diff.data(), x.weights.data(), expected.data());
    EXPECT_TRUE(same_bits(expected, out)) << t.name << ", " << what;
    out.assign(x.weights.size(), NAN), expected.assign(x.weights.size(), 0);
    ASSERT_TRUE(conv_grad_weights(ctx, s, x.src.data(), x.diff.data(), out.data()));
    reference::conv_grad_weights(s, x.src.data(), x.diff.data(), expected.data());
    EXPECT_TRUE(same_bits(expected, out)) << t.name << ", " << what;
  }
}

TEST(IntegerBackend, ConvolutionsAndTheirGradients) {
  expect_convolutions(ConvolutionCase(Values::kUnit), "unit");
  expect_convolutions(ConvolutionCase(Values::kWide), "wide");
}

// The bound on a channel's norm is then far above the norms of the taps that leave out its largest elements.
TEST(IntegerBackend, ConvolutionsOfChannelsWithAHugeCorner) {
  ConvolutionCase x(Values::kUnit);
  const int64_t plane = x.shape.ih * x.shape.iw;
  for (size_t channel = 0; channel * static_cast<size_t>(plane) < x.src.size(); ++channel) {
    x.src[channel * static_cast<size_t>(plane)] = channel % 2 == 0 ? 0x1p100f : 0x1p40f;
    x.src[channel * static_cast<size_t>(plane) + static_cast<size_t>(plane) - 1] = -0x1p100f;
  }
  expect_convolutions(x, "huge corners");
}

// Counts what it is asked.
class CountingProduct final : public MatrixProduct {
 public:
  explicit CountingProduct(const KernelContext& kernel) : base_(kernel) {}
  std::string name() const override { return "counting"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    ++asked;
    ISOBIT_CHECK(base_.multiply(g));
  }
  int asked = 0;

 private:
  OrderedProduct base_;
};

TEST(IntegerBackend, LeavesSmallProductsAndWideOperandsToTheFloat64Product) {
  ThreadPool pool(2);
  const KernelContext kernel{best_isa(), &pool};
  CountingProduct product(kernel);
  Backend choosing(integer::plain_unit(best_isa())), large(integer::plain_unit(best_isa()), integer::kOnMatrixUnits);
  Case trained = random_case(390, 420, 300, Values::kUnit, 8), wide = random_case(40, 40, 100, Values::kUnit, 16);
  // Terms of one size, of factors from 2^-50 to 2^50.
  wide.transpose_a = wide.transpose_b = false;
  for (int64_t l = 0; l < wide.k; ++l) {
    const int e = static_cast<int>(l % 101) - 50;
    for (int64_t i = 0; i < wide.m; ++i) wide.a[static_cast<size_t>(i * wide.k + l)] *= std::ldexp(1.0f, e);
    for (int64_t j = 0; j < wide.n; ++j) wide.b[static_cast<size_t>(l * wide.n + j)] *= std::ldexp(1.0f, -e);
  }
  const struct {
    const Case& x;
    Backend& backend;
    bool takes;
  } kCases[] = {{trained, choosing, true}, {trained, large, true}, {wide, choosing, false}, {wide, large, false}};
  for (const auto& [x, backend, takes] : kCases) {
    product.asked = 0;
    const int64_t before = backend.products();
    std::vector<float> c, expected;
    ASSERT_TRUE(matmul({.kernel = kernel, .product = &product, .integer = &backend}, x.args(c)));
    reference::matmul(x.args(expected));
    EXPECT_TRUE(same_bits(expected, c));
    EXPECT_EQ(product.asked == 0, takes);
    EXPECT_EQ(backend.products() - before, takes ? 1 : 0);
  }
  trained.k = 255;
  std::vector<float> c;
  ASSERT_TRUE(matmul({.kernel = kernel, .product = &product, .integer = &large}, trained.args(c)));
  EXPECT_GT(product.asked, 0) << "k below the least";
}

// Tiles that get one sum of a block wrong, modulo one of the numbers, are noticed by the sample.
TEST(IntegerBackend, TheWatchStopsTilesThatAreWrong) {
  static void (*right)(const integer::Strip&, int32_t*);
  static int calls;
  right = integer::plain_unit(best_isa()).loops.multiply;
  calls = 0;
  integer::Unit wrong = integer::plain_unit(best_isa());
  wrong.name = "wrong";
  wrong.loops.multiply = [](const integer::Strip& s, int32_t* sums) {
    right(s, sums);
    if (calls++ == 4) ++sums[33];
  };
  ThreadPool pool(1);
  NoProduct none;
  Backend backend(wrong, {.moduli = 10});
  Watch all(1);
  const Case x = random_case(32, 32, 64, Values::kUnit, 8);
  std::vector<float> c;
  const Status status =
      matmul({.kernel = {best_isa(), &pool}, .product = &none, .watch = &all, .integer = &backend}, x.args(c));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(status.error().message.find("platform integer@wrong breaks its own bound: output (1, 1) of 32 x 64"),
            std::string::npos)
      << status.error().message;
}

// The hard cases would notice each of these mistakes.
class IntegerMutantTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(IntegerMutantTest, IsKilled) {
  const NamedUnit tiles = all_units().back();
  for (const int moduli : {10, 11}) {
    int64_t wrong = 0;
    double share = 0;
    for (const auto& [m, k, spread] : {std::array<int64_t, 3>{1200, 6, 20}, {800, 10, 40}}) {
      const HardCases h = hard_cases(m, k, static_cast<int>(spread), static_cast<uint64_t>(k));
      std::vector<float> unused;
      const Outcome o = compute(
          tiles, 1, moduli, [&](std::vector<float>& c) { return h.args(c); }, GetParam());
      const std::vector<float> expected = mpfr_matmul(h.args(unused));
      for (size_t i = 0; i < o.c.size(); ++i) wrong += numerics::bits_of(o.c[i]) != numerics::bits_of(expected[i]);
      share = std::max(share, o.share_of_bound);
    }
    EXPECT_GT(wrong, 0) << moduli;
    std::printf("%d moduli: %lld wrong, error up to %.3g of the bound\n", moduli, static_cast<long long>(wrong), share);
  }
}
INSTANTIATE_TEST_SUITE_P(All, IntegerMutantTest,
                         ::testing::Values(Mutation::kNoBound, Mutation::kSmallBound, Mutation::kNoExactStep,
                                           Mutation::kWrongModulus, Mutation::kFewModuli));

}  // namespace
}  // namespace isobit::kernels::correct
