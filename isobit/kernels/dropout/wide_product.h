// The one instruction of dropout that compilers do not find by themselves, for translation units of one instruction set
// each: everything here has internal linkage and follows the unit's own flags.
//
// V is a vector of uint64_t; wide_product(a, b) is, lane by lane, the low 32 bits of a times those of b.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "isobit/kernels/elementwise/loop.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::dropouts {

#if defined(__AVX512F__)

typedef uint64_t V __attribute__((vector_size(64)));

// The masked form: the plain one of GCC 12 warns of the undefined register it passes along.
ISOBIT_INLINE V wide_product(V a, V b) {
  return reinterpret_cast<V>(_mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

#elif defined(__AVX2__)

typedef uint64_t V __attribute__((vector_size(32)));

ISOBIT_INLINE V wide_product(V a, V b) {
  return reinterpret_cast<V>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}

#elif defined(__ARM_NEON)

typedef uint64_t V __attribute__((vector_size(16)));

ISOBIT_INLINE V wide_product(V a, V b) {
  return reinterpret_cast<V>(
      vmull_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a)), vmovn_u64(reinterpret_cast<uint64x2_t>(b))));
}

#else

// One lane: a 64-bit multiplication is faster than what a vector of a baseline machine makes of it.
typedef uint64_t V __attribute__((vector_size(8)));

ISOBIT_INLINE V wide_product(V a, V b) {
  constexpr uint64_t kLow = 0xffffffffu;
  return (a & kLow) * (b & kLow);
}

#endif

}  // namespace isobit::kernels::dropouts
