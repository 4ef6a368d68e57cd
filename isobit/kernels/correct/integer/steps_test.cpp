// The parts of products by residues, each against integers of the compiler.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "isobit/kernels/correct/integer/exact.h"
#include "isobit/kernels/correct/integer/moduli.h"
#include "isobit/kernels/correct/integer/table.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels::correct::integer {
namespace {

int64_t nearest_to_zero(Int128 x, int p) {
  auto r = static_cast<int64_t>((x % p + p) % p);
  if (2 * r > p || (p == 256 && r == 128)) r -= p;
  return r;
}

Int128 random_integer(std::mt19937_64& random, int bits) {
  const auto wide = static_cast<Int128>(random()) << 64 | static_cast<Int128>(random());
  return wide >> (128 - bits);
}

TEST(Moduli, AreCoprimeAndPutIntegersTogether) {
  std::mt19937_64 random(1);
  for (int count = kFewestModuli; count <= kMostModuli; ++count) {
    const Moduli& m = moduli_of(count);
    Int128 product = 1;
    for (int s = 0; s < count; ++s) {
      product *= m.p[static_cast<size_t>(s)];
      for (int t = 0; t < s; ++t) EXPECT_EQ(std::gcd(m.p[static_cast<size_t>(s)], m.p[static_cast<size_t>(t)]), 1);
    }
    EXPECT_TRUE(product == m.product);
    EXPECT_EQ(m.group[0] * m.group[1], static_cast<double>(product));
    EXPECT_LT(std::max(m.group[0], m.group[1]), 0x1p48);
    EXPECT_LT(m.largest_norm, 0x1p47);
    EXPECT_LT(2 * m.largest_norm * m.largest_norm, static_cast<double>(product) * (1 - 0x1p-11));
    for (int trial = 0; trial < 1000; ++trial) {
      const Int128 p = trial == 0   ? product / 2 - 1
                       : trial == 1 ? -(product / 2 - 1)
                                    : random_integer(random, 128) % (product / 2);
      int8_t u[kMostModuli];
      for (int s = 0; s < count; ++s) {
        const auto at = static_cast<size_t>(s);
        u[s] = static_cast<int8_t>(nearest_to_zero(p % m.p[at] * m.weight[at], m.p[at]));
      }
      EXPECT_TRUE(combined(m, u, 1) == p) << count << ", trial " << trial;
    }
  }
}

TEST(IntegerSteps, RoundingResiduesAndSumsOfEveryInstructionSet) {
  std::mt19937_64 random(2);
  const Moduli& m = moduli_of(kMostModuli);
  std::vector<double> y(kTile), integers(kTile), rests(kTile);
  std::vector<int32_t> sums(kBlockSums);
  std::vector<int8_t> residues(kTile), u(kBlockSums);
  for (int trial = 0; trial < 30; ++trial) {
    // The largest, halves and what is next to them, and anything between.
    for (double& v : y) {
      const auto integer = static_cast<double>(static_cast<int64_t>(random_integer(random, 8 + trial % 40)));
      v = trial % 3 == 0 ? integer : trial % 3 == 1 ? std::trunc(integer / 4) / 2 : integer * 0x1.000001p-9;
    }
    y[0] = 0x1p47 - 1, y[1] = -y[0];
    for (int32_t& v : sums) v = static_cast<int32_t>(random());
    sums[0] = INT32_MIN, sums[1] = INT32_MAX;
    for (Isa isa : available_isas()) {
      const Table& loops = table_of(isa);
      EXPECT_EQ(loops.round(y.data(), integers.data(), rests.data()), trial % 3 != 0) << name_of(isa);
      for (size_t q = 0; q < y.size(); ++q) {
        ASSERT_EQ(integers[q], std::nearbyint(y[q])) << name_of(isa);
        ASSERT_EQ(integers[q] + rests[q], y[q]);
        ASSERT_LE(std::fabs(rests[q]), 0.5);
      }
      for (int s = 0; s < m.count; ++s) {
        const int p = m.p[static_cast<size_t>(s)], weight = m.weight[static_cast<size_t>(s)];
        loops.residues(integers.data(), p, residues.data());
        for (size_t q = 0; q < y.size(); ++q) {
          ASSERT_EQ(residues[q], nearest_to_zero(static_cast<int64_t>(integers[q]), p)) << name_of(isa) << ", p " << p;
        }
        for (const bool add : {false, true}) {
          for (size_t q = 0; q < u.size(); ++q) u[q] = residues[q];
          loops.reduce(sums.data(), p, weight, add, u.data(), kBlock);
          for (size_t q = 0; q < u.size(); ++q) {
            const Int128 sum = static_cast<Int128>(sums[q]) * weight + (add ? residues[q] : 0);
            ASSERT_EQ(u[q], nearest_to_zero(sum, p)) << name_of(isa) << ", p " << p << ", sum " << sums[q];
          }
        }
      }
    }
  }
}

void expect_products(const TileProduct& tiles, int64_t steps, int64_t blocks, bool extreme) {
  std::mt19937_64 random(static_cast<uint64_t>(steps));
  const auto size = static_cast<size_t>(steps * kTile);
  std::vector<int8_t> left(2 * size), right(static_cast<size_t>(2 * blocks) * size);
  for (std::vector<int8_t>* side : {&left, &right}) {
    for (int8_t& v : *side) v = static_cast<int8_t>(extreme ? (random() % 8 != 0 ? -128 : 127) : random());
  }
  std::vector<int32_t> sums(static_cast<size_t>(blocks * kBlockSums), 7);
  tiles.multiply({left.data(), right.data(), steps * kTile, steps, blocks}, sums.data());
  for (int64_t q = 0; q < blocks; ++q) {
    for (int64_t i = 0; i < kBlock; ++i) {
      for (int64_t j = 0; j < kBlock; ++j) {
        int64_t sum = 0;
        for (int64_t l = 0; l < kStep * steps; ++l) {
          const int64_t t = l / kStep, within = l % kStep;
          const int64_t a = i / kPanel * steps * kTile + t * kTile + i % kPanel * kStep + within;
          const int64_t b =
              (2 * q + j / kPanel) * steps * kTile + t * kTile + within / 4 * kStep + j % kPanel * 4 + within % 4;
          sum += left[static_cast<size_t>(a)] * right[static_cast<size_t>(b)];
        }
        ASSERT_EQ(sums[static_cast<size_t>(q * kBlockSums + i * kBlock + j)], sum)
            << tiles.name << ", steps " << steps << ", block " << q << ", " << i << ", " << j;
      }
    }
  }
}

TEST(IntegerTiles, ArePlainSumsOnEveryInstructionSet) {
  for (Isa isa : available_isas()) {
    expect_products(plain_tiles(isa), 1, 1, false);
    expect_products(plain_tiles(isa), 3, 3, false);
    expect_products(plain_tiles(isa), 32, 2, true);
  }
}

// The registers of AMX and its instructions as Intel's manual defines them.
int8_t registers[8][16][64];

void store_rows(int r, int32_t* to, int64_t stride) {
  for (int i = 0; i < 16; ++i) std::memcpy(reinterpret_cast<int8_t*>(to) + i * stride, registers[r][i], 64);
}

void multiply_registers(int r, int a, int b) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      int32_t sum;
      std::memcpy(&sum, &registers[r][i][4 * j], 4);
      for (int q = 0; q < 16; ++q) {
        for (int e = 0; e < 4; ++e) sum += registers[a][i][4 * q + e] * registers[b][q][4 * j + e];
      }
      std::memcpy(&registers[r][i][4 * j], &sum, 4);
    }
  }
}

