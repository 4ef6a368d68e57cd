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

// Whether a product of numbers of all sizes comes out as it does by the loops: a unit that is emulated, or a system
// that loses the registers, must not get as far as a job.
bool agrees_with_loops() {
  constexpr int64_t kSteps = 5, kBlocks = 2;
  std::vector<int8_t> left(2 * kSteps * kTile), right(2 * kBlocks * kSteps * kTile);
  uint32_t state = 1;
  for (std::vector<int8_t>* side : {&left, &right}) {
    for (int8_t& element : *side) {
      state = state * 1664525 + 1013904223;
      element = static_cast<int8_t>(state >> 24);
    }
  }
  Strip strip;
  strip.left = left.data(), strip.right = right.data();
  strip.panel = kSteps * kTile, strip.steps = kSteps, strip.blocks = kBlocks;
  std::vector<int32_t> found(kBlocks * kBlockSums), expected(found.size());
  amx_multiply(strip, found.data());
  table_of(best_isa()).multiply(strip, expected.data());
  return found == expected;
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
