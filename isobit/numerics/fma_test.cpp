#include "isobit/numerics/fma.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <random>
#include <vector>

#include "isobit/numerics/bits.h"

namespace isobit::numerics {
namespace {

// a * b + c by MPFR: exact (at most 48 and 24 bits, exponents 600 apart), then one rounding, subnormals included.
class Oracle {
 public:
  Oracle() { mpfr_inits2(1200, a_, b_, static_cast<mpfr_ptr>(nullptr)); }
  ~Oracle() { mpfr_clears(a_, b_, static_cast<mpfr_ptr>(nullptr)); }
  float fma(float a, float b, float c) {
    mpfr_set_flt(a_, a, MPFR_RNDN);
    mpfr_set_flt(b_, b, MPFR_RNDN);
    mpfr_mul(a_, a_, b_, MPFR_RNDN);
    mpfr_set_flt(b_, c, MPFR_RNDN);
    mpfr_add(a_, a_, b_, MPFR_RNDN);
    return canonical(mpfr_get_flt(a_, MPFR_RNDN));
  }

 private:
  mpfr_t a_, b_;
};

class Fma : public testing::Test {
 protected:
  void check(float a, float b, float c) {
    const uint32_t expected = bits_of(oracle_.fma(a, b, c));
    const uint32_t emulated = bits_of(canonical(fma_f32_emulated(a, b, c)));
    const uint32_t used = bits_of(canonical(fma_f32(a, b, c)));
    if (emulated != expected || used != expected) {
      ADD_FAILURE() << std::hex << "fma(" << bits_of(a) << ", " << bits_of(b) << ", " << bits_of(c) << "): expected "
                    << expected << ", emulated " << emulated << ", used " << used;
    }
  }
  float random_bits() { return f32_from_bits(static_cast<uint32_t>(random_())); }
  // Exponent within +-spread of 1, so that all three operands matter.
  float random_near_one(int spread) {
    const uint32_t exponent = static_cast<uint32_t>(127 - spread + static_cast<int>(random_() % (2u * spread + 1)));
    return f32_from_bits((static_cast<uint32_t>(random_()) & 0x807fffffu) | exponent << 23);
  }
  Oracle oracle_;
  std::mt19937_64 random_{1};
};

TEST_F(Fma, SpecialValuesInEveryPlace) {
  std::vector<float> values;
  for (const uint32_t b :
       {0u, 1u, 2u, 0x7fffffu, 0x800000u, 0x800001u, 0x3f000000u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x40000000u,
        0x4b800000u, 0x7f000000u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u, 0x33800000u}) {
    values.push_back(f32_from_bits(b));
    values.push_back(f32_from_bits(b | 0x80000000u));
  }
  for (const float a : values) {
    for (const float b : values) {
      for (const float c : values) check(a, b, c);
    }
  }
}

TEST_F(Fma, RandomBits) {
  for (int i = 0; i < 300000; ++i) check(random_bits(), random_bits(), random_bits());
}

TEST_F(Fma, ComparableOperands) {
  for (int i = 0; i < 300000; ++i) check(random_near_one(3), random_near_one(3), random_near_one(30));
}

// c is a float32 midpoint's worth away from a * b: float64 would round the sum to the midpoint, and then to even.
TEST_F(Fma, DoubleRounding) {
  for (int i = 0; i < 300000; ++i) {
    const float c = random_near_one(2);
    const float half_ulp = f32_from_bits((bits_of(c) & 0x7f800000u) - (24u << 23));
    // (1 + e)(1 - e) half_ulp and the like: the midpoint, off by 2^-46 .. 2^-2 of itself, to either side
    const float e = f32_from_bits((127u - 1 - static_cast<uint32_t>(random_() % 23)) << 23);
    const float sign = random_() & 1 ? 1.0f : -1.0f;
    check(sign * half_ulp * (1 + e), 1 - e, c);
    check(sign * half_ulp * (1 + e), 1 + e, c);
    check(sign * half_ulp, 1 + e, c);
    check(sign * half_ulp, 1, c);
    check(sign * half_ulp, next_up(1.0f), c);
    check(sign * half_ulp, next_down(1.0f), c);
  }
}

// Results in and below the subnormal range, cancellations included.
TEST_F(Fma, SubnormalResults) {
  for (int i = 0; i < 300000; ++i) {
    const float a = f32_from_bits(bits_of(random_near_one(20)) - (64u << 23));
    const float b = f32_from_bits(bits_of(random_near_one(20)) - (70u << 23));
    const float c = f32_from_bits(static_cast<uint32_t>(random_()) & 0x81ffffffu);
    check(a, b, c);
    check(a, b, -a * b);
    check(a, b, 0.0f);
    check(a, b, f32_from_bits(1));
  }
}

// The hard case found by hand: 2^-24 (1 + 2^-23)^2 over 1 is just above a midpoint of float32 and float64 loses it.
TEST_F(Fma, TieBrokenFarBelow) {
  check(0x1.000002p-12f, 0x1.000002p-12f, 1.0f);
  check(0x1p-24f, 1.0f, 1.0f);
  check(0x1p-75f, 0x1p-75f, 0x1p-149f);
  check(-0x1p-75f, 0x1p-75f, 0x1p-149f);
  check(0x1p-75f, 0x1.8p-75f, 0x1p-126f);
  check(0x1.fffffep127f, 1.0f, 0x1p103f);
  check(0x1.fffffep127f, 1.0f, 0x1.fffffep102f);
}

TEST(Fma64, RoundsOnce) {
  EXPECT_EQ(fma_f64(0x1.0000000000001p0, 0x1.0000000000001p0, -1.0), 0x1.00000000000008p-51);
  EXPECT_EQ(fma_f64(0x1p-600, 0x1p-600, 1.0), 1.0);
}

}  // namespace
}  // namespace isobit::numerics
