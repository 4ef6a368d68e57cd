// Whether there is a unit of AMX int8, and whether it can be trusted. For x86-64 Linux alone.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "isobit/kernels/correct/integer/amx_loops.h"
#include "isobit/kernels/dispatch/dispatch.h"

namespace isobit::kernels::correct::integer {
namespace {

// ARCH_REQ_XCOMP_PERM of Linux since 5.16; XTILEDATA, state 18 of Intel's manual, volume 1, section 13.5.14.
constexpr long kRequestPermission = 0x1023;
constexpr long kTileData = 18;

// Leaf 7: EDX bit 24 is AMX-TILE, bit 25 AMX-INT8; leaf 1: ECX bit 27, the system uses XSAVE; XCR0 bits 17 and 18, it
// saves the tiles. And what amx_loops.cpp is compiled for.
bool cpu_has_amx() {
  if (!isa_available(Isa::kAvx512) || !__builtin_cpu_supports("avx512vnni")) return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 27 & 1) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d >> 24 & 3) != 3) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> 17 & 3) == 3;
}

// Numbers of all sizes.
template <class T>
std::vector<T> some_numbers(int64_t count, int shift) {
  std::vector<T> numbers(static_cast<size_t>(count));
  uint64_t state = 1;
  for (T& number : numbers) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number = static_cast<T>(static_cast<int64_t>(state) >> shift);
  }
  return numbers;
}

bool product_agrees(const Table& unit, const Table& loops) {
  constexpr int64_t kSteps = 5, kBlocks = 2;
  const auto left = some_numbers<int8_t>(2 * kSteps * kTile, 56), right = some_numbers<int8_t>(4 * kSteps * kTile, 56);
  Strip strip;
  strip.left = left.data(), strip.right = right.data();
  strip.panel = kSteps * kTile, strip.steps = kSteps, strip.blocks = kBlocks;
  std::vector<int32_t> found(kBlocks * kBlockSums), expected(found.size());
  unit.multiply(strip, found.data());
  loops.multiply(strip, expected.data());
  return found == expected;
}

bool residues_agree(const Table& unit, const Table& loops) {
  const Moduli& moduli = moduli_of(kMostModuli);
  const auto integers = some_numbers<double>(kTile, 17);
  const auto sums = some_numbers<int32_t>(kBlockSums, 32);
  std::vector<int8_t> found(kMostModuli * kTile), expected(found.size());
  unit.residues(integers.data(), moduli, found.data(), kTile);
  loops.residues(integers.data(), moduli, expected.data(), kTile);
  for (int s = 0; s < kMostModuli && found == expected; ++s) {
    for (const bool add : {true, false}) {
      unit.reduce(sums.data(), moduli, s, add, found.data() + s * kTile, kBlock);
      loops.reduce(sums.data(), moduli, s, add, expected.data() + s * kTile, kBlock);
      if (found != expected) return false;
    }
  }
  return found == expected;
}

// Whether the unit computes what the loops do: one that is emulated, or a system that loses the registers, must not get
// as far as a job.
bool agrees_with_loops() {
  const Table unit = amx_unit().loops, &loops = table_of(best_isa());
  return product_agrees(unit, loops) && residues_agree(unit, loops);
}

}  // namespace

bool amx_is_there() {
  static const bool there = cpu_has_amx() && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return there;
}

bool amx_available() {
  static const bool available = amx_is_there() && agrees_with_loops();
  return available;
}

Unit amx_unit() {
  Unit unit = {"amx", table_of(Isa::kAvx512), 900};
  unit.loops.multiply = amx_multiply;
  unit.loops.residues = amx_residues;
  unit.loops.reduce = amx_reduce;
  return unit;
}

}  // namespace isobit::kernels::correct::integer
