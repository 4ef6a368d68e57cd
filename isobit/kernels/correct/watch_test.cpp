// A float64 product that is not classical is noticed while it is used; one that is, is never stopped.
#include "isobit/kernels/correct/watch.h"

#include <gtest/gtest.h>

#include "isobit/kernels/correct/conv.h"
#include "isobit/kernels/correct/illegal_products_for_test.h"
#include "isobit/kernels/correct/inner_products.h"
#include "isobit/kernels/correct/oracle_for_test.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::correct {
namespace {

using kernels::testing::random_values;
using kernels::testing::Values;
using testing::hard_cases;
using testing::HardCases;

struct Case {
  int64_t m, n, k;
  std::vector<float> a, b, c, bias;

  Case(int64_t rows, int64_t columns, int64_t terms, Values values, uint64_t seed)
      : m(rows),
        n(columns),
        k(terms),
        a(random_values<float>(static_cast<size_t>(m * k), values, seed)),
        b(random_values<float>(static_cast<size_t>(k * n), values, seed + 1)),
        c(static_cast<size_t>(m * n)),
        bias(random_values<float>(static_cast<size_t>(n), values, seed + 2)) {}

  MatmulArgs<float> args(bool biased = false) {
    MatmulArgs<float> p;
    p.m = m, p.n = n, p.k = k;
    p.a = a.data(), p.a_row_stride = k;
    p.b = b.data(), p.b_row_stride = n;
    p.c = c.data(), p.c_row_stride = n;
    p.bias = biased ? bias.data() : nullptr;
    return p;
  }
};

// Values of one size, so that a sum is not decided by a few of its terms.
Case plain_case(int64_t m, int64_t n, int64_t k, uint64_t seed = 1) { return Case(m, n, k, Values::kUnit, seed); }

// The lower half of the rows times 2^-30.
Case graded_rows(int64_t m, int64_t n, int64_t k) {
  Case x = plain_case(m, n, k);
  for (size_t q = x.a.size() / 2; q < x.a.size(); ++q) x.a[q] *= 0x1p-30f;
  return x;
}

// Terms of one size, made of factors from 2^-40 to 2^40.
Case graded_terms(int64_t m, int64_t n, int64_t k) {
  Case x = plain_case(m, n, k);
  for (int64_t l = 0; l < k; ++l) {
    const int e = static_cast<int>(l % 81) - 40;
    for (int64_t i = 0; i < m; ++i) x.a[static_cast<size_t>(i * k + l)] *= std::ldexp(1.0f, e);
    for (int64_t j = 0; j < n; ++j) x.b[static_cast<size_t>(l * n + j)] *= std::ldexp(1.0f, -e);
  }
  return x;
}

void expect_stopped(const Status& status, const std::string& name) {
  ASSERT_FALSE(status) << name;
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(status.error().message.find("the float64 product of platform " + name + " is not classical: output ("),
            std::string::npos)
      << status.error().message;
}

TEST(Watch, StopsStrassensProductOnGradedRows) {
  ThreadPool pool(2);
  const KernelContext kernel{best_isa(), &pool};
  Case x = graded_rows(330, 340, 350);
  for (const int64_t cutoff : {20, 64, 300}) {
    testing::StrassenProduct product(kernel, cutoff);
    // By the repair alone, and with the sample.
    expect_stopped(matmul({kernel, &product}, x.args()), product.name());
    Watch watch;
    expect_stopped(matmul({.kernel = kernel, .product = &product, .watch = &watch}, x.args()), product.name());
  }
}

// Sums of three terms: of longer ones its errors are within what float64 may do.
TEST(Watch, StopsSumsInTwoFloats) {
  ThreadPool pool(1);
  const KernelContext kernel{best_isa(), &pool};
  testing::FloatFloatProduct product;
  Case x = plain_case(300, 310, 3);
  Watch watch;
  expect_stopped(matmul({.kernel = kernel, .product = &product, .watch = &watch}, x.args()), product.name());
}

// Never further from the sum than the norms of its lines allow, so that the repair has no proof; but the sample, which
// looks at the terms, sees it.
TEST(Watch, SampleStopsFixedPointThatKeepsToTheNorms) {
  ThreadPool pool(2);
  const KernelContext kernel{best_isa(), &pool};
  testing::FixedPointProduct product(kernel, 55);
  Case x = graded_terms(128, 130, 200);
  const Status unseen = matmul({kernel, &product}, x.args());
  EXPECT_TRUE(unseen) << unseen.error().message;
  Watch watch;
  expect_stopped(matmul({.kernel = kernel, .product = &product, .watch = &watch}, x.args()), product.name());
}

// What the closer look takes to be exact because of what the terms have in common.
class OffByALittle final : public MatrixProduct {
 public:
  explicit OffByALittle(const KernelContext& kernel) : base_(kernel) {}
  std::string name() const override { return "little"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    ISOBIT_CHECK(base_.multiply(g));
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) g.c[i * g.ldc + j] *= 1 + 0x1p-51;
    }
  }

 private:
  OrderedProduct base_;
};

