#include "isobit/kernels/activation/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "isobit/base/whole_for_test.h"
#include "isobit/kernels/activation/real_oracle.h"
#include "isobit/kernels/testing.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {
namespace {

using testing::for_each_context;
using testing::pi;
using testing::random_values;
using testing::Real;
using testing::root;
using testing::same_bits;
using testing::Values;

template <class T>
using Forward = std::function<void(const KernelContext&, int64_t, const T*, T*)>;
template <class T>
using Backward = std::function<void(const KernelContext&, int64_t, const T*, const T*, T*)>;

template <class T>
struct NamedForward {
  const char* name;
  Forward<T> run;
};
template <class T>
struct NamedBackward {
  const char* name;
  Backward<T> run;
};

template <class T>
std::vector<NamedForward<T>> forwards() {
  using C = KernelContext;
  return {{"relu", relu<T>},
          {"leaky", [](const C& c, int64_t n, const T* s, T* d) { leaky_relu<T>(c, n, T(0.01), s, d); }},
          {"sigmoid", sigmoid<T>},
          {"tanh", tanh<T>},
          {"gelu erf", [](const C& c, int64_t n, const T* s, T* d) { gelu<T>(c, GeluForm::kErf, n, s, d); }},
          {"gelu tanh", [](const C& c, int64_t n, const T* s, T* d) { gelu<T>(c, GeluForm::kTanh, n, s, d); }}};
}

template <class T>
std::vector<NamedBackward<T>> backwards() {
  using C = KernelContext;
  return {{"relu", relu_grad<T>},
          {"leaky",
           [](const C& c, int64_t n, const T* s, const T* dy, T* d) { leaky_relu_grad<T>(c, n, T(0.01), s, dy, d); }},
          {"sigmoid", sigmoid_grad<T>},
          {"tanh", tanh_grad<T>},
          {"gelu erf",
           [](const C& c, int64_t n, const T* s, const T* dy, T* d) { gelu_grad<T>(c, GeluForm::kErf, n, s, dy, d); }},
          {"gelu tanh", [](const C& c, int64_t n, const T* s, const T* dy, T* d) {
             gelu_grad<T>(c, GeluForm::kTanh, n, s, dy, d);
           }}};
}

template <class T>
class Activation : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Activation, Types);

TYPED_TEST(Activation, EveryIsaAndThreadCount) {
  using T = TypeParam;
  ThreadPool one(1);
  const KernelContext reference{Isa::kReference, &one};
  for (int64_t n : {0, 1, 3, 129, 20011}) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      const std::vector<T> src = random_values<T>(static_cast<size_t>(n), kind, 11);
      const std::vector<T> dy = random_values<T>(static_cast<size_t>(n), kind, 12);
      for (const auto& f : forwards<T>()) {
        std::vector<T> expected(src.size());
        f.run(reference, n, src.data(), expected.data());
        for_each_context([&](const KernelContext& ctx, const std::string& name) {
          std::vector<T> dst = src;
          f.run(ctx, n, dst.data(), dst.data());
          EXPECT_TRUE(same_bits(expected, dst)) << f.name << " " << name;
        });
      }
      for (const auto& f : backwards<T>()) {
        std::vector<T> expected(src.size());
        f.run(reference, n, src.data(), dy.data(), expected.data());
        for_each_context([&](const KernelContext& ctx, const std::string& name) {
          std::vector<T> dst = dy;
          f.run(ctx, n, src.data(), dst.data(), dst.data());
          EXPECT_TRUE(same_bits(expected, dst)) << f.name << " gradient " << name;
        });
      }
    }
  }
}

// ---- what the reference computes, by MPFR with 300 bits ----

Real erf_real(const Real& x) { return Real::of(mpfr_erf, x); }
Real tanh_real(const Real& x) { return Real::of(mpfr_tanh, x); }
Real exp_real(const Real& x) { return Real::of(mpfr_exp, x); }
Real cubic() { return Real(44715) / Real(1000000); }
Real inner(const Real& x) { return root(Real(2) / pi()) * (x + cubic() * x * x * x); }

Real sigmoid_exact(const Real& x) { return Real(1) / (Real(1) + exp_real(Real(0) - x)); }
// 1 + erf(z) as erfc(-z), 1 + tanh(z) as 2 sigmoid(2 z): no cancellation whatever the precision.
Real gelu_exact(GeluForm form, const Real& x) {
  if (form == GeluForm::kTanh) return x * sigmoid_exact(Real(2) * inner(x));
  return x / Real(2) * Real::of(mpfr_erfc, Real(0) - x / root(Real(2)));
}
Real gelu_slope_exact(GeluForm form, const Real& x) {
  if (form == GeluForm::kErf) {
    const Real density = exp_real(Real(0) - x * x / Real(2)) / root(Real(2) * pi());
    return (Real(1) + erf_real(x / root(Real(2)))) / Real(2) + x * density;
  }
  const Real t = tanh_real(inner(x));
  const Real slope = root(Real(2) / pi()) * (Real(1) + Real(3) * cubic() * x * x);
  return (Real(1) + t) / Real(2) + x / Real(2) * (Real(1) - t * t) * slope;
}

