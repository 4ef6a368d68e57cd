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

// The loops of every instruction set, and those beside the matrix unit.
std::vector<std::pair<std::string, Table>> all_loops() {
  std::vector<std::pair<std::string, Table>> all;
  for (const Isa isa : available_isas()) all.emplace_back(name_of(isa), table_of(isa));
  if (amx_is_there()) all.emplace_back("amx", amx_unit().loops);
  return all;
}

TEST(IntegerSteps, ElementsComeToTheirPlacesScaled) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t lines = trial % 4 == 0 ? kPanel : static_cast<int64_t>(random() % 17),
                  terms = trial % 3 == 0 ? kStep : static_cast<int64_t>(random() % 65);
    const bool lines_first = trial % 2 == 0, right = random() % 2 == 0;
    const int64_t ld = (lines_first ? terms : lines) + static_cast<int64_t>(random() % 5);
    std::vector<double> from(static_cast<size_t>((lines_first ? lines : terms) * ld)), scales(kPanel, 2.0);
    for (double& v : from) v = static_cast<double>(random() % 1000);
    for (int64_t i = 0; i < lines; ++i)
      scales[static_cast<size_t>(i)] = std::ldexp(1.0, static_cast<int>(random() % 9));
    const int64_t zeros = static_cast<int64_t>(random() % 20);  // a line of infinities, or none
    const auto at = [&](int64_t i, int64_t l) { return static_cast<size_t>(lines_first ? i * ld + l : l * ld + i); };
    if (zeros < lines) {
      scales[static_cast<size_t>(zeros)] = 0;
      for (int64_t l = 0; l < terms; ++l) from[at(zeros, l)] = INFINITY;
    }
    for (const auto& [name, loops] : all_loops()) {
      std::vector<double> y(kTile, NAN);
      loops.arrange({.from = from.data(),
                     .ld = ld,
                     .lines_first = lines_first,
                     .lines = lines,
                     .terms = terms,
                     .scales = scales.data()},
                    right, y.data());
      for (int64_t i = 0; i < kPanel; ++i) {
        for (int64_t l = 0; l < kStep; ++l) {
          const bool there = i < lines && l < terms && i != zeros;
          const double expected = there ? from[at(i, l)] * scales[static_cast<size_t>(i)] : 0;
          ASSERT_EQ(y[static_cast<size_t>(right ? 64 * (l / 4) + 4 * i + l % 4 : 64 * i + l)], expected)
              << name << ", line " << i << ", term " << l;
        }
      }
    }
  }
}

TEST(IntegerSteps, TheLargestOfEachLine) {
  std::mt19937_64 random(5);
  for (const bool right : {false, true}) {
    for (const auto& [name, loops] : all_loops()) {
      std::vector<double> integers(kTile), found(kPanel), expected(kPanel);
      for (double& v : integers) v = static_cast<double>(static_cast<int64_t>(random() % 20001) - 10000);
      for (size_t i = 0; i < expected.size(); ++i) found[i] = expected[i] = static_cast<double>(9600 + random() % 500);
      for (int64_t i = 0; i < kPanel; ++i) {
        for (int64_t l = 0; l < kStep; ++l) {
          const double v = integers[static_cast<size_t>(right ? 64 * (l / 4) + 4 * i + l % 4 : 64 * i + l)];
          expected[static_cast<size_t>(i)] = std::max(expected[static_cast<size_t>(i)], std::fabs(v));
        }
      }
      loops.enlarge(integers.data(), right, found.data());
      EXPECT_EQ(found, expected) << name;
    }
  }
}

