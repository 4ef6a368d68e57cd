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

// taps: kw of them.
struct Table {
  // Row oh of one plane. indices may be null. REQUIRES ih * iw < 2^31.
  void (*max_row)(const PoolShape&, const TapRange* taps, int64_t oh, const float* image, const Scratch&, float* dst,
                  int64_t* indices);
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
