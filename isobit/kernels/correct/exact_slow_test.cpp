// A hundred million outputs of many kinds, each against the exact accumulator, and each bound against the exact sum.
#include <gtest/gtest.h>

#include "isobit/kernels/correct/bound_check_for_test.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/operands_for_test.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/vendor/vendor.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels::correct {
namespace {

using testing::Kind;
using testing::kKinds;
using testing::kNames;

// Installed vendors, and ours.
std::vector<testing::NamedProduct> real_products(ThreadPool* pool) {
  std::vector<testing::NamedProduct> products;
  for (const char* library : {"openblas", "eigen", "mkl", "blis", "netlib"}) {
    VendorOptions options;
    options.threads = std::string(library) == "netlib" ? 1 : pool->threads();
    auto opened = open_vendor({library, ""}, options);
    if (!opened || !(*opened)->has_f64()) continue;
    products.push_back({library, std::move(*opened)});
  }
  products.push_back({"ordered", std::make_unique<OrderedProduct>(KernelContext{best_isa(), pool})});
  return products;
}

double value_of(const numerics::ExactAccumulator& sum) {
  numerics::ExactAccumulator magnitude;
  if (sum.sign() < 0) {
    magnitude.subtract(sum);
  } else {
    magnitude = sum;
  }
  const auto limbs = magnitude.limbs();
  double value = 0;
  for (int q = 0; q < numerics::ExactAccumulator::kLimbs; ++q) {
    value += std::ldexp(static_cast<double>(limbs[static_cast<size_t>(q)]),
                        64 * q + numerics::ExactAccumulator::kUnitExponent);
  }
  return value;
}

// sum - x exactly: x in three pieces of 24 bits, each a product of two float32 numbers.
void subtract(numerics::ExactAccumulator& sum, double x) {
  while (x != 0) {
    const int exponent = std::ilogb(x);
    const double scaled = std::ldexp(x, -exponent);
    const auto piece = static_cast<float>(std::trunc(scaled * 0x1p23) * 0x1p-23);
    sum.add_product(-std::ldexp(piece, exponent / 2), std::ldexp(1.0f, exponent - exponent / 2));
    x -= std::ldexp(static_cast<double>(piece), exponent);
  }
}

class Recorder final : public BoundObserver {
 public:
  Recorder(int64_t m, int64_t n) : x(static_cast<size_t>(m * n)), d(x.size()), n_(n) {}
  void on_bound(int64_t i, int64_t j, double value, double bound) override {
    x[static_cast<size_t>(i * n_ + j)] = value;
    d[static_cast<size_t>(i * n_ + j)] = bound;
  }
  std::vector<double> x, d;

 private:
  int64_t n_;
};

struct Totals {
  Statistics statistics;
  std::atomic<int64_t> wrong{0};
  testing::Largest share;
};

void check(Kind kind, int64_t m, int64_t n, int64_t k, uint64_t seed, ThreadPool& pool, testing::NamedProduct& product,
           Totals& totals) {
  const testing::Case x = testing::case_of(kind, m, n, k, seed);
  std::vector<float> c;
  const MatmulArgs<float> p = x.args(c);
  Recorder recorder(m, n);
  matmul({{best_isa(), &pool}, product.product.get(), nullptr, &totals.statistics, {Mutation::kNone, &recorder}}, p);
  pool.parallel_for(m, 1, [&](int64_t begin, int64_t end) {
    double share = 0;
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        numerics::ExactAccumulator sum;
        for (int64_t l = 0; l < k; ++l) sum.add_product(p.a[i * k + l], p.b[j * k + l]);
        if (p.bias != nullptr) sum.add(p.bias[j]);
        const auto at = static_cast<size_t>(i * n + j);
        if (numerics::bits_of(sum.rounded()) != numerics::bits_of(c[at])) ++totals.wrong;
        subtract(sum, recorder.x[at]);
        share = std::max(share, testing::share_of_bound(value_of(sum), recorder.d[at]));
      }
    }
    totals.share.see(share);
  });
}

TEST(CorrectMatmulSlow, AHundredMillionOutputsAgainstTheExactAccumulator) {
  ThreadPool pool(2);
  std::vector<testing::NamedProduct> products = real_products(&pool);
  for (const testing::NamedProduct& p : products) std::printf("product %s\n", p.name.c_str());
  std::vector<Totals> totals(kKinds);
  int64_t elements = 0, wrong = 0;
  for (uint64_t seed = 1; elements < 100'000'000; ++seed) {
    // Mostly short sums; now and then one of a thousand terms, or of several slices.
    const int64_t k =
        seed % 40 == 0 ? 700 + static_cast<int64_t>(seed % 900) : 8 + static_cast<int64_t>(seed * 13 % 57);
    const int64_t m = k > 64 ? 40 : 200 + static_cast<int64_t>(seed * 7 % 100),
                  n = 300 + static_cast<int64_t>(seed % 50);
    const int kind = static_cast<int>(seed / products.size() % kKinds);
    Totals& t = totals[static_cast<size_t>(kind)];
    check(static_cast<Kind>(kind), m, n, k, seed, pool, products[seed % products.size()], t);
    ASSERT_EQ(t.wrong, 0) << kNames[kind] << ", seed " << seed;
    ASSERT_LE(t.share.value(), 1.0) << kNames[kind] << ", seed " << seed;
    elements += m * n;
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    const Totals& t = totals[static_cast<size_t>(kind)];
    const double count = static_cast<double>(t.statistics.elements);
    std::printf(
        "%-11s %9lld outputs, zeros %.1e, settled %.1e, repaired %.1e, exact %.1e; error at most %.3f of the bound\n",
        kNames[kind], static_cast<long long>(t.statistics.elements), static_cast<double>(t.statistics.zeros) / count,
        static_cast<double>(t.statistics.settled) / count, static_cast<double>(t.statistics.repaired) / count,
        static_cast<double>(t.statistics.exact) / count, t.share.value());
    wrong += t.wrong;
  }
  std::printf("%lld outputs, %lld misrounded\n", static_cast<long long>(elements), static_cast<long long>(wrong));
}

}  // namespace
}  // namespace isobit::kernels::correct
