#include "isobit/kernels/rounding/places.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace isobit::kernels::rounding {
namespace {

using numerics::bits_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two values next to each other, and the same two with their signs changed.
void expect_neighbours(double low, double high, int bits) {
  for (const bool negative : {false, true}) {
    const double below = negative ? -high + 0.0 : low, above = negative ? -low + 0.0 : high;
    EXPECT_EQ(bits_of(neighbour(below, true, bits)), bits_of(above)) << below << ", " << bits << " bits";
    EXPECT_EQ(bits_of(neighbour(above, false, bits)), bits_of(below)) << above << ", " << bits << " bits";
    EXPECT_EQ(place_of(above, bits) - place_of(below, bits), 1) << below << ", " << bits << " bits";
  }
}

TEST(Places, NeighboursAtEveryKindOfEdge) {
  for (int bits = kLeastBits; bits <= kMostBits; ++bits) {
    const int digits = bits - 8;
    const double tiny = std::ldexp(1.0, -149 + 32 - bits), last = std::ldexp(1.0, 128 - digits);
    expect_neighbours(0, tiny, bits);
    expect_neighbours(tiny, 2 * tiny, bits);
    expect_neighbours(0x1p-126 - tiny, 0x1p-126, bits);
    expect_neighbours(0x1p-126, 0x1p-126 + tiny, bits);
    for (const double binade : {0x1p-125, 0x1p-3, 1.0, 0x1p64, 0x1p127}) {
      const double above = std::ldexp(binade, 1 - digits);
      expect_neighbours(binade - above / 2, binade, bits);
      expect_neighbours(binade, binade + above, bits);
    }
    expect_neighbours(0x1p128 - 2 * last, 0x1p128 - last, bits);
    expect_neighbours(0x1p128 - last, kInfinity, bits);
    EXPECT_EQ(neighbour(kInfinity, true, bits), kInfinity);
    EXPECT_EQ(neighbour(-kInfinity, false, bits), -kInfinity);
    EXPECT_EQ(place_of(-0.0, bits), 0);
    EXPECT_EQ(neighbour(-0.0, true, bits), tiny);
    EXPECT_EQ(neighbour(-0.0, false, bits), -tiny);
    EXPECT_EQ(bits_of(value_at(0, bits)), bits_of(0.0));
  }
}

// Nothing lies between neighbours: what is between them rounds to one of them.
TEST(Places, RoundingKnowsNoValueBetweenNeighbours) {
  std::mt19937_64 random(1);
  for (int bits = kLeastBits; bits <= kMostBits; ++bits) {
    for (int i = 0; i < 2000; ++i) {
      const double x = static_cast<double>(numerics::f32_from_bits(static_cast<uint32_t>(random())));
      const double r = round_to_bits(x, bits) + 0.0, next = neighbour(r, true, bits);
      if (std::isnan(r) || std::isinf(r) || std::isinf(next)) continue;
      ASSERT_EQ(bits_of(value_at(place_of(r, bits), bits)), bits_of(r));
      ASSERT_LT(r, next);
      const double middle = (r + next) / 2;
      ASSERT_EQ(round_to_bits(std::nextafter(middle, -kInfinity), bits) + 0.0, r);
      ASSERT_EQ(round_to_bits(std::nextafter(middle, kInfinity), bits) + 0.0, next);
    }
  }
}

}  // namespace
}  // namespace isobit::kernels::rounding
