// Who computes a convolution: the algorithm that was asked for, the platform where it does not apply, the winner of a
// race under a clock that answers what the test says.
#include "isobit/kernels/vendor/algorithms/over_own.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/kernels/testing.h"
#include "isobit/kernels/vendor/algorithms/convolution_for_test.h"

namespace isobit::kernels::algorithms {
namespace {

using testing::Convolution;
using testing::opened;
using testing::shape_of;

// Every question for the time is answered by the next time of the script: two for each candidate.
struct Script {
  std::vector<double> durations;  // of the candidates in the order of the race; then 1 for ever
  size_t asked = 0;
  double now = 0;

  double operator()() {
    if (asked % 2 == 1) now += asked / 2 < durations.size() ? durations[asked / 2] : 1;
    ++asked;
    return now;
  }
};

// Fills with a number and says how often it was asked; refuses shapes of stride 2, or fails.
class Constant final : public Algorithm {
 public:
  Constant(float value, int& calls, bool fails = false) : value_(value), calls_(calls), fails_(fails) {}
  std::string refuses(const ConvShape& s) const override { return s.stride_h == 2 ? "it has stride 1 only" : ""; }
  Status forward(const Call& c) override {
    ++calls_;
    if (fails_) return unavailable("no power");
    std::fill_n(c.dst, c.shape.n * c.shape.oc * c.shape.oh() * c.shape.ow(), value_);
    return {};
  }

 private:
  float value_;
  int& calls_;
  bool fails_;
};

class Race : public ::testing::Test {
 protected:
  std::unique_ptr<Fastest> race(std::vector<double> durations, bool second_fails = false) {
    std::vector<Candidate> candidates;
    candidates.push_back({"ones", std::make_unique<Constant>(1.0f, ones_)});
    candidates.push_back({"twos", std::make_unique<Constant>(2.0f, twos_, second_fails)});
    script_ = {std::move(durations)};
    return std::make_unique<Fastest>(opened("direct", nullptr), std::move(candidates), [this] { return script_(); });
  }
  static float first_of(const std::vector<float>& v) { return v.front(); }

  int ones_ = 0, twos_ = 0;
  Script script_;
  const Convolution x_{shape_of(1, 2, 5, 5, 3, 3, 1)};
};

TEST_F(Race, TheFastestComputesFromThenOn) {
  const auto fastest = race({3, 1, 2});
  EXPECT_EQ(first_of(x_.by(*fastest)), 1.0f);
  EXPECT_EQ(fastest->last_conv_forward().name, "ones");
  EXPECT_EQ(fastest->last_conv_forward().why,
            "fastest of 3, timed once: own 3000.000 ms, ones 1000.000 ms, twos 2000.000 ms");
  EXPECT_EQ(ones_, 2) << "once in the race, and once more since another one ran after it";
  EXPECT_EQ(twos_, 1);
  const size_t asked = script_.asked;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first_of(x_.by(*fastest)), 1.0f);
  EXPECT_EQ(script_.asked, asked) << "no second race";
  EXPECT_EQ(ones_, 5);
  EXPECT_EQ(twos_, 1);
}

TEST_F(Race, TheLastOneNeedNotRunAgain) {
  const auto fastest = race({3, 2, 1});
  EXPECT_EQ(first_of(x_.by(*fastest)), 2.0f);
  EXPECT_EQ(twos_, 1);
}

TEST_F(Race, ThePlatformsOwnMayWin) {
  const auto fastest = race({1, 2, 3});
  const std::vector<float> found = x_.by(*fastest);
  EXPECT_EQ(fastest->last_conv_forward().name, "own");
  EXPECT_TRUE(kernels::testing::same_bits(x_.by(*opened("direct", nullptr)), found));
}

TEST_F(Race, OfEqualsTheFirst) {
  const auto fastest = race({2, 1, 1});
  x_.by(*fastest);
  EXPECT_EQ(fastest->last_conv_forward().name, "ones");
}

TEST_F(Race, EveryShapeHasItsOwn) {
  const auto fastest = race({3, 1, 2, /* another shape */ 3, 2, 1});
  x_.by(*fastest);
  const Convolution other(shape_of(1, 2, 6, 5, 3, 3, 1));
  EXPECT_EQ(first_of(other.by(*fastest)), 2.0f);
  EXPECT_EQ(first_of(x_.by(*fastest)), 1.0f);
  x_.by(*fastest, false);
  EXPECT_EQ(script_.asked, 18u) << "without its bias it is another shape";
}

TEST_F(Race, WhoRefusesDoesNotRun) {
  const auto fastest = race({1});
  ConvShape s = x_.s;
  s.stride_h = 2;
  Convolution(s).by(*fastest);
  EXPECT_EQ(fastest->last_conv_forward().name, "own");
  EXPECT_EQ(ones_ + twos_, 0);
}

TEST_F(Race, AnErrorIsTheCallers) {
  const auto fastest = race({1, 1, 1}, true);
  std::vector<float> dst(x_.outputs());
  const Status done = fastest->conv_forward(x_.s, x_.src.data(), x_.weights.data(), nullptr, dst.data());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "no power");
  EXPECT_EQ(fastest->last_conv_forward().name, "");
}

// The same shape, the same machine, other answers of the clock: other bits.
TEST(Autotune, TheClockDecidesTheBits) {
  const Convolution x(shape_of(2, 16, 12, 12, 8, 3, 1));
  const auto with = [&](size_t winner) {
    Script script;
    script.durations.assign(9, 2.0);
    script.durations[winner] = 1.0;
    auto products = opened(kAutotune, nullptr, 1, script);
    std::vector<float> result = x.by(*products);
    return std::pair(products->last_conv_forward().name, std::move(result));
  };
  EXPECT_EQ(with(0).first, "own");
  for (size_t winner = 1; winner <= 7; ++winner) {
    const auto [name, found] = with(winner);
    EXPECT_EQ(name, catalogue()[winner - 1].name);
    EXPECT_TRUE(kernels::testing::same_bits(x.by(*opened(name, nullptr)), found)) << name;
    EXPECT_TRUE(with(winner).second == found) << "the same answers, the same bits";
    EXPECT_FALSE(found == with(0).second) << name;
  }
}

TEST(AskedFor, WhereItDoesNotApplyThePlatformComputesAndSaysWhy) {
  ConvShape s = shape_of(1, 2, 5, 5, 3, 3, 1);
  s.stride_h = s.stride_w = 2;
  const auto products = opened("winograd4", nullptr);
  Convolution(s).by(*products);
  EXPECT_EQ(products->last_conv_forward().name, "own");
  EXPECT_EQ(products->last_conv_forward().why, "winograd4: it has stride 1 only");
}

}  // namespace
}  // namespace isobit::kernels::algorithms
