// Products of small blocks of int8 numbers: the one thing that integer matrix units do. Internal.
//
// Two implementations with the same results to the last bit, the sums being integers without overflow: loops compiled
// for each instruction set (tables.cpp), on every machine, and the AMX unit of x86 (amx.cpp).
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels::correct::integer {

inline constexpr int64_t kPanel = 16;             // lines of a panel
inline constexpr int64_t kStep = 64;              // terms of a step
inline constexpr int64_t kTile = kPanel * kStep;  // bytes: a panel's step
inline constexpr int64_t kBlock = 2 * kPanel;     // lines of a block
inline constexpr int64_t kBlockSums = kBlock * kBlock;

// Two panels of the left side against 2 * blocks panels of the right side. A panel's steps are neighbours; step t of
// panel g begins at g * panel + t * kTile. There element l of line i lies, on the left, at 64 i + l, on the right at
// 64 (l / 4) + 4 i + l % 4.
struct Strip {
  const int8_t* left = nullptr;
  const int8_t* right = nullptr;
  int64_t panel = 0;  // bytes, of either side
  int64_t steps = 0, blocks = 0;
};

// Of one implementation. A value that never changes.
struct TileProduct {
  const char* name;  // "plain", "amx"
  // sums[1024 q + 32 i + j] = the product of line i of the left side with line 32 q + j of the right side.
  // REQUIRES 64 * steps <= 131071, so that no sum leaves int32.
  void (*multiply)(const Strip& strip, int32_t* sums);
  // Products of elements in a nanosecond and thread, about: for choosing how many moduli are worth it. Reaches no bit.
  double rate;
};

// The loops. REQUIRES isa_available(isa).
TileProduct plain_tiles(Isa isa);

// Whether the CPU has AMX int8 and the operating system lets this process use it, which is asked for at the first call.
bool amx_is_there();
// Whether it is there, and a first product of it comes out as it does by the loops: what platforms ask.
bool amx_available();
// REQUIRES amx_is_there().
TileProduct amx_tiles();

}  // namespace isobit::kernels::correct::integer
