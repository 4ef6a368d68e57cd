// Inner products of every installed library, and of a plain loop, against the ordered float64 kernels: within the
// stated bound on real numbers, equal on small integers, whose sums are exact. Each library keeps the one core type of
// this process.
#include "isobit/kernels/product/plain_inner_products.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "isobit/base/fp_env_for_test.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/testing.h"
#include "isobit/kernels/vendor/each_library_for_test.h"
#include "isobit/kernels/vendor/plain_inner_products_for_test.h"

namespace isobit::kernels {
namespace {

using testing::Call;
using testing::check_conv;
using testing::Conv;
using testing::conv_shape;
using testing::draw;
using testing::kernel;
using testing::OrderedF64;
using testing::values;
using testing::Watched;
using testing::widened;

template <class T>
PlainInnerProducts<T> products(VendorProduct* library, int threads = 1,
                               int64_t workspace = PlainInnerProducts<T>::kWorkspaceBytes,
                               std::vector<Call>* calls = nullptr, int64_t largest = INT32_MAX) {
  return {std::make_unique<Watched>(library, calls, largest), kernel(threads), workspace};
}

// ---- every library

class EachLibrary : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "loop") return;
    if (!vendor_installed(GetParam())) GTEST_SKIP() << "skipped: no " << GetParam();
    auto opened = open_vendor(testing::any_setting(GetParam()), {1, "", false});
    ASSERT_TRUE(opened) << opened.error().message;
    library_ = std::move(*opened);
  }
  bool has_f32() const { return library_ == nullptr || library_->has_f32(); }
  bool has_f64() const { return library_ == nullptr || library_->has_f64(); }

  std::unique_ptr<VendorProduct> library_;
};

template <class T>
void matmul_property(VendorProduct* library) {
  EXPECT_TRUE(rc::check("matmul of any strides", [&] {
    const int64_t workspace = *rc::gen::element<int64_t>(int64_t{64} << 20, 8192, 4096, 2048, 1024, 0);
    auto tested = products<T>(library, static_cast<int>(draw(1, 2)), workspace);
    for (int i = 0; i < 4; ++i) RC_ASSERT(testing::draw_matmul<T>().check(tested) == "");
    RC_ASSERT(tested.workspace_held() <= workspace);
  }));
}

TEST_P(EachLibrary, MatmulOfAnyStrides) {
  if (has_f32()) matmul_property<float>(library_.get());
  if (has_f64()) matmul_property<double>(library_.get());
}

template <class T>
void conv_property(VendorProduct* library) {
  EXPECT_TRUE(rc::check("convolution of any shape", [&] {
    const int64_t workspace = *rc::gen::element<int64_t>(int64_t{64} << 20, 32768, 8192, 4096, 2048, 0);
    auto tested = products<T>(library, static_cast<int>(draw(1, 2)), workspace);
    for (int i = 0; i < 4; ++i) {
      const ConvShape s = testing::draw_conv();
      RC_ASSERT(check_conv(tested, s, draw(0, 1) == 1) == "");
    }
    RC_ASSERT(tested.workspace_held() <= workspace);
  }));
}

TEST_P(EachLibrary, ConvolutionOfAnyShape) {
  if (has_f32()) conv_property<float>(library_.get());
  if (has_f64()) conv_property<double>(library_.get());
}

// Several images to a block and several blocks; parts of a large image; pointwise in place and gathered.
const ConvShape kLarge[] = {conv_shape(40, 3, 8, 5, 3, 1, 1), conv_shape(2, 2, 51, 3, 3, 1, 1),
                            conv_shape(9, 4, 33, 6, 5, 2, 2), conv_shape(3, 6, 30, 5, 1, 1, 0),
                            conv_shape(50, 6, 7, 5, 1, 1, 0), conv_shape(1, 8, 20, 8, 1, 1, 0)};

template <class T>
std::string check_large(VendorProduct* library) {
  for (const ConvShape& s : kLarge) {
    auto tested = products<T>(library);
    if (std::string wrong = check_conv(tested, s, true) + check_conv(tested, s, false); !wrong.empty()) return wrong;
    if (tested.refused() != 0) return "refused";
  }
  return "";
}

TEST_P(EachLibrary, BlocksOfLargerConvolutions) {
  if (has_f32()) {
    EXPECT_EQ(check_large<float>(library_.get()), "");
  }
  if (has_f64()) {
    EXPECT_EQ(check_large<double>(library_.get()), "");
  }
}

