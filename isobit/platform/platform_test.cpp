#include "isobit/platform/platform.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/vendor/vendor.h"
#include "isobit/platform/convolutions.h"
#include "isobit/platform/vendor_product.h"

namespace isobit::platform {
namespace {

TEST(Platform, TextIsCanonicalAndReadsBack) {
  const Platform p = parse_platform("ordered@portable/3t").value();
  EXPECT_EQ(p.text(), "ordered@portable/3t");
  EXPECT_EQ(p.threads, 3);
  EXPECT_EQ(parse_platform(parse_platform("ordered").value().text()).value().text(),
            parse_platform("ordered").value().text());
  EXPECT_EQ(parse_platform("ordered@reference").value().threads, available_threads());
}

TEST(Platform, UnknownIsAUsageErrorWithTheNearestName) {
  for (const char* text :
       {"orderd", "ordered@avx3", "ordered/0t", "ordered/2", "ordered/2tt", "", "ordered@", "/2t", "ordered/99999t"}) {
    const auto p = parse_platform(text);
    ASSERT_FALSE(p) << text;
    EXPECT_EQ(p.error().code, ErrorCode::kUsage) << text;
  }
  EXPECT_NE(parse_platform("orderd").error().message.find("did you mean 'ordered'"), std::string::npos);
}

TEST(Platform, IntegerProductsAreNamedByTheirKind) {
  const std::vector<std::string> here = integer_products();
  EXPECT_EQ(here.front(), "plain");
  EXPECT_EQ(parse_platform("integer@plain/3t")->text(), "integer@plain/3t");
  EXPECT_EQ(parse_platform("integer/1t")->text(), "integer@" + here.back() + "/1t");
  for (const char* text : {"integer@", "integer@avx2", "integr", "integer@plain+nothing"}) {
    const auto p = parse_platform(text);
    ASSERT_FALSE(p) << text;
    EXPECT_EQ(p.error().code, ErrorCode::kUsage) << text;
  }
  const auto amx = parse_platform("integer@amx/1t");
  if (here.back() == "amx") {
    EXPECT_EQ(amx->core, "amx");
  } else {
    ASSERT_FALSE(amx);
    EXPECT_EQ(amx.error().code, ErrorCode::kUnavailable);
  }
}

TEST(Engine, IntegerProductsAreForCorrectAlone) {
  Engine engine(parse_platform("integer@plain/2t").value());
  for (const Arithmetic& arithmetic : arithmetics()) {
    const auto context = engine.context_for(arithmetic);
    ASSERT_EQ(context.has_value(), arithmetic.corrects) << arithmetic.name;
    if (!context) {
      EXPECT_EQ(context.error().code, ErrorCode::kUsage) << arithmetic.name;
    }
  }
  // Exactly a tie, which is settled by the residues: 5 * 3355445 = 2^24 + 9.
  const Context correct = engine.context_for(arithmetic_of("correct-1")).value();
  const std::vector<float> a(40 * 40, 0), b(40 * 40, 3355445);
  std::vector<float> five = a, c(40 * 40);
  for (size_t i = 0; i < 40; ++i) five[40 * i] = 5;
  kernels::MatmulArgs<float> p;
  p.m = p.n = p.k = p.a_row_stride = p.b_row_stride = p.c_row_stride = 40;
  p.a = five.data(), p.b = b.data(), p.c = c.data();
  ASSERT_TRUE(correct.kernels().products_f32->matmul(p));
  EXPECT_EQ(c, std::vector<float>(40 * 40, 16777224));
  EXPECT_EQ(correct.repairs().repaired, 1600);
}

TEST(Platform, AnIsaThatIsNotThereIsUnavailable) {
#if defined(__x86_64__)
  const auto p = parse_platform("ordered@neon");
#else
  const auto p = parse_platform("ordered@avx2");
#endif
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error().code, ErrorCode::kUnavailable);
}

TEST(Engine, AVendorsPlatformHasNoWrittenOrder) {
  const Platform p = parse_platform("openblas@haswell/1t").value();
  EXPECT_EQ(p.text(), "openblas@haswell/1t");
  Engine engine(p);
  const auto ordered = engine.context_for(arithmetic_of("ordered-1"));
  ASSERT_FALSE(ordered);
  EXPECT_EQ(ordered.error().code, ErrorCode::kUsage);
}

TEST(Engine, ContextsOfSeveralArithmeticsStandSideBySide) {
  Engine engine(parse_platform("ordered/2t").value());
  const Context ordered = engine.context_for(arithmetic_of("ordered-1")).value();
  const Context correct = engine.context_for(arithmetic_of("correct-1")).value();
  const Context in_float64 = engine.context_for(arithmetic_of("float64")).value();
  EXPECT_EQ(ordered.kernels().products_f32, nullptr);
  EXPECT_NE(correct.kernels().products_f32, nullptr);
  EXPECT_EQ(in_float64.kernels().products_f64, nullptr);  // the ordered kernels are its library
  for (const Context& c : {ordered, correct, in_float64}) EXPECT_EQ(c.kernels().pool, &engine.pool());
  EXPECT_TRUE(correct.arithmetic().corrects);
  const float a[] = {1, 2}, b[] = {3, 4};
  float c = 0;
  kernels::MatmulArgs<float> p;
  p.m = p.n = 1, p.k = 2;
  p.a = a, p.a_row_stride = 2, p.b = b, p.b_row_stride = 1, p.c = &c, p.c_row_stride = 1;
  ASSERT_TRUE(correct.kernels().products_f32->matmul(p));
  EXPECT_EQ(c, 11.0f);
  EXPECT_EQ(correct.repairs().elements, 1);
  EXPECT_EQ(ordered.repairs().elements, 0);
}

TEST(Platform, AConvolutionAlgorithmStandsLast) {
  for (const char* text : {"ordered@portable/1t+winograd4", "openblas@haswell/2t+autotune", "openblas/1t+fft"}) {
    const auto p = parse_platform(text);
    ASSERT_TRUE(p) << p.error().message;
    EXPECT_EQ(p->text(), text);
  }
  EXPECT_EQ(parse_platform("ordered/1t+direct")->algorithm, "direct");
  EXPECT_EQ(parse_platform("ordered/1t")->algorithm, "");
  for (const char* text :
       {"ordered+winogard4", "ordered+", "ordered+fft/1t", "ordered+fft+fft", "+fft", "ordered+FFT"}) {
    const auto p = parse_platform(text);
    ASSERT_FALSE(p) << text;
    EXPECT_EQ(p.error().code, ErrorCode::kUsage) << text;
  }
  EXPECT_NE(parse_platform("ordered+winogard4").error().message.find("did you mean 'winograd4'"), std::string::npos);
}

TEST(Engine, AConvolutionAlgorithmIsForFloat32Alone) {
  Engine engine(parse_platform("ordered/1t+winograd4").value());
  for (const Arithmetic& arithmetic : arithmetics()) {
    const auto context = engine.context_for(arithmetic);
    const bool is_float32 = arithmetic.name == "float32";
    ASSERT_EQ(context.has_value(), is_float32) << arithmetic.name;
    if (is_float32) {
      EXPECT_NE(context->kernels().products_f32, nullptr);
      EXPECT_EQ(context->kernels().products_f64, nullptr);
      continue;
    }
    EXPECT_EQ(context.error().code, ErrorCode::kUsage);
    EXPECT_NE(context.error().message.find("promises no bits"), std::string::npos) << context.error().message;
  }
}

// The fastest is whom the caller's clock says, for as long as the engine lives.
TEST(Engine, AnAutotunedPlatformGoesByTheCallersClock) {
  const std::vector<std::string> names = convolution_algorithms();
  for (const size_t winner : {size_t{0}, size_t{1}, size_t{3}}) {
    double now = 0;
    size_t asked = 0;
    Engine engine(parse_platform("ordered/1t+autotune").value(), Clock([&] {
                    if (asked++ % 2 == 1) now += asked / 2 == winner + 1 ? 1.0 : 2.0;
                    return now;
                  }));
    const Context context = engine.context_for(arithmetic_of("float32")).value();
    kernels::ConvShape s;
    s.ic = 3, s.ih = s.iw = 6, s.oc = 2, s.kh = s.kw = 3;
    const std::vector<float> src(108, 0.5f), weights(54, 0.25f);
    std::vector<float> dst(32);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(context.kernels().products_f32->conv_forward(s, src.data(), weights.data(), nullptr, dst.data()));
      EXPECT_EQ(context.kernels().products_f32->last_conv_forward().name, winner == 0 ? "own" : names[winner - 1]);
    }
    EXPECT_GE(asked, 2 * 8u) << "all but perhaps fft";
    EXPECT_EQ(asked % 2, 0u);
  }
}