TEST(IntegerSteps, RoundingResiduesAndSumsOfEveryInstructionSet) {
  std::mt19937_64 random(2);
  const Moduli& m = moduli_of(kMostModuli);
  std::vector<double> y(kTile), integers(kTile), rests(kTile);
  std::vector<int32_t> sums(kBlockSums);
  std::vector<int8_t> residues(kMostModuli * kTile), u(kBlockSums);
  std::vector<uint8_t> some(kTile / 8);
  for (int trial = 0; trial < 30; ++trial) {
    // The largest, halves and what is next to them, and anything between.
    for (double& v : y) {
      const auto integer = static_cast<double>(static_cast<int64_t>(random_integer(random, 8 + trial % 40)));
      v = trial % 3 == 0 ? integer : trial % 3 == 1 ? std::trunc(integer / 4) / 2 : integer * 0x1.000001p-9;
    }
    y[0] = 0x1p47 - 1, y[1] = -y[0];
    for (int32_t& v : sums) v = static_cast<int32_t>(random());
    sums[0] = INT32_MIN, sums[1] = INT32_MAX;
    for (const auto& [name, loops] : all_loops()) {
      EXPECT_EQ(loops.round(y.data(), integers.data(), rests.data(), some.data()), trial % 3 != 0) << name;
      for (size_t q = 0; q < y.size(); ++q) {
        ASSERT_EQ(integers[q], std::nearbyint(y[q])) << name;
        ASSERT_TRUE(rests[q] == 0 || some[q / 8] != 0) << name;
        ASSERT_EQ(integers[q] + rests[q], y[q]);
        ASSERT_LE(std::fabs(rests[q]), 0.5);
      }
      loops.residues(integers.data(), m, residues.data(), kTile);
      for (int s = 0; s < m.count; ++s) {
        const int p = m.p[static_cast<size_t>(s)], weight = m.weight[static_cast<size_t>(s)];
        const int8_t* const own = residues.data() + s * kTile;
        for (size_t q = 0; q < y.size(); ++q) {
          ASSERT_EQ(own[q], nearest_to_zero(static_cast<int64_t>(integers[q]), p)) << name << ", p " << p;
        }
        for (const bool add : {false, true}) {
          for (size_t q = 0; q < u.size(); ++q) u[q] = own[q];
          loops.reduce(sums.data(), m, s, add, u.data(), kBlock);
          for (size_t q = 0; q < u.size(); ++q) {
            const Int128 sum = static_cast<Int128>(sums[q]) * weight + (add ? own[q] : 0);
            ASSERT_EQ(u[q], nearest_to_zero(sum, p)) << name << ", p " << p << ", sum " << sums[q];
          }
        }
      }
    }
  }
}

// What the filter is told of 37 columns, all made up.
struct MadeUpRow {
  static constexpr int64_t kColumns = 37;
  std::vector<int8_t> u;
  std::vector<double> scales, norms, largest, rests, rest_sums;
  std::vector<float> bias;
  RowOfSums row;

  MadeUpRow(int moduli, bool biased, std::mt19937_64& random) : u(static_cast<size_t>(moduli * kColumns)) {
    const Moduli& m = moduli_of(moduli);
    for (int8_t& v : u) v = static_cast<int8_t>(static_cast<int>(random() % 217) - 108);
    const auto some = [&](std::vector<double>& values, int exponent) {
      for (int64_t j = 0; j < kColumns; ++j)
        values.push_back(std::ldexp(1 + static_cast<double>(random() % 1000), exponent));
    };
    some(scales, -60), some(norms, 0), some(largest, -3), some(rests, -30), some(rest_sums, -29);
    for (int64_t j = 0; j < kColumns; ++j) bias.push_back(static_cast<float>(random() % 1000) - 500);
    norms[3] = INFINITY, rests[5] = NAN;
    row.moduli = moduli, row.u = u.data(), row.stride = kColumns, row.in_group = m.in_group;
    row.inverse = m.inverse, row.row_scale = 0x1p-40 * m.size;
    row.column_scales = scales.data(), row.row = {3, 1, 0x1p-28, 0x1p-27};
    row.column_norms = norms.data(), row.column_largest = largest.data();
    row.column_rests = rests.data(), row.column_rest_sums = rest_sums.data();
    row.biased = biased, row.row_bias = 0, row.column_bias = biased ? bias.data() : nullptr;
  }
};