TYPED_TEST(Activation, ForwardAgainstMpfr) {
  using T = TypeParam;
  ThreadPool one(1);
  const KernelContext ctx{Isa::kReference, &one};
  std::vector<T> src;
  for (T x : random_values<T>(3000, Values::kUnit, 13)) src.push_back(x * 4);
  const auto n = static_cast<int64_t>(src.size());
  std::vector<T> dst(src.size());
  // float: correctly rounded; double: 1e-15 relative and no more.
  const uint64_t tolerance = sizeof(T) == 4 ? 0 : 9;
  auto check = [&](const char* name, auto exact) {
    for (size_t i = 0; i < src.size(); ++i) {
      const T expected = exact(Real(static_cast<double>(src[i]))).template rounded<T>();
      ASSERT_LE(numerics::ulp_distance(expected, dst[i]), tolerance)
          << name << " of " << testing::describe(src[i]) << " found " << testing::describe(dst[i]);
    }
  };
  sigmoid(ctx, n, src.data(), dst.data());
  check("sigmoid", sigmoid_exact);
  tanh(ctx, n, src.data(), dst.data());
  check("tanh", tanh_real);
  for (GeluForm form : {GeluForm::kErf, GeluForm::kTanh}) {
    gelu(ctx, form, n, src.data(), dst.data());
    check("gelu", [form](const Real& x) { return gelu_exact(form, x); });
  }
}

TYPED_TEST(Activation, GradientsAgainstMpfr) {
  using T = TypeParam;
  ThreadPool one(1);
  const KernelContext ctx{Isa::kReference, &one};
  std::vector<T> src;
  for (T x : random_values<T>(3000, Values::kUnit, 14)) src.push_back(x * 4);
  const auto n = static_cast<int64_t>(src.size());
  const std::vector<T> ones(src.size(), T(1));
  std::vector<T> y(src.size()), dst(src.size());
  const double u = std::numeric_limits<T>::epsilon() / 2;
  for (GeluForm form : {GeluForm::kErf, GeluForm::kTanh}) {
    gelu_grad(ctx, form, n, src.data(), ones.data(), dst.data());
    for (size_t i = 0; i < src.size(); ++i) {
      const double exact = gelu_slope_exact(form, Real(static_cast<double>(src[i]))).value();
      // A sum of terms of order 1, each a few roundings. In the tanh form the rounding of 1 + e counts t * h * l times,
      // up to about 40 before e becomes -1.
      const double roundings = form == GeluForm::kErf ? 12 : 64;
      ASSERT_NEAR(exact, static_cast<double>(dst[i]), roundings * u) << testing::describe(src[i]);
    }
  }
  sigmoid(ctx, n, src.data(), y.data());
  sigmoid_grad(ctx, n, y.data(), ones.data(), dst.data());
  for (size_t i = 0; i < src.size(); ++i) {
    const Real v(static_cast<double>(y[i]));
    const double exact = (v * (Real(1) - v)).value();
    ASSERT_NEAR(exact, static_cast<double>(dst[i]), 3 * u * exact);
  }
  tanh(ctx, n, src.data(), y.data());
  tanh_grad(ctx, n, y.data(), ones.data(), dst.data());
  for (size_t i = 0; i < src.size(); ++i) {
    const Real v(static_cast<double>(y[i]));
    const double exact = (Real(1) - v * v).value();
    ASSERT_NEAR(exact, static_cast<double>(dst[i]), 4 * u * exact);  // relative, however near 1 |y| is
  }
}

