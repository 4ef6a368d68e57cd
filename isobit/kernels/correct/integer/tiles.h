// How int8 numbers lie for products of small blocks of them: the one thing that integer matrix units do. Internal.
#pragma once

#include <cstdint>

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
  // What had better be in the second cache when this is done.
  struct Fetch {
    const int8_t* from = nullptr;
    int64_t bytes = 0;
  };
  Fetch next_left, next_right;
};

}  // namespace isobit::kernels::correct::integer