// The pool's threads and the library's are different things: here the library has one.
template <class T>
void expect_same_bits_on_any_pool(VendorProduct* library) {
  ConvShape grouped = conv_shape(12, 32, 14, 48, 3, 1, 1);
  grouped.groups = 2;
  for (const ConvShape& s : {grouped, kLarge[1], kLarge[4]}) {
    const Conv<T> x(s, false);
    auto one = products<T>(library, 1), two = products<T>(library, 2), three = products<T>(library, 3);
    const auto expected = x.run(one);
    EXPECT_TRUE(expected == x.run(two));
    EXPECT_TRUE(expected == x.run(three));
    EXPECT_TRUE(expected == x.run(one)) << "not even twice";
  }
  const auto a = values<T>(2 * 120 * 300, false, 1), b = values<T>(300 * 90 * 3, false, 2),
             bias = values<T>(90, false, 3);
  std::vector<T> c[3];
  for (const int threads : {1, 2, 3}) {
    std::vector<T>& result = c[threads - 1];
    result.assign(120 * 90, T(NAN));
    MatmulArgs<T> p;
    p.m = 120, p.n = 90, p.k = 300;
    p.a = a.data(), p.a_row_stride = 600, p.a_col_stride = 2;
    p.b = b.data(), p.b_row_stride = 3, p.b_col_stride = 900;
    p.c = result.data(), p.c_row_stride = 90, p.bias = bias.data();
    products<T>(library, threads).matmul(p);
    EXPECT_TRUE(testing::same_bits(c[0], result)) << threads;
  }
}

TEST_P(EachLibrary, ThreadsOfThePoolReachNoBit) {
  if (has_f32()) expect_same_bits_on_any_pool<float>(library_.get());
  if (has_f64()) expect_same_bits_on_any_pool<double>(library_.get());
}

// Every product and sum is subnormal and exact.
template <class T>
void expect_subnormals_kept(VendorProduct* library) {
  const T tiny = std::numeric_limits<T>::denorm_min(), scale = std::ldexp(T(1), 40);
  Conv<T> x(conv_shape(2, 3, 6, 2, 3, 1, 1), true);
  for (T& v : x.weights) v = v * (tiny * scale);
  for (T& v : x.dst) v = v / scale;
  for (T& v : x.src) v = v / scale;
  for (T& v : x.bias) v = v * tiny;
  const Conv<double> integers(x.s, true);
  OrderedF64 ordered;
  const auto expected = integers.run(ordered);
  auto tested = products<T>(library, 2);
  const auto found = x.run(tested);
  const auto times_tiny = [&](const std::vector<double>& v) {
    std::vector<T> scaled;
    for (double e : v) scaled.push_back(static_cast<T>(e) * tiny);
    return scaled;
  };
  EXPECT_EQ(found.forward, times_tiny(expected.forward));
  EXPECT_EQ(found.with_bias, times_tiny(expected.with_bias));
  EXPECT_EQ(found.grad_src, times_tiny(expected.grad_src));
}

TEST_P(EachLibrary, SubnormalNumbersAreKept) {
  if (has_f32()) expect_subnormals_kept<float>(library_.get());
  if (has_f64()) expect_subnormals_kept<double>(library_.get());
}

// One infinity or NaN, and two infinities of different sign, in every operand: each output is finite, infinite of the
// same sign, or NaN just as the ordered kernels' is, with taps on padding, under no window, and on no output.
const ConvShape kMissing[] = {conv_shape(2, 3, 6, 4, 3, 1, 1), conv_shape(3, 2, 7, 3, 3, 2, 1),
                              conv_shape(2, 3, 8, 2, 2, 3, 0), conv_shape(2, 4, 5, 3, 1, 2, 0),
                              conv_shape(3, 4, 5, 3, 1, 1, 0), conv_shape(30, 2, 4, 3, 3, 1, 2)};

template <class T>
std::string check_not_finite(VendorProduct* library) {
  const T infinity = std::numeric_limits<T>::infinity();
  OrderedF64 ordered;
  std::mt19937_64 random(5);
  for (ConvShape s : kMissing) {
    if (s.ic % 2 == 0 && s.oc % 2 == 0) s.groups = 2;
    for (std::vector<T> Conv<T>::*operand : {&Conv<T>::src, &Conv<T>::weights, &Conv<T>::bias, &Conv<T>::dst}) {
      for (const std::vector<T>& put : {std::vector<T>{infinity}, {-infinity}, {T(NAN)}, {infinity, -infinity}}) {
        Conv<T> x(s, false);
        Conv<double> wide(s, false);
        for (const T value : put) (x.*operand)[random() % (x.*operand).size()] = value;
        wide.src = widened(x.src), wide.weights = widened(x.weights);
        wide.bias = widened(x.bias), wide.dst = widened(x.dst);
        auto tested = products<T>(library);
        const auto found = x.run(tested);
        const auto expected = wide.run(ordered);
        std::string wrong = testing::compare_kinds("forward", found.forward, expected.forward);
        wrong += testing::compare_kinds("with bias", found.with_bias, expected.with_bias);
        wrong += testing::compare_kinds("grad_src", found.grad_src, expected.grad_src);
        wrong += testing::compare_kinds("grad_weights", found.grad_weights, expected.grad_weights);
        if (!wrong.empty()) return wrong;
      }
    }
  }
  return "";
}

