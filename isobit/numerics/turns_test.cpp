#include "isobit/numerics/turns.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isobit::numerics {
namespace {

TEST(Turns, AreExactAtQuarters) {
  for (int64_t n : {int64_t{4}, int64_t{8}, int64_t{100}, int64_t{1} << 59}) {
    const double expected[4][2] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}};
    for (int64_t quarter = -4; quarter < 8; ++quarter) {
      const SinCos found = sin_cos_of_turn(quarter * (n / 4), n);
      EXPECT_EQ(found.sin, expected[(quarter + 4) % 4][0]) << quarter << " of " << n;
      EXPECT_EQ(found.cos, expected[(quarter + 4) % 4][1]) << quarter << " of " << n;
      EXPECT_FALSE(found.sin == 0 && std::signbit(found.sin));
      EXPECT_FALSE(found.cos == 0 && std::signbit(found.cos));
    }
  }
}

TEST(Turns, AreNearTheCLibrarys) {
  for (int64_t n : {1, 2, 3, 5, 7, 10, 16, 97, 400, 1024, 44100}) {
    for (int64_t j = 0; j < n; j += 1 + n / 500) {
      const SinCos found = sin_cos_of_turn(j, n);
      // In long double: the argument itself is then right to 64 bits.
      const long double angle = 2 * 3.141592653589793238462643383279502884L * static_cast<long double>(j) / n;
      EXPECT_NEAR(found.sin, static_cast<double>(std::sin(angle)), 4e-16) << j << " of " << n;
      EXPECT_NEAR(found.cos, static_cast<double>(std::cos(angle)), 4e-16) << j << " of " << n;
    }
  }
}

TEST(Turns, AreSymmetricToTheBit) {
  for (int64_t n : {3, 12, 25, 400, 1000}) {
    for (int64_t j = 1; j < n; ++j) {
      const SinCos a = sin_cos_of_turn(j, n), b = sin_cos_of_turn(n - j, n), c = sin_cos_of_turn(j + 5 * n, n);
      EXPECT_EQ(a.sin, -b.sin) << j << " of " << n;
      EXPECT_EQ(a.cos, b.cos) << j << " of " << n;
      EXPECT_EQ(a.sin, c.sin) << j << " of " << n;
    }
  }
}

}  // namespace
}  // namespace isobit::numerics