#define TILE_ZERO(r) std::memset(registers[r], 0, sizeof registers[r])
#define TILE_LOAD(r, from) std::memcpy(registers[r], from, sizeof registers[r])
#define TILE_MULTIPLY(r, a, b) multiply_registers(r, a, b)
#define TILE_STORE(r, to, stride) store_rows(r, to, stride)
#include "isobit/kernels/correct/integer/amx_strip.inc"

// What amx.cpp does with the unit; the instructions themselves only where they are.
TEST(IntegerTiles, ArePlainSumsOnAModelOfTheMatrixUnit) {
  const TileProduct model = {"model", multiply_strip, 1};
  expect_products(model, 1, 1, false);
  expect_products(model, 3, 3, false);
  expect_products(model, 32, 1, true);
}

TEST(IntegerTiles, ArePlainSumsOnTheMatrixUnit) {
  if (!amx_is_there()) GTEST_SKIP() << "skipped: no AMX";
  EXPECT_TRUE(amx_available());
  for (const int64_t steps : {1, 2, 3, 32}) {
    for (const int64_t blocks : {1, 2, 5}) {
      expect_products(amx_tiles(), steps, blocks, false);
      expect_products(amx_tiles(), steps, blocks, true);
    }
  }
}

TEST(IntegerExact, RoundsOnceTiesToEven) {
  const auto bits = [](Int128 x, int e) { return numerics::bits_of(rounded(x, e)); };
  EXPECT_EQ(bits(0, 5), 0u);
  EXPECT_EQ(rounded(-3, -1), -1.5f);
  const Int128 tie = (Int128{1} << 90) + (Int128{1} << 66);  // 2^66 is half the spacing
  EXPECT_EQ(rounded(tie, 0), 0x1p90f);
  EXPECT_EQ(rounded(tie + 1, 0), 0x1.000002p90f);
  EXPECT_EQ(rounded(tie - 1, 0), 0x1p90f);
  EXPECT_EQ(rounded(-tie - 1, 0), -0x1.000002p90f);
  EXPECT_EQ(rounded(tie + (Int128{1} << 67), 0), 0x1.000004p90f);
  EXPECT_EQ(bits(1, -150), 0u);            // half of the smallest: to even
  EXPECT_EQ(bits(-1, -150), 0x80000000u);  // and keeps its sign
  EXPECT_EQ(bits((Int128{1} << 80) + 1, -230), 1u);
  EXPECT_EQ(bits(3, -150), 2u);
  EXPECT_EQ(bits((Int128{1} << 94), 100), 0x7f800000u);
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 10000; ++trial) {
    const Int128 x = random_integer(random, 30 + trial % 66);
    const auto high = static_cast<float>(x);  // the compiler's own conversion rounds once, too
    EXPECT_EQ(rounded(x, -20), std::ldexp(high, -20));
  }
}

}  // namespace
}  // namespace isobit::kernels::correct::integer