TEST_P(EachLibrary, InfinitiesAndNanAreThoseOfTheOrderedKernels) {
  if (has_f32()) {
    EXPECT_EQ(check_not_finite<float>(library_.get()), "");
  }
  if (has_f64()) {
    EXPECT_EQ(check_not_finite<double>(library_.get()), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Loop, EachLibrary, ::testing::Values("loop"), testing::test_name_of_library);
INSTANTIATE_TEST_SUITE_P(Vendors, EachLibrary, ::testing::ValuesIn(vendor_libraries()), testing::test_name_of_library);

// ---- what the library is asked

TEST(PlainInnerProducts, NoCopyWhereBlasTakesTheStrides) {
  const std::vector<float> a(1000, 1.0f), b(1000, 1.0f);
  std::vector<float> c(1000);
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      std::vector<Call> calls;
      auto tested = products<float>(nullptr, 1, 1 << 20, &calls);
      MatmulArgs<float> p;
      p.m = 5, p.n = 6, p.k = 7;
      p.a = a.data(), p.a_row_stride = ta ? 1 : 9, p.a_col_stride = ta ? 8 : 1;
      p.b = b.data(), p.b_row_stride = tb ? 1 : 6, p.b_col_stride = tb ? 7 : 1;
      p.c = c.data(), p.c_row_stride = 10;
      tested.matmul(p);
      ASSERT_EQ(calls.size(), 1u);
      EXPECT_TRUE(calls[0].a == p.a && calls[0].b == p.b && calls[0].c == p.c);
      EXPECT_TRUE(calls[0].transpose_a == ta && calls[0].transpose_b == tb);
      EXPECT_EQ(tested.workspace_held(), 0);
      p.a_row_stride = 2, p.a_col_stride = 11;
      tested.matmul(p);
      EXPECT_TRUE(calls[1].a != p.a && calls[1].b == p.b);
      EXPECT_GT(tested.workspace_held(), 0);
    }
  }
}

TEST(PlainInnerProducts, ASharedRightOperandIsOneProduct) {
  const std::vector<float> a(1000, 1.0f), b(1000, 1.0f);
  std::vector<float> c(1000);
  std::vector<Call> calls;
  auto tested = products<float>(nullptr, 1, 1 << 20, &calls);
  MatmulArgs<float> p;
  p.m = 5, p.n = 6, p.k = 7, p.batch = 4;
  p.a = a.data(), p.a_row_stride = 7, p.a_batch_stride = 35;
  p.b = b.data(), p.b_row_stride = 6;
  p.c = c.data(), p.c_row_stride = 6, p.c_batch_stride = 30;
  tested.matmul(p);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].m, 20);
  p.b_batch_stride = 42;
  tested.matmul(p);
  EXPECT_EQ(calls.size(), 5u);
}

TEST(PlainInnerProducts, AnImageThatIsItsOwnWindowsIsNotCopied) {
  const Conv<float> x(conv_shape(2, 3, 48, 4, 1, 1, 0), true);
  std::vector<Call> calls;
  auto tested = products<float>(nullptr, 1, 1 << 20, &calls);
  std::vector<float> dst(x.dst.size());
  tested.conv_forward(x.s, x.src.data(), x.weights.data(), nullptr, dst.data());
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].b, x.src.data());
  EXPECT_EQ(calls[1].c, dst.data() + 4 * 48 * 48);
  EXPECT_EQ(tested.workspace_held(), 0);
}

TEST(PlainInnerProducts, SmallImagesShareAProduct) {
  const Conv<float> x(conv_shape(32, 16, 8, 32, 3, 1, 1), true);
  std::vector<Call> calls;
  auto tested = products<float>(nullptr, 1, 1 << 24, &calls);
  std::vector<float> dst(x.dst.size());
  tested.conv_forward(x.s, x.src.data(), x.weights.data(), nullptr, dst.data());
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].n, 32 * 64);
}