// Whatever of it rounds does so alike everywhere.
TEST(IntegerSteps, TheFilterIsOneOnEveryInstructionSet) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 60; ++trial) {
    const int64_t n = 1 + static_cast<int64_t>(random() % MadeUpRow::kColumns);
    const MadeUpRow made(10 + trial % 3, trial % 2 == 1, random);
    std::vector<double> x(static_cast<size_t>(n)), d(x), first_x, first_d;
    std::vector<float> out(x.size()), first_out;
    std::vector<uint32_t> undecided(x.size()), first_undecided;
    for (const auto& [name, loops] : all_loops()) {
      const bool some = loops.filter(n, made.row, out.data(), undecided.data());
      loops.approximate(n, made.row, x.data(), d.data());
      EXPECT_EQ(some, std::any_of(undecided.begin(), undecided.end(), [](uint32_t v) { return v != 0; })) << name;
      for (size_t j = 0; j < x.size(); ++j) {
        const auto low = static_cast<float>(x[j] - d[j]), high = static_cast<float>(x[j] + d[j]);
        ASSERT_EQ(undecided[j] == 0, numerics::bits_of(low) == numerics::bits_of(high) && !std::isnan(low)) << name;
        if (undecided[j] == 0) {
          ASSERT_EQ(out[j], low) << name;
        }
      }
      if (first_x.empty()) first_x = x, first_d = d, first_out = out, first_undecided = undecided;
      EXPECT_EQ(0, std::memcmp(x.data(), first_x.data(), x.size() * sizeof(double))) << name;
      EXPECT_TRUE(std::equal(d.begin(), d.end(), first_d.begin(), [](double a, double b) {
        return a == b || (std::isnan(a) && std::isnan(b));
      })) << name;
      for (size_t j = 0; j < x.size(); ++j) {
        if (!std::isnan(first_out[j])) {
          EXPECT_EQ(numerics::bits_of(out[j]), numerics::bits_of(first_out[j])) << name;
        }
        EXPECT_EQ(undecided[j] != 0, first_undecided[j] != 0) << name;
      }
    }
  }
}

void expect_products(const std::string& name, void (*multiply)(const Strip&, int32_t*), int64_t steps, int64_t blocks,
                     bool extreme) {
  std::mt19937_64 random(static_cast<uint64_t>(steps));
  const auto size = static_cast<size_t>(steps * kTile);
  std::vector<int8_t> left(2 * size), right(static_cast<size_t>(2 * blocks) * size);
  for (std::vector<int8_t>* side : {&left, &right}) {
    for (int8_t& v : *side) v = static_cast<int8_t>(extreme ? (random() % 8 != 0 ? -128 : 127) : random());
  }
  std::vector<int32_t> sums(static_cast<size_t>(blocks * kBlockSums), 7);
  Strip strip;
  strip.left = left.data(), strip.right = right.data();
  strip.panel = steps * kTile, strip.steps = steps, strip.blocks = blocks;
  strip.next_left = {left.data(), steps * kTile}, strip.next_right = {right.data(), 64};
  multiply(strip, sums.data());
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
            << name << ", steps " << steps << ", block " << q << ", " << i << ", " << j;
      }
    }
  }
}

TEST(IntegerTiles, ArePlainSumsOnEveryInstructionSet) {
  for (Isa isa : available_isas()) {
    const auto multiply = table_of(isa).multiply;
    expect_products(name_of(isa), multiply, 1, 1, false);
    expect_products(name_of(isa), multiply, 3, 3, false);
    expect_products(name_of(isa), multiply, 32, 2, true);
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
#define FETCH(from) static_cast<void>(from)
#include "isobit/kernels/correct/integer/amx_strip.inc"

// What amx_loops.cpp does with the unit; the instructions themselves only where they are.
TEST(IntegerTiles, ArePlainSumsOnAModelOfTheMatrixUnit) {
  expect_products("model", multiply_strip, 1, 1, false);
  expect_products("model", multiply_strip, 3, 3, false);
  expect_products("model", multiply_strip, 32, 1, true);
}

TEST(IntegerTiles, ArePlainSumsOnTheMatrixUnit) {
  if (!amx_is_there()) GTEST_SKIP() << "skipped: no AMX";
  EXPECT_TRUE(amx_available());
  for (const int64_t steps : {1, 2, 3, 32}) {
    for (const int64_t blocks : {1, 2, 5}) {
      expect_products("amx", amx_unit().loops.multiply, steps, blocks, false);
      expect_products("amx", amx_unit().loops.multiply, steps, blocks, true);
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