// The ordered kernels under another name.
class Renamed final : public kernels::MatrixProduct {
 public:
  Renamed(const kernels::KernelContext& kernel, int& calls) : base_(kernel), calls_(calls) {}
  std::string name() const override { return "renamed"; }
  bool has_f64() const override { return true; }
  void product(const kernels::GemmArgs<double>& g) override {
    ++calls_;
    ISOBIT_CHECK(base_.multiply(g));
  }

 private:
  kernels::OrderedProduct base_;
  int& calls_;
};

TEST(Engine, CorrectStandsOnTheProductThatTheCallerGives) {
  const Platform platform = parse_platform("ordered/2t").value();
  int calls = 0;
  kernels::KernelContext seen{kernels::Isa::kReference, nullptr};
  Engine engine(platform, [&](const kernels::KernelContext& kernel) {
    seen = kernel;
    return std::make_unique<Renamed>(kernel, calls);
  });
  ASSERT_TRUE(engine.context_for(arithmetic_of("ordered-1")));
  EXPECT_EQ(seen.pool, nullptr) << "nobody has asked for it yet";
  const Context correct = engine.context_for(arithmetic_of("correct-1")).value();
  EXPECT_EQ(seen.pool, &engine.pool());
  EXPECT_EQ(seen.isa, platform.isa);
  const std::vector<float> a(40 * 40, 0.5f);
  std::vector<float> c(40 * 40);
  kernels::MatmulArgs<float> p;
  p.m = p.n = p.k = p.a_row_stride = p.b_row_stride = p.c_row_stride = 40;
  p.a = a.data(), p.b = a.data(), p.c = c.data();
  ASSERT_TRUE(correct.kernels().products_f32->matmul(p));
  EXPECT_EQ(c, std::vector<float>(40 * 40, 10.0f));
  EXPECT_GT(calls, 0);

  Engine none(platform, [](const kernels::KernelContext&) { return unavailable("no such product"); });
  const auto refused = none.context_for(arithmetic_of("correct-1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no such product");
  EXPECT_TRUE(none.context_for(arithmetic_of("float64")));
}

TEST(Engine, AContextDoesNotDependOnWhatWasAskedBefore) {
  if (!kernels::vendor_installed("openblas")) GTEST_SKIP() << "skipped: no OpenBLAS";
  Engine engine(parse_platform("openblas/1t").value());
  const auto asked = [&](const char* name) { return engine.context_for(arithmetic_of(name)).value(); };
  const Context f32 = asked("float32"), f64 = asked("float64"), f32_again = asked("float32");
  EXPECT_NE(f32.kernels().products_f32, nullptr);
  EXPECT_EQ(f32.kernels().products_f64, nullptr);
  EXPECT_EQ(f64.kernels().products_f32, nullptr);
  EXPECT_NE(f64.kernels().products_f64, nullptr);
  EXPECT_EQ(f32_again.kernels().products_f32, f32.kernels().products_f32);
  EXPECT_EQ(f32_again.kernels().products_f64, nullptr);
}

TEST(Arithmetic, AnUnknownNameIsAnErrorThatNamesTheKnownOnes) {
  const auto unknown = named_arithmetic("no-such-arithmetic");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(unknown.error().message.find("ordered-1"), std::string::npos);
}

bool has_adapter(const std::string& library) {
  const std::vector<std::string> all = vendor_libraries();
  return std::find(all.begin(), all.end(), library) != all.end();
}

// What 2 x 3 ones make of 3 x 1 twos, with a bias of a half.
template <class T>
T six_and_a_half(kernels::InnerProducts<T>& products) {
  const T a[] = {1, 1, 1, 1, 1, 1}, b[] = {2, 2, 2}, bias[] = {T(0.5)};
  T c[2] = {};
  kernels::MatmulArgs<T> p;
  p.m = 2, p.n = 1, p.k = 3;
  p.a = a, p.a_row_stride = 3, p.b = b, p.b_row_stride = 1, p.c = c, p.c_row_stride = 1, p.bias = bias;
  products.matmul(p);
  return c[1];
}

TEST(VendorInnerProducts, OneDnnIsAPlatformOfFloat32Alone) {
  ASSERT_TRUE(has_adapter("onednn"));
  const Platform p = parse_platform("onednn@avx2/1t").value();
  EXPECT_EQ(p.text(), "onednn@avx2/1t");
  if (!kernels::vendor_installed("onednn")) GTEST_SKIP() << "skipped: no oneDNN";
  ThreadPool pool(1);
  const kernels::KernelContext fallback{p.isa, &pool};
  // Its own choice of core: a machine without AVX2 has oneDNN too.
  auto products = open_vendor_inner_products<float>("onednn", "", 1, fallback);
  ASSERT_TRUE(products) << products.error().message;
  EXPECT_EQ(six_and_a_half(**products), 6.5f);
  const auto in_f64 = open_vendor_inner_products<double>("onednn", "", 1, fallback);
  ASSERT_FALSE(in_f64);
  EXPECT_EQ(in_f64.error().code, ErrorCode::kUnavailable);
  const auto correct = open_vendor_product("onednn", "", 1, fallback);
  ASSERT_FALSE(correct);
  EXPECT_EQ(correct.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(correct.error().message.find("no float64 product, which arithmetic correct-1 needs"), std::string::npos)
      << correct.error().message;
}

TEST(VendorInnerProducts, BothTypesWhereTheLibraryHasThem) {
  if (!kernels::vendor_installed("openblas")) GTEST_SKIP() << "skipped: no OpenBLAS";
  ThreadPool pool(1);
  const kernels::KernelContext fallback{kernels::Isa::kPortable, &pool};
  auto f32 = open_vendor_inner_products<float>("openblas", "", 1, fallback);
  ASSERT_TRUE(f32) << f32.error().message;
  EXPECT_EQ(six_and_a_half(**f32), 6.5f);
  auto f64 = open_vendor_inner_products<double>("openblas", "", 1, fallback);
  ASSERT_TRUE(f64) << f64.error().message;
  EXPECT_EQ(six_and_a_half(**f64), 6.5);
  EXPECT_FALSE(open_vendor_inner_products<float>("openblas", "nosuchcore", 1, fallback));
}

TEST(Platform, EveryListedPlatformParses) {
  ASSERT_FALSE(available_platforms().empty());
  for (const Platform& p : available_platforms()) EXPECT_EQ(parse_platform(p.text()).value().text(), p.text());
}

}  // namespace
}  // namespace isobit::platform