// A library whose integers are too small for anything: the ordered kernels' bits.
TEST(PlainInnerProducts, WhatTheLibraryRefusesIsOrdered) {
  const auto a = values<float>(20 * 300, false, 1), b = values<float>(300 * 30, false, 2),
             bias = values<float>(30, false, 3);
  std::vector<float> found(600, NAN), expected(600, NAN);
  MatmulArgs<float> p;
  p.m = 20, p.n = 30, p.k = 300;
  p.a = a.data(), p.a_row_stride = 1, p.a_col_stride = 20;
  p.b = b.data(), p.b_row_stride = 30;
  p.bias = bias.data(), p.c_row_stride = 30;
  std::vector<Call> calls;
  auto tested = products<float>(nullptr, 1, 1 << 20, &calls, 10);
  p.c = found.data();
  tested.matmul(p);
  p.c = expected.data();
  matmul(kernel(), p);
  EXPECT_TRUE(testing::same_bits(expected, found));
  EXPECT_TRUE(calls.empty());
  EXPECT_EQ(tested.refused(), 1);
  EXPECT_EQ(check_conv(tested, kLarge[0], true), "");
  EXPECT_EQ(tested.refused(), tested.products());
}

// Leaves another floating-point environment behind.
class Leaving final : public VendorProduct {
 public:
  explicit Leaving(void (*set)()) : VendorProduct({"leaving", "1", "", 1, "/"}), set_(set) {}
  bool has_f32() const override { return true; }
  bool has_f64() const override { return true; }

 private:
  void product(const GemmArgs<float>& args) override { compute(args); }
  void product(const GemmArgs<double>& args) override { compute(args); }
  template <class T>
  void compute(const GemmArgs<T>& args) {
    for (int64_t i = 0; i < args.m; ++i) std::fill_n(args.c + i * args.ldc, args.n, T{0});
    set_();
  }
  void (*set_)();
};

void expect_error(const Status& status) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(status.error().message.find("leaving"), std::string::npos) << status.error().message;
  EXPECT_TRUE(fp_environment_is_standard());
}

// Whoever chose the library should know: our own product would do for the bits of correct-1, and for nobody's trust.
TEST(PlainInnerProducts, AnEnvironmentLeftChangedStopsTheStep) {
  const auto a = values<float>(20 * 300, false, 1), b = values<float>(300 * 30, false, 2);
  std::vector<float> c(600);
  MatmulArgs<float> p;
  p.m = 20, p.n = 30, p.k = 300;
  p.a = a.data(), p.a_row_stride = 300, p.a_col_stride = 1;
  p.b = b.data(), p.b_row_stride = 30, p.b_col_stride = 1;
  p.c = c.data(), p.c_row_stride = 30;
  const ConvShape s = conv_shape(3, 6, 20, 5, 3, 1, 1);
  const std::vector<float> src(8000, 1.0f), weights(8000, 1.0f), diff_dst(8000, 1.0f);
  std::vector<float> result(8000);
  for (const auto& d : isobit::testing::fp_disturbances()) {
    const auto leaving = [&] { return PlainInnerProducts<float>(std::make_unique<Leaving>(d.set), kernel()); };
    expect_error(leaving().matmul(p));
    expect_error(leaving().conv_forward(s, src.data(), weights.data(), nullptr, result.data()));
    expect_error(leaving().conv_grad_src(s, diff_dst.data(), weights.data(), result.data()));
    expect_error(leaving().conv_grad_weights(s, src.data(), diff_dst.data(), result.data()));
    Leaving product(d.set);
    expect_error(correct::matmul({kernel(), &product}, p));
  }
}

// Blocks that are parts of a small image, which is its own window matrix but not large enough to go without workspace.
TEST(PlainInnerProducts, PartsOfAPointwiseImage) {
  auto tested = products<double>(nullptr, 1, 4096);
  EXPECT_EQ(check_conv(tested, conv_shape(3, 6, 20, 5, 1, 1, 0), true), "");
  EXPECT_GT(tested.products(), 4 * 3);
}

TEST(PlainInnerProducts, ScratchStaysWithinItsBound) {
  for (const int64_t bound : {1 << 14, 1 << 16, 1 << 18, 1 << 20}) {
    auto tested = products<double>(nullptr, 2, bound);
    for (const ConvShape& s : {kLarge[0], kLarge[2], kLarge[4]}) EXPECT_EQ(check_conv(tested, s, false), "");
    EXPECT_GT(tested.products(), 0);
    EXPECT_GT(tested.workspace_held(), bound / 8);
    EXPECT_LE(tested.workspace_held(), bound);
  }
}

}  // namespace
}  // namespace isobit::kernels
