// The one loop under all data movement: dst[sum i_k * dst_steps[k]] = src[sum i_k * src_steps[k]] over an index space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isobit/base/scratch.h"
#include "isobit/kernels/context.h"

namespace isobit::kernels::movement {

// Steps are in elements and may be 0 (in src: repeated) or negative.
struct StridedCopy {
  ScratchVector<int64_t> dims;
  ScratchVector<int64_t> src_steps;
  ScratchVector<int64_t> dst_steps;
};

// src and dst point at index (0, ..., 0). REQUIRES that distinct indices have distinct places in dst.
void strided_copy(const KernelContext& ctx, size_t element_size, const StridedCopy& c, const void* src, void* dst);

// Steps of a dense row-major array.
ScratchVector<int64_t> dense_steps(std::span<const int64_t> dims);

// One element of each size; they may alias whatever the caller's elements are.
struct [[gnu::may_alias]] U8 {
  uint8_t bits;
};
struct [[gnu::may_alias]] U16 {
  uint16_t bits;
};
struct [[gnu::may_alias]] U32 {
  uint32_t bits;
};
struct [[gnu::may_alias]] U64 {
  uint64_t bits;
};

}  // namespace isobit::kernels::movement
