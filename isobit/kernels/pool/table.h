// The float32 loops of pooling, one version per instruction set.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/pool/pool.h"

namespace isobit::kernels::pool {

// A row of the image in `stride_w` phases: phase r holds the places x with x mod stride_w = r, one after another, so
// that neighbouring windows look at neighbouring memory. Entry q of phase r is at r * phase_length + q.
constexpr int64_t phase_length(const PoolShape& p) { return p.iw / p.stride_w + 1; }

// The windows [begin, end) of a row whose tap j is inside the image; window ow finds it in a row of phases at ow +
// shift.
struct TapRange {
  int64_t begin, end, shift;
};

// Room for one row: [0] by column, [1] by phase, [2] by window. Each of size scratch_size.
struct Scratch {
  int32_t *key[3], *place[3];
  double *sum[3], *size[3];
  float* least[3];
};
constexpr int64_t scratch_size(const PoolShape& p) {
  const int64_t phases = phase_length(p) * p.stride_w;
  return phases > p.ow ? phases : p.ow;
}

// Windows of 2 x 2 taps beside each other, all of them inside the image: no tap is in two windows.
constexpr bool is_halving(const PoolShape& p) {
  return p.kh == 2 && p.kw == 2 && p.stride_h == 2 && p.stride_w == 2 && p.dilation_h == 1 && p.dilation_w == 1 &&
         p.pad_top == 0 && p.pad_left == 0 && 2 * p.oh <= p.ih && 2 * p.ow <= p.iw;
}

// taps: kw of them.
struct Table {
  // Row oh of one plane. indices may be null. REQUIRES ih * iw < 2^31.
  void (*max_row)(const PoolShape&, const TapRange* taps, int64_t oh, const float* image, const Scratch&, float* dst,
                  int64_t* indices);
  // One plane, whose windows are halving; indices as max_pool's, the plane being at `first` of src. indices may be
  // null.
  void (*max_halved)(const PoolShape&, int64_t first, const float* image, float* dst, int64_t* indices);
  // Sum / divisor[ow]; undecided[ow] = 1 where only an exact addition can tell the Sum. Returns how many those are.
  int64_t (*average_row)(const PoolShape&, const TapRange* taps, int64_t oh, const float* image, const float* divisor,
                         const Scratch&, float* dst, uint8_t* undecided);
  // One plane from its g [oh, ow]. `phases` has room for one row.
  void (*average_grad)(const PoolShape&, const TapRange* taps, const float* g, float* phases, float* image);
};

// One for every instruction set.
template <Isa kIsa>
const Table& table();

// REQUIRES isa is available and not kReference.
const Table& table_of(Isa isa);

}  // namespace isobit::kernels::pool
