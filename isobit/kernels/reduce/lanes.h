// Sums and maxima of float32 with wide vectors, for translation units of one instruction set each: everything here has
// internal linkage and follows the unit's own flags.
//
// A Sum is first computed in float64, in whatever lanes are convenient, together with the sum of magnitudes. With k
// roundings on the way of any term the error is below k * u * sum|x|, u = 2^-53; the bounds here take 2u, which also
// covers their own rounding. Where the bound cannot decide the float32, the caller adds exactly. So the lane count,
// which differs between instruction sets, cannot reach the result.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "isobit/numerics/inline.h"

namespace isobit::kernels {
namespace {

#if defined(__AVX512F__)
#define ISOBIT_LANES 8
#else
#define ISOBIT_LANES 4
#endif

constexpr int64_t kLanes = ISOBIT_LANES;
using Doubles = double __attribute__((vector_size(ISOBIT_LANES * 8)));
using DoubleBits = int64_t __attribute__((vector_size(ISOBIT_LANES * 8)));
using Floats = float __attribute__((vector_size(ISOBIT_LANES * 4)));

ISOBIT_INLINE Floats load(const float* p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
// GCC 12 splits __builtin_convertvector in two where one instruction would do (and warns of the unmasked intrinsic).
ISOBIT_INLINE Doubles widen(Floats v) {
#if defined(__AVX512F__)
  return reinterpret_cast<Doubles>(_mm512_maskz_cvtps_pd(0xff, reinterpret_cast<__m256>(v)));
#elif defined(__AVX2__)
  return reinterpret_cast<Doubles>(_mm256_cvtps_pd(reinterpret_cast<__m128>(v)));
#else
  return __builtin_convertvector(v, Doubles);
#endif
}
ISOBIT_INLINE Doubles magnitude(Doubles v) {
  return reinterpret_cast<Doubles>(reinterpret_cast<DoubleBits>(v) & 0x7fffffffffffffffll);
}
ISOBIT_INLINE double magnitude(double v) { return __builtin_fabs(v); }

// K sums side by side over one pass. `steps` bounds the roundings on the way of any term so far.
template <int K>
struct Totals {
  Doubles sum[K] = {};
  Doubles size[K] = {};
  double steps = 0;
};

constexpr int64_t kChunkSteps = 64;

// Adds terms 0 .. n - 1. Terms has vec(i, Floats*) for i .. i + kLanes - 1 and one(i, float*), each giving K terms.
template <int K, class Terms>
ISOBIT_INLINE void add_terms(Totals<K>& totals, int64_t n, Terms terms) {
  constexpr int kUnroll = K == 1 ? 4 : 2;
  constexpr int64_t kStep = kUnroll * kLanes;
  int64_t i = 0;
  while (i < n) {
    // Short chunks keep the error bound small: a term meets at most kChunkSteps additions here and one in the totals.
    const int64_t left = n - i;
    const int64_t end = i + (left < kChunkSteps * kStep ? left : kChunkSteps * kStep);
    Doubles sum[K][kUnroll] = {}, size[K][kUnroll] = {};
    for (; i + kStep <= end; i += kStep) {
#pragma GCC unroll 4
      for (int u = 0; u < kUnroll; ++u) {
        Floats t[K];
        terms.vec(i + u * kLanes, t);
#pragma GCC unroll 2
        for (int k = 0; k < K; ++k) {
          const Doubles d = widen(t[k]);
          sum[k][u] += d;
          size[k][u] += magnitude(d);
        }
      }
    }
    for (; i + kLanes <= end; i += kLanes) {
      Floats t[K];
      terms.vec(i, t);
#pragma GCC unroll 2
      for (int k = 0; k < K; ++k) {
        const Doubles d = widen(t[k]);
        sum[k][0] += d;
        size[k][0] += magnitude(d);
      }
    }
    double tail[K] = {}, tail_size[K] = {};
    for (; i < end; ++i) {
      float t[K];
      terms.one(i, t);
#pragma GCC unroll 2
      for (int k = 0; k < K; ++k) {
        tail[k] += static_cast<double>(t[k]);
        tail_size[k] += magnitude(static_cast<double>(t[k]));
      }
    }
#pragma GCC unroll 2
    for (int k = 0; k < K; ++k) {
#pragma GCC unroll 4
      for (int u = 1; u < kUnroll; ++u) {
        sum[k][0] += sum[k][u];
        size[k][0] += size[k][u];
      }
      totals.sum[k] += sum[k][0];
      totals.size[k] += size[k][0];
      totals.sum[k][0] += tail[k];
      totals.size[k][0] += tail_size[k];
    }
    totals.steps += 2;
  }
}

// Terms: the elements of x.
struct PlainTerms {
  const float* x;
  ISOBIT_INLINE_MEMBER void vec(int64_t i, Floats* t) const { t[0] = load(x + i); }
  ISOBIT_INLINE_MEMBER void one(int64_t i, float* t) const { t[0] = x[i]; }
};

// |exact - sum| <= size * steps * 2^-52.
struct Bounded {
  double sum;
  double size;
  double steps;
};

template <int K>
ISOBIT_INLINE Bounded bounded(const Totals<K>& totals, int k) {
  double sum = 0, size = 0;
  for (int64_t l = 0; l < kLanes; ++l) {
    sum += totals.sum[k][l];
    size += totals.size[k][l];
  }
  return {sum, size, totals.steps + static_cast<double>(kChunkSteps + 3 * kLanes + 8)};
}

// Whether every number within `error` of `value` rounds to one float32, which is then *rounded. A zero is decided only
// when it is exact (size 0): a result that underflows keeps its sign. NaN and infinity are never decided.
ISOBIT_INLINE bool decide(double value, double error, double size, float* rounded) {
  const float low = static_cast<float>(value - error);
  const float high = static_cast<float>(value + error);
  *rounded = low;
  return (low == high) & ((low != 0.0f) | (size == 0.0));  // no branch: loops over it become vectors
}
// Whether float64 sums of these terms are exact, in any order: all are multiples of the unit in the last place of the
// least (not zero) of them, which is over 2^-24 times it, and no partial sum reaches 2^53 such units. Few terms often
// add up to just between two float32 values, where no bound would do.
ISOBIT_INLINE bool exact(double size, float least) { return size < static_cast<double>(least) * 0x1p29; }
ISOBIT_INLINE float not_zero_magnitude(float x) {
  return x == 0 ? __builtin_inff() : __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, x) & 0x7fffffffu);
}
ISOBIT_INLINE bool decide(Bounded b, float least, float* rounded) {
  float nearest;
  const bool known = decide(b.sum, b.size * b.steps * 0x1p-52, b.size, &nearest);
  const bool no_error = exact(b.size, least);
  *rounded = no_error ? static_cast<float>(b.sum) : nearest;
  return known | no_error;
}

ISOBIT_INLINE bool decide(Bounded b, float* rounded) {
  return decide(b.sum, b.size * b.steps * 0x1p-52, b.size, rounded);
}

// The numbers as integers in the order of Max, all NaNs one.
ISOBIT_INLINE int32_t order_key(float x) {
  int32_t b;
  __builtin_memcpy(&b, &x, 4);
  b = x == x ? b : 0x7fc00000;
  return b ^ ((b >> 31) & 0x7fffffff);
}
ISOBIT_INLINE float from_order_key(int32_t key) {
  key ^= (key >> 31) & 0x7fffffff;
  float x;
  __builtin_memcpy(&x, &key, 4);
  return x;
}

// REQUIRES n >= 1.
ISOBIT_INLINE int32_t max_key(const float* x, int64_t n) {
  int32_t best = order_key(x[0]);
  for (int64_t i = 1; i < n; ++i) {
    const int32_t key = order_key(x[i]);
    best = key > best ? key : best;
  }
  return best;
}

ISOBIT_INLINE float canonical_f32(float x) { return x == x ? x : __builtin_bit_cast(float, 0x7fc00000); }

}  // namespace
}  // namespace isobit::kernels
