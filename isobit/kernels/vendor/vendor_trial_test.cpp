// What the trial of large products refuses, shown with products that are not what correct-1 stands on.
#include <gtest/gtest.h>

#include "isobit/base/text.h"
#include "isobit/kernels/correct/illegal_products_for_test.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/vendor/trial.h"

namespace isobit::kernels {
namespace {

// Every element as the sum of two float32 numbers, products of the small parts left out: 2^-48.
class SplitProduct final : public MatrixProduct {
 public:
  explicit SplitProduct(const KernelContext& kernel) : base_(kernel) {}
  std::string name() const override { return "split"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    const auto& [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = g;
    using correct::testing::Dense;
    const Dense left = Dense::of(ta, m, k, a, lda), right = Dense::of(tb, k, n, b, ldb);
    Dense result = times(base_, high(left), high(right));
    result = plus(result, times(base_, high(left), low(right)));
    result = plus(result, times(base_, low(left), high(right)));
    for (int64_t i = 0; i < m; ++i) std::copy_n(result.x.data() + i * n, n, c + i * ldc);
  }

 private:
  using Dense = correct::testing::Dense;
  // 24 bits of x, whatever its exponent.
  static double first_bits(double x) {
    int e = 0;
    const double f = std::frexp(x, &e);
    return std::ldexp(static_cast<double>(static_cast<float>(f)), e);
  }
  static Dense high(Dense d) {
    for (double& x : d.x) x = first_bits(x);
    return d;
  }
  static Dense low(Dense d) {
    for (double& x : d.x) x = first_bits(x - first_bits(x));
    return d;
  }
  OrderedProduct base_;
};

TEST(LargeTrial, RefusesFastAlgorithmsAndEmulations) {
  ThreadPool pool(2);
  const KernelContext kernel{best_isa(), &pool};
  // What the small size finds already, and what only the large one does.
  const std::pair<std::unique_ptr<MatrixProduct>, int64_t> cases[] = {
      {std::make_unique<correct::testing::StrassenProduct>(kernel, 64), 512},
      {std::make_unique<correct::testing::StrassenProduct>(kernel, 300), 512},
      {std::make_unique<correct::testing::StrassenProduct>(kernel, 1024), 2048},
      {std::make_unique<correct::testing::FixedPointProduct>(kernel, 55), 512},
      {std::make_unique<correct::testing::FixedPointProduct>(kernel, 80, false), 512},
      {std::make_unique<SplitProduct>(kernel), 512},
  };
  for (auto& [product, size] : cases) {
    const Status status = vendor::try_large_products(*product);
    ASSERT_FALSE(status) << product->name();
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    const std::string expected = text_of(product->name(), " float64 of ", size, " x ");
    EXPECT_EQ(status.error().message.find(expected), 0u) << status.error().message;
  }
}

// Every library so far has float32; one that has not is tried and used in float64 alone.
TEST(Trial, AProductOfOneTypeIsTriedInThatType) {
  ThreadPool pool(2);
  const KernelContext kernel{best_isa(), &pool};
  class Float64Only final : public MatrixProduct {
   public:
    explicit Float64Only(const KernelContext& k) : base_(k) {}
    std::string name() const override { return "float64 only"; }
    bool has_f64() const override { return true; }
    void product(const GemmArgs<double>& g) override {
      ++calls;
      ISOBIT_CHECK(base_.multiply(g));
    }
    int calls = 0;

   private:
    OrderedProduct base_;
  } own(kernel);
  const Status tried = vendor::try_products(own);
  EXPECT_TRUE(tried) << tried.error().message;
  EXPECT_GT(own.calls, 0);
  correct::testing::FixedPointProduct emulation(kernel, 30);
  EXPECT_FALSE(vendor::try_products(emulation));
}

TEST(LargeTrial, PassesOurOwnProduct) {
  ThreadPool pool(2);
  OrderedProduct product(KernelContext{best_isa(), &pool});
  const Status status = vendor::try_large_products(product);
  EXPECT_TRUE(status) << status.error().message;
}

}  // namespace
}  // namespace isobit::kernels
