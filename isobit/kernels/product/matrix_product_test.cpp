// What a product says of its types is believed, and nothing else of it.
#include "isobit/kernels/product/matrix_product.h"

#include <gtest/gtest.h>

namespace isobit::kernels {
namespace {

// Has the products of one type; says what it is told to say.
class Float64Only final : public MatrixProduct {
 public:
  explicit Float64Only(bool says_f32) : says_f32_(says_f32) {}
  std::string name() const override { return "float64-only"; }
  bool has_f32() const override { return says_f32_; }
  bool has_f64() const override { return true; }

 private:
  void product(const GemmArgs<double>& g) override { *g.c = *g.a * *g.b; }

  bool says_f32_;
};

class Silent final : public MatrixProduct {
 public:
  std::string name() const override { return "silent"; }

 private:
  void product(const GemmArgs<float>& g) override { *g.c = 1; }
  void product(const GemmArgs<double>& g) override { *g.c = 1; }
};

template <class T>
struct OneByOne {
  T a = 2, b = 3, c = 7;
  GemmArgs<T> args() { return {.m = 1, .n = 1, .k = 1, .a = &a, .lda = 1, .b = &b, .ldb = 1, .c = &c, .ldc = 1}; }
};

template <class T>
void expect_refused(MatrixProduct& product) {
  OneByOne<T> one;
  const Status done = product.multiply(one.args());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(done.error().message.find("has no float"), std::string::npos) << done.error().message;
  EXPECT_EQ(one.c, T{7});
}

TEST(MatrixProduct, ATypeThatIsNotSaidToBeHadIsRefused) {
  Float64Only product(false);
  expect_refused<float>(product);
  OneByOne<double> one;
  ASSERT_TRUE(product.multiply(one.args()));
  EXPECT_EQ(one.c, 6);
  Silent silent;
  expect_refused<float>(silent);
  expect_refused<double>(silent);
}

TEST(MatrixProductDeathTest, ATypeThatIsSaidToBeHadButIsNotIsABug) {
  Float64Only product(true);
  OneByOne<float> one;
  EXPECT_DEATH((void)product.multiply(one.args()), "float32 product");
}

}  // namespace
}  // namespace isobit::kernels
