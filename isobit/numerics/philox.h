// The counter-based generator Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3;
// SC 2011) and everything the project draws from it. Each draw is a pure function of (seed, purpose, step, index): any
// element can be computed alone, on any machine, to the bit.
//
// Packing: key word 0 = low 32 bits of the seed, key word 1 = high 32 bits;
// counter word 0 = low 32 bits of the block number, 1 = high 32 bits, 2 = step, 3 = purpose.
// Element i of a stream of 32-bit words is word i mod 4 of block floor(i / 4).
#pragma once

#include <array>
#include <cstdint>

#include "isobit/numerics/inline.h"

namespace isobit::numerics {

using PhiloxBlock = std::array<uint32_t, 4>;

// The bare generator.
PhiloxBlock philox4x32_10(PhiloxBlock counter, std::array<uint32_t, 2> key);

// What a draw is for. The numbers are part of ordered-1 and of every job root; never renumber.
enum class Purpose : uint32_t {
  kInitialWeights = 1,
  kBatchOrder = 2,
  kCrop = 3,
  kFlip = 4,
  kDropout = 5,
  kDataSplit = 6,
  kSampleSalt = 7,
  kAuditSample = 8,
  kSyntheticData = 9,
  kTest = 10,
};

// One stream. `step` is whatever 32-bit number separates the streams of one purpose: the training step for crop, flip
// and dropout, the epoch for the batch order, the index of the parameter for initial weights. A third number (say the
// dropout layer) goes into the high bits of the index.
struct Stream {
  uint64_t seed = 0;
  Purpose purpose = Purpose::kTest;
  uint32_t step = 0;
};

PhiloxBlock random_block(const Stream& stream, uint64_t block);

// Word `index` of the stream.
uint32_t random_u32(const Stream& stream, uint64_t index);

// Block `index`, words 0 (low) and 1 (high).
uint64_t random_u64(const Stream& stream, uint64_t index);

// The upper 24 bits of a word, times 2^-24: in [0, 1), exact.
ISOBIT_INLINE float uniform_f32_of(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

// uniform_f32_of(word `index`).
float random_uniform_f32(const Stream& stream, uint64_t index);

// floor(random_u64(index) * n / 2^64): in [0, n). No value's probability is off by more than 2^-64. REQUIRES n >= 1.
uint64_t random_below(const Stream& stream, uint64_t index, uint64_t n);

// Standard normal by Box and Muller, as float32 steps, each rounded. With the words a = 2j and b = 2j + 1, j =
// floor(index / 2):
//   u = ((a >> 8) + 1) * 2^-24            in (0, 1], exact
//   r = cr_sqrt(-2 * cr_log(u))
//   t = (b >> 8) * 2^-24 * 0x1.921fb6p+2f  (2 pi as float32; one rounding)
//   result = r * cr_cos(t) for even index, r * cr_sin(t) for odd.   |result| < 5.8
float random_normal_f32(const Stream& stream, uint64_t index);

// dst[i] = the draw with index first + i: the same numbers as one by one, faster.
void fill_uniform_f32(const Stream& stream, uint64_t first, float* dst, int64_t n);
void fill_normal_f32(const Stream& stream, uint64_t first, float* dst, int64_t n);

// Image of `index` under a permutation of [0, n) keyed by the stream; O(1) expected time and no memory.
// A balanced Feistel network of 8 rounds on 2h bits, h the smallest with 4^h >= n; round r (0..7) maps (left, right) to
// (right, left xor F) with F = the low h bits of word 0 of philox(counter = {right, r, step, purpose}, key = seed);
// values >= n are mapped again until they fall below n (at most 4 rounds of that on average).
// REQUIRES 1 <= n <= 2^62, index < n.
uint64_t permute(const Stream& stream, uint64_t n, uint64_t index);

}  // namespace isobit::numerics