TEST(Watch, SampleStopsErrorsInSumsThatRoundNowhere) {
  ThreadPool pool(1);
  const KernelContext kernel{best_isa(), &pool};
  OffByALittle product(kernel);
  Case integers = plain_case(100, 100, 40), single = plain_case(100, 100, 40), halves = plain_case(100, 100, 1200);
  for (Case* x : {&integers, &halves}) {
    for (float& v : x->a) v = std::round(v * 100) + 0.5f;
    for (float& v : x->b) v = std::round(v * 100);
  }
  for (size_t q = 0; q < single.a.size(); ++q) single.a[q] = q % 40 == 7 ? single.a[q] : 0;
  for (Case* x : {&integers, &single, &halves}) {
    Watch watch;
    expect_stopped(matmul({.kernel = kernel, .product = &product, .watch = &watch}, x->args()), product.name());
  }
}

TEST(Watch, NeverStopsALegalProduct) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<testing::NamedProduct> products = testing::all_products(&pool);
    for (const testing::NamedProduct& p : products) {
      const bool worst = p.name == "worst";  // rounds once more than a sum of few terms does
      for (Isa isa : available_isas()) {
        if (isa == Isa::kReference) continue;  // needs no product
        const KernelContext kernel{isa, &pool};
        std::vector<Case> cases = {plain_case(40, 30, 100), Case(20, 30, 60, Values::kWide, 5),
                                   graded_rows(20, 21, 150), graded_terms(20, 21, 150), plain_case(9, 8, 1300)};
        if (!worst) cases.push_back(Case(30, 40, 7, Values::kSpecial, 9));
        Case integers = plain_case(20, 20, 50);
        for (std::vector<float>* v : {&integers.a, &integers.b}) {
          for (float& x : *v) x = std::round(x * 4);
        }
        cases.push_back(integers);
        for (Case& x : cases) {
          for (const bool biased : {false, true}) {
            testing::WorstProduct nearly_worst(0.9);
            Watch all(1);
            Statistics statistics;
            MatrixProduct* product = worst ? &nearly_worst : p.product.get();
            const Status status = matmul(
                {.kernel = kernel, .product = product, .statistics = &statistics, .watch = &all}, x.args(biased));
            ASSERT_TRUE(status) << p.name << ", " << name_of(isa) << ": " << status.error().message;
            EXPECT_EQ(statistics.sampled, x.m * x.n);
          }
        }
        if (worst) continue;
        for (int64_t k : {6, 24, 301}) {
          const HardCases h = hard_cases(100, k, 40, 11);
          std::vector<float> c;
          Watch all(1);
          const Status status = matmul({.kernel = kernel, .product = p.product.get(), .watch = &all}, h.args(c));
          ASSERT_TRUE(status) << p.name << ", " << name_of(isa) << ", k " << k << ": " << status.error().message;
        }
      }
    }
  }
}

// Lines so long that few of them, or one, are read together.
TEST(Watch, SeesEveryOutputOfLongSums) {
  ThreadPool pool(2);
  const KernelContext kernel{best_isa(), &pool};
  OffByALittle wrong(kernel);
  OrderedProduct right(kernel);
  for (const int64_t k : {int64_t{60'000}, int64_t{300'000}}) {
    Case x = plain_case(3, 7, k);
    for (size_t q = 0; q < x.a.size(); ++q) x.a[q] = static_cast<int64_t>(q) % k == k - 1 ? x.a[q] : 0;
    Statistics statistics;
    Watch every(1);
    const Status done =
        matmul({.kernel = kernel, .product = &right, .statistics = &statistics, .watch = &every}, x.args());
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(statistics.sampled, 21);
    Watch again(1);
    expect_stopped(matmul({.kernel = kernel, .product = &wrong, .watch = &again}, x.args()), wrong.name());
  }
}

TEST(Watch, SampleSeesAResultThatIsNotTheRoundingOfItsSum) {
  ThreadPool pool(1);
  const KernelContext kernel{best_isa(), &pool};
  Case x = plain_case(2, 3, 4);
  OrderedProduct product(kernel);
  const CorrectContext ctx{kernel, &product};
  ASSERT_TRUE(matmul(ctx, x.args()));
  const Matrices p = batch_of(product::product_of(x.args()), 0);
  const Source rows(ctx, p.left), columns(ctx, p.right);
  LaidOut left, right;
  left.source = &rows, left.first = 0, left.last = 2, left.norms = {10, 10};
  right.source = &columns, right.first = 0, right.last = 3, right.norms = {10, 10, 10};
  double sum = 0;
  for (int64_t l = 0; l < 4; ++l) {
    sum +=
        static_cast<double>(x.a[static_cast<size_t>(4 + l)]) * static_cast<double>(x.b[static_cast<size_t>(l * 3 + 2)]);
  }
  for (const bool spoilt : {false, true}) {
    if (spoilt) x.c[5] = std::nextafter(x.c[5], 100.0f);
    Breaches breaches;
    Statistics statistics;
    check_sample(ctx, p, left, right, {{1, 2, sum}}, 4, breaches, statistics);
    const Status status = breaches.status(p, "this", Backing::kClassical);
    EXPECT_EQ(statistics.sampled, 1);
    ASSERT_EQ(status.has_value(), !spoilt);
    if (!spoilt) continue;
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(status.error().message.find("a result of platform this is not correctly rounded: output (1, 2) of 2 x 4"),
              std::string::npos)
        << status.error().message;
  }
}