TYPED_TEST(Activation, SpecialValues) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  ThreadPool one(1);
  const T inf = L::infinity(), nan = L::quiet_NaN(), big = L::max(), tiny = L::denorm_min();
  const std::vector<T> src{T(0), T(-0.0), inf, -inf, -nan, big, -big, tiny, -tiny};
  const auto n = static_cast<int64_t>(src.size());
  const std::vector<T> ones(src.size(), T(1));
  for (Isa isa : available_isas()) {
    const KernelContext ctx{isa, &one};
    std::vector<T> dst(src.size());
    relu(ctx, n, src.data(), dst.data());
    EXPECT_TRUE(same_bits({T(0), T(0), inf, T(0), nan, big, T(0), tiny, T(0)}, dst));
    relu_grad(ctx, n, src.data(), ones.data(), dst.data());
    EXPECT_TRUE(same_bits({T(0), T(0), T(1), T(0), T(0), T(1), T(0), T(1), T(0)}, dst));
    leaky_relu(ctx, n, T(0.5), src.data(), dst.data());
    EXPECT_TRUE(same_bits({T(0), T(-0.0), inf, -inf, nan, big, -big / 2, tiny, T(-0.0)}, dst));
    leaky_relu_grad(ctx, n, T(0.5), src.data(), ones.data(), dst.data());
    EXPECT_TRUE(same_bits({T(0.5), T(0.5), T(1), T(0.5), T(0.5), T(1), T(0.5), T(1), T(0.5)}, dst));
    for (GeluForm form : {GeluForm::kErf, GeluForm::kTanh}) {
      gelu(ctx, form, n, src.data(), dst.data());
      EXPECT_TRUE(same_bits(std::vector<T>{T(0), T(-0.0), inf, T(-0.0), nan, big, T(-0.0)},
                            std::vector<T>(dst.begin(), dst.begin() + 7)));
      gelu_grad(ctx, form, n, src.data(), ones.data(), dst.data());
      EXPECT_TRUE(same_bits({T(0.5), T(0.5), T(1), T(0), nan, T(1), T(0), T(0.5), T(0.5)}, dst));
    }
  }
}

// f(floats): every 127th float (an error that is believed to be 0 is found at one in four million), or all
// (whole_test).
template <class F>
void over_floats(F f) {
  constexpr int64_t kPart = 1 << 16;
  const uint64_t stride = whole_test() ? 1 : 127, count = ((uint64_t{1} << 32) + stride - 1) / stride;
  std::vector<float> src(kPart);
  for (uint64_t begin = 0; begin < count && !::testing::Test::HasFatalFailure(); begin += kPart) {
    src.resize(std::min<uint64_t>(kPart, count - begin));
    for (size_t i = 0; i < src.size(); ++i) {
      src[i] = numerics::f32_from_bits(static_cast<uint32_t>((begin + i) * stride));
    }
    f(src);
  }
}

// The kernels round a near value where that is sure. In place, so that nothing is left of another one's results.
TEST(ActivationOfFloats, GeluIsTheCorrectlyRoundedOne) {
  ThreadPool one(1);
  over_floats([&](const std::vector<float>& src) {
    std::vector<float> expected;
    for (const float x : src) expected.push_back(numerics::cr_gelu_erf(x));
    for (Isa isa : available_isas()) {
      std::vector<float> dst = src;
      gelu(KernelContext{isa, &one}, GeluForm::kErf, std::ssize(dst), dst.data(), dst.data());
      ASSERT_TRUE(same_bits(expected, dst)) << name_of(isa) << ", inputs from " << testing::describe(src[0]);
    }
  });
}

TEST(ActivationOfFloats, GradientOfGeluIsThatOfRoundedFunctions) {
  ThreadPool one(1);
  over_floats([&](const std::vector<float>& src) {
    const std::vector<float> ones(src.size(), 1.0F);
    const auto gradient = [&](Isa isa) {
      std::vector<float> dst = src;
      gelu_grad(KernelContext{isa, &one}, GeluForm::kErf, std::ssize(dst), dst.data(), ones.data(), dst.data());
      return dst;
    };
    const std::vector<float> expected = gradient(Isa::kReference);
    for (Isa isa : available_isas()) {
      if (isa == Isa::kReference) continue;
      ASSERT_TRUE(same_bits(expected, gradient(isa))) << name_of(isa) << ", inputs from " << testing::describe(src[0]);
    }
  });
}

TYPED_TEST(Activation, ReluGradientFromInputOrOutput) {
  using T = TypeParam;
  ThreadPool one(1);
  const KernelContext ctx{best_isa(), &one};
  const std::vector<T> src = random_values<T>(5000, Values::kSpecial, 15);
  const std::vector<T> dy = random_values<T>(5000, Values::kSpecial, 16);
  std::vector<T> y(5000), from_input(5000), from_output(5000);
  relu(ctx, 5000, src.data(), y.data());
  relu_grad(ctx, 5000, src.data(), dy.data(), from_input.data());
  relu_grad(ctx, 5000, y.data(), dy.data(), from_output.data());
  EXPECT_TRUE(same_bits(from_input, from_output));
}

}  // namespace
}  // namespace isobit::kernels
