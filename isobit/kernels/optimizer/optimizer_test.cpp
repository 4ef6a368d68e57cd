#include "isobit/kernels/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::for_each_context;
using testing::random_values;
using testing::same_bits;
using testing::Values;

std::vector<SgdArgs> sgd_cases() {
  return {{.lr = 0.1},
          {.lr = 0.05, .weight_decay = 5e-4},
          {.lr = 0.1, .momentum = 0.9},
          {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4, .grad_scale = 0.3},
          {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4, .nesterov = true}};
}

std::vector<AdamArgs> adam_cases(int64_t t) {
  const double p1 = beta_power(0.9, t), p2 = beta_power(0.999, t);
  return {{.lr = 1e-3, .beta1_power = p1, .beta2_power = p2},
          {.lr = 1e-3, .weight_decay = 0.01, .beta1_power = p1, .beta2_power = p2, .grad_scale = 0.7},
          {.lr = 1e-3, .weight_decay = 0.01, .decoupled = true, .beta1_power = p1, .beta2_power = p2}};
}

template <class T>
struct State {
  std::vector<T> params, first, second;
};

template <class T>
State<T> random_state(size_t n, Values kind, uint64_t seed) {
  State<T> s{random_values<T>(n, kind, seed), random_values<T>(n, kind, seed + 1), random_values<T>(n, kind, seed + 2)};
  if (kind == Values::kUnit) {
    for (T& v : s.second) v = v * v;
  }
  return s;
}

template <class T>
void step(const KernelContext& ctx, const SgdArgs& args, const State<T>& in, const std::vector<T>& grads,
          State<T>& out) {
  sgd<T>(ctx, args, static_cast<int64_t>(grads.size()),
         {in.params.data(), grads.data(), args.momentum != 0 ? in.first.data() : nullptr, out.params.data(),
          args.momentum != 0 ? out.first.data() : nullptr});
}
template <class T>
void step(const KernelContext& ctx, const AdamArgs& args, const State<T>& in, const std::vector<T>& grads,
          State<T>& out) {
  adam<T>(ctx, args, static_cast<int64_t>(grads.size()),
          {in.params.data(), grads.data(), in.first.data(), in.second.data(), out.params.data(), out.first.data(),
           out.second.data()});
}

template <class T>
class Optimizer : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Optimizer, Types);

template <class T, class Args>
void check_everywhere(const Args& args, size_t n, Values kind) {
  ThreadPool one(1);
  const State<T> before = random_state<T>(n, kind, 31);
  const std::vector<T> grads = random_values<T>(n, kind, 41);
  State<T> expected = before;
  step(KernelContext{Isa::kReference, &one}, args, before, grads, expected);
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    State<T> out = before;
    step(ctx, args, before, grads, out);
    EXPECT_TRUE(same_bits(expected.params, out.params)) << name;
    EXPECT_TRUE(same_bits(expected.first, out.first)) << name;
    EXPECT_TRUE(same_bits(expected.second, out.second)) << name;
    State<T> in_place = before;
    step(ctx, args, in_place, grads, in_place);
    EXPECT_TRUE(same_bits(expected.params, in_place.params)) << name << " in place";
    EXPECT_TRUE(same_bits(expected.first, in_place.first)) << name << " in place";
    EXPECT_TRUE(same_bits(expected.second, in_place.second)) << name << " in place";
  });
}

TYPED_TEST(Optimizer, EveryIsaAndThreadCountOutOfPlaceAndInPlace) {
  for (size_t n : {0, 1, 7, 64, 20011}) {
    for (Values kind : {Values::kUnit, Values::kSpecial}) {
      for (const SgdArgs& args : sgd_cases()) check_everywhere<TypeParam>(args, n, kind);
      for (const AdamArgs& args : adam_cases(3)) check_everywhere<TypeParam>(args, n, kind);
    }
  }
}

// PyTorch's documentation, in double and in its own order: moments as lerp, denominator as it writes it.
struct Torch {
  double p, first = 0, second = 0;