// One of every stretch, wherever products begin and end, and in the end every output of one that repeats.
TEST(Watch, DrawsOneOfEveryStretchAndRotates) {
  Watch in_parts, whole;
  std::vector<int64_t> places, drawn = whole.draw(100 * kSampleOneIn);
  int64_t at = 0;
  for (int64_t count = 1; at < 100 * kSampleOneIn; count = count * 3 % 10007) {
    count = std::min(count, 100 * kSampleOneIn - at);
    for (const int64_t place : in_parts.draw(count)) places.push_back(at + place);
    at += count;
  }
  EXPECT_EQ(places, drawn);
  ASSERT_EQ(drawn.size(), 100u);
  for (size_t q = 0; q < drawn.size(); ++q) EXPECT_EQ(drawn[q] / kSampleOneIn, static_cast<int64_t>(q));
  Watch rotating(16);
  std::vector<int> hits(64);
  for (int step = 0; step < 500; ++step) {
    for (const int64_t place : rotating.draw(64)) ++hits[static_cast<size_t>(place)];
  }
  EXPECT_GT(*std::min_element(hits.begin(), hits.end()), 10);
  EXPECT_LT(*std::max_element(hits.begin(), hits.end()), 70);
}

// The probability stated in watch.h: the share of runs in which a step of 20,000 outputs, a thousandth of them wrong,
// is noticed.
TEST(Watch, NoticesAsOftenAsItSays) {
  Watch watch(64);
  int noticed = 0;
  constexpr int kSteps = 2000;
  for (int step = 0; step < kSteps; ++step) {
    bool seen = false;
    for (const int64_t place : watch.draw(20000)) seen = seen || place % 1000 == 123;
    noticed += seen;
  }
  const double expected = 1 - std::exp(-20000.0 / 1000 / 64);  // 0.268
  EXPECT_GT(noticed, (expected - 0.04) * kSteps);
}

TEST(Watch, CostsLessThanAPercentOfTheProduct) {
  ThreadPool pool(1);
  const KernelContext kernel{best_isa(), &pool};
  CorrectInnerProducts products(kernel, std::make_unique<OrderedProduct>(kernel));
  for (int64_t m : {30, 64, 200, 7}) {
    for (int64_t k : {9, 72, 600}) {
      Case x = plain_case(m, 300, k);
      ASSERT_TRUE(products.matmul(x.args()));
    }
  }
  const Statistics& s = products.statistics();
  EXPECT_GE(s.sampled, s.elements / kSampleOneIn);
  EXPECT_LE(s.sampled, s.elements / kSampleOneIn + 1);
  const double share = kSampleOperations * s.sampled_terms / (2 * s.terms);
  std::printf("%lld outputs, %lld looked at: %.2f %% of the operations\n", static_cast<long long>(s.elements),
              static_cast<long long>(s.sampled), 100 * share);
  EXPECT_GT(share, 0.0005);
  EXPECT_LT(share, 0.005);
}

// Strides of zero, so that no memory is needed for it.
TEST(CorrectMatmul, SizesBeyondItsBoundsAreErrors) {
  ThreadPool pool(1);
  const KernelContext kernel{best_isa(), &pool};
  OrderedProduct product(kernel);
  float one = 1, out = 0;
  for (const auto& [m, n, k, name] : {std::tuple(int64_t{1}, int64_t{1}, int64_t{1} << 31, "k is 2147483648"),
                                      std::tuple(int64_t{1} << 31, int64_t{1}, int64_t{1}, "m is 2147483648"),
                                      std::tuple(int64_t{1}, int64_t{1} << 40, int64_t{1}, "n is 1099511627776")}) {
    MatmulArgs<float> p;
    p.m = m, p.n = n, p.k = k;
    p.a = &one, p.a_row_stride = p.a_col_stride = 0, p.b = &one, p.b_row_stride = p.b_col_stride = 0, p.c = &out;
    const Status status = matmul({kernel, &product}, p);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(status.error().message.find(name), std::string::npos) << status.error().message;
  }
  ConvShape s;
  s.n = int64_t{1} << 32;
  for (const Status& status : {conv_forward({kernel, &product}, s, &one, &one, nullptr, &out),
                               conv_grad_src({kernel, &product}, s, &one, &one, &out),
                               conv_grad_weights({kernel, &product}, s, &one, &one, &out)}) {
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("4294967296 images"), std::string::npos) << status.error().message;
  }
}

}  // namespace
}  // namespace isobit::kernels::correct