  void sgd(const SgdArgs& a, double g, int64_t t) {
    g = g * a.grad_scale + a.weight_decay * p;
    if (a.momentum != 0) {
      first = t == 1 ? g : a.momentum * first + g;
      g = a.nesterov ? g + a.momentum * first : first;
    }
    p -= a.lr * g;
  }
  void adam(const AdamArgs& a, double g, int64_t t) {
    g *= a.grad_scale;
    if (a.decoupled)
      p *= 1 - a.lr * a.weight_decay;
    else
      g += a.weight_decay * p;
    first += (g - first) * (1 - a.beta1);
    second = second * a.beta2 + (1 - a.beta2) * g * g;
    const double c1 = 1 - std::pow(a.beta1, static_cast<double>(t)), c2 = 1 - std::pow(a.beta2, static_cast<double>(t));
    p -= a.lr / c1 * first / (std::sqrt(second) / std::sqrt(c2) + a.eps);
  }
};

constexpr int64_t kSteps = 20;
constexpr size_t kCount = 500;

template <class T, class ArgsAt, class Update>
void check_against_torch(ArgsAt args_at, Update update) {
  ThreadPool pool(1);
  State<T> state{random_values<T>(kCount, Values::kUnit, 51), std::vector<T>(kCount), std::vector<T>(kCount)};
  std::vector<Torch> torch;
  for (T p : state.params) torch.push_back({static_cast<double>(p)});
  for (int64_t t = 1; t <= kSteps; ++t) {
    const std::vector<T> grads = random_values<T>(kCount, Values::kUnit, 60 + static_cast<uint64_t>(t));
    const auto args = args_at(t);
    step(KernelContext{Isa::kReference, &pool}, args, state, grads, state);
    for (size_t i = 0; i < kCount; ++i) update(torch[i], args, static_cast<double>(grads[i]), t);
  }
  // Some ten roundings a step, the parameters and what is subtracted of order 1.
  const double tolerance = static_cast<double>(kSteps) * 20 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (size_t i = 0; i < kCount; ++i) ASSERT_NEAR(torch[i].p, static_cast<double>(state.params[i]), tolerance) << i;
}

TYPED_TEST(Optimizer, AgreesWithPyTorchsFormulas) {
  for (size_t c = 0; c < sgd_cases().size(); ++c) {
    check_against_torch<TypeParam>([c](int64_t) { return sgd_cases()[c]; },
                                   [](Torch& p, const SgdArgs& a, double g, int64_t t) { p.sgd(a, g, t); });
  }
  for (size_t c = 0; c < adam_cases(1).size(); ++c) {
    check_against_torch<TypeParam>([c](int64_t t) { return adam_cases(t)[c]; },
                                   [](Torch& p, const AdamArgs& a, double g, int64_t t) { p.adam(a, g, t); });
  }
}

TEST(ClipFactor, Sequence) {
  EXPECT_EQ(clip_factor(0.5f, 1.0f), 1.0f);
  EXPECT_EQ(clip_factor(0.0f, 1.0f), 1.0f);
  EXPECT_EQ(clip_factor(4.0f, 1.0f), 1.0f / (4.0f + 1e-6f));
  EXPECT_EQ(clip_factor(4.0, 1.0), 1.0 / (4.0 + 1e-6));
  EXPECT_EQ(clip_factor(INFINITY, 1.0f), 0.0f);
  EXPECT_EQ(numerics::bits_of(clip_factor(-NAN, 1.0f)), numerics::kNanBitsF32);
  EXPECT_EQ(numerics::bits_of(clip_factor(static_cast<double>(-NAN), 1.0)), numerics::kNanBitsF64);
}

TEST(BetaPower, IsRepeatedMultiplication) {
  EXPECT_EQ(beta_power(0.9, 0), 1.0);
  EXPECT_EQ(beta_power(0.9, 1), 0.9);
  EXPECT_EQ(beta_power(0.9, 3), 0.9 * 0.9 * 0.9);
  EXPECT_EQ(beta_power(0.999, 1000), beta_power(0.999, 999) * 0.999);
  EXPECT_NEAR(beta_power(0.999, 1000), std::pow(0.999, 1000), 1e-12);
}

}  // namespace
}  // namespace isobit::kernels
