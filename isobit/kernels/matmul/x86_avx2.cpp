#include <immintrin.h>

#include <utility>

#include "isobit/kernels/matmul/gemm.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::gemm {
namespace {

#include "isobit/kernels/matmul/transpose.inc"

// The same value, which the compiler must keep in a register: it likes to load it again for each of its uses.
template <class Reg>
ISOBIT_INLINE Reg in_register(Reg v) {
  asm("" : "+x"(v));
  return v;
}

struct F32 {
  using T = float;
  using Reg = __m256;
  static constexpr int kLanes = 8, kPrefetchTerms = 8, kTermsAtOnce = 4;
  ISOBIT_INLINE_MEMBER static __m256i first(int64_t n) {
    const int count = static_cast<int>(n > 8 ? 8 : n < 0 ? 0 : n);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  ISOBIT_INLINE_MEMBER static Reg zero() { return _mm256_setzero_ps(); }
  ISOBIT_INLINE_MEMBER static Reg broadcast(float x) { return _mm256_set1_ps(x); }
  ISOBIT_INLINE_MEMBER static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  ISOBIT_INLINE_MEMBER static Reg load_once(const float* p) { return in_register(load(p)); }
  ISOBIT_INLINE_MEMBER static void store(float* p, Reg v) { _mm256_storeu_ps(p, v); }
  ISOBIT_INLINE_MEMBER static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  ISOBIT_INLINE_MEMBER static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  ISOBIT_INLINE_MEMBER static void add_product(Reg& sum, Reg a, Reg b) {
    asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  }
  ISOBIT_INLINE_MEMBER static Reg canonical(Reg v) {
    return _mm256_blendv_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)), _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  }
  ISOBIT_INLINE_MEMBER static Reg positive(Reg v) {
    return _mm256_and_ps(v, _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NLE_UQ));
  }
  ISOBIT_INLINE_MEMBER static Reg load_first(const float* p, int64_t n) { return _mm256_maskload_ps(p, first(n)); }
  ISOBIT_INLINE_MEMBER static void store_first(float* p, Reg v, int64_t n) { _mm256_maskstore_ps(p, first(n), v); }
  // Masked stores are slow on some machines.
  ISOBIT_INLINE_MEMBER static void store_even(float* p, Reg v, int64_t n) {
    if (n == 8) {
#pragma GCC unroll 8
      for (int l = 0; l < 8; ++l) p[2 * l] = v[l];
    } else {
      alignas(32) float lanes[8];
      _mm256_store_ps(lanes, v);
      for (int64_t l = 0; l < n; ++l) p[2 * l] = lanes[l];
    }
  }
  // Elements 0, 2, 4, 6 of `low` and 1, 3, 5, 7 of `high`, which is 7 elements on.
  ISOBIT_INLINE_MEMBER static Reg even_of(Reg low, Reg high) {
    const __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 2, 0)));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, _MM_SHUFFLE(3, 1, 2, 0)));
  }
  ISOBIT_INLINE_MEMBER static Reg load_even(const float* p) { return even_of(load(p), load(p + 7)); }
  ISOBIT_INLINE_MEMBER static __m256i some_of(uint64_t bits, __m256i lane) {
    return _mm256_cmpgt_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane),
                              _mm256_setzero_si256());
  }
  ISOBIT_INLINE_MEMBER static Reg load_even_masked(const float* base, int64_t offset, uint64_t bits, Reg other) {
    const __m256i low = _mm256_setr_epi32(1, 0, 2, 0, 4, 0, 8, 0),
                  high = _mm256_setr_epi32(0, 16, 0, 32, 0, 64, 0, 128);
    const Reg value = even_of(_mm256_maskload_ps(base + offset, some_of(bits, low)),
                              _mm256_maskload_ps(base + offset + 7, some_of(bits, high)));
    return _mm256_blendv_ps(other, value, _mm256_castsi256_ps(lanes_of(bits)));
  }
  ISOBIT_INLINE_MEMBER static __m256i lanes_of(uint64_t bits) {
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane), lane);
  }
  ISOBIT_INLINE_MEMBER static Reg gather(const float* base, const int32_t* index, uint64_t bits) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
    return _mm256_mask_i32gather_ps(zero(), base, at, _mm256_castsi256_ps(lanes_of(bits)), 4);
  }
  ISOBIT_INLINE_MEMBER static Reg load_masked(const float* base, int64_t offset, uint64_t bits, Reg other) {
    const __m256i mask = lanes_of(bits);
    return _mm256_blendv_ps(other, _mm256_maskload_ps(base + offset, mask), _mm256_castsi256_ps(mask));
  }
  ISOBIT_INLINE_MEMBER static void transpose(Reg (&rows)[8]) { transpose_vectors(rows); }
  ISOBIT_INLINE_MEMBER static void prefetch(const float* p) { __builtin_prefetch(p); }
};

struct F64 {
  using T = double;
  using Reg = __m256d;
  static constexpr int kLanes = 4, kPrefetchTerms = 8, kTermsAtOnce = 4;
  ISOBIT_INLINE_MEMBER static __m256i first(int64_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  ISOBIT_INLINE_MEMBER static Reg zero() { return _mm256_setzero_pd(); }
  ISOBIT_INLINE_MEMBER static Reg broadcast(double x) { return _mm256_set1_pd(x); }
  ISOBIT_INLINE_MEMBER static Reg load(const double* p) { return _mm256_loadu_pd(p); }
  ISOBIT_INLINE_MEMBER static Reg load_once(const double* p) { return in_register(load(p)); }
  ISOBIT_INLINE_MEMBER static void store(double* p, Reg v) { _mm256_storeu_pd(p, v); }
  ISOBIT_INLINE_MEMBER static Reg add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
  ISOBIT_INLINE_MEMBER static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_pd(a, b, c); }
  ISOBIT_INLINE_MEMBER static void add_product(Reg& sum, Reg a, Reg b) {
    asm("vfmadd231pd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  }
  ISOBIT_INLINE_MEMBER static Reg canonical(Reg v) {
    return _mm256_blendv_pd(v, _mm256_castsi256_pd(_mm256_set1_epi64x(0x7ff8000000000000)),
                            _mm256_cmp_pd(v, v, _CMP_UNORD_Q));
  }
  ISOBIT_INLINE_MEMBER static Reg positive(Reg v) {
    return _mm256_and_pd(v, _mm256_cmp_pd(v, _mm256_setzero_pd(), _CMP_NLE_UQ));
  }
  ISOBIT_INLINE_MEMBER static Reg load_first(const double* p, int64_t n) { return _mm256_maskload_pd(p, first(n)); }
  ISOBIT_INLINE_MEMBER static void store_first(double* p, Reg v, int64_t n) { _mm256_maskstore_pd(p, first(n), v); }
  ISOBIT_INLINE_MEMBER static __m256i lanes_of(uint64_t bits) {
    const __m256i lane = _mm256_setr_epi64x(1, 2, 4, 8), all = _mm256_set1_epi64x(static_cast<int64_t>(bits));
    return _mm256_cmpeq_epi64(_mm256_and_si256(all, lane), lane);
  }
  ISOBIT_INLINE_MEMBER static Reg gather(const double* base, const int32_t* index, uint64_t bits) {
    const __m128i at = _mm_loadu_si128(reinterpret_cast<const __m128i*>(index));
    return _mm256_mask_i32gather_pd(zero(), base, at, _mm256_castsi256_pd(lanes_of(bits)), 8);
  }
  ISOBIT_INLINE_MEMBER static Reg load_masked(const double* base, int64_t offset, uint64_t bits, Reg other) {
    const __m256i mask = lanes_of(bits);
    return _mm256_blendv_pd(other, _mm256_maskload_pd(base + offset, mask), _mm256_castsi256_pd(mask));
  }
  ISOBIT_INLINE_MEMBER static void transpose(Reg (&rows)[4]) { transpose_vectors(rows); }
  ISOBIT_INLINE_MEMBER static void prefetch(const double* p) { __builtin_prefetch(p); }
};

#include "isobit/kernels/matmul/pack_lines.inc"
#include "isobit/kernels/matmul/pack_panels.inc"
#include "isobit/kernels/matmul/tile_kernels.inc"

}  // namespace

template <>
const Table<float>& table<Isa::ISOBIT_ISA, float>() {
  static const Table<float> kTable = make_table<F32, 12, 6, 4>();
  return kTable;
}
template <>
const Table<double>& table<Isa::ISOBIT_ISA, double>() {
  static const Table<double> kTable = make_table<F64, 12, 6, 4>();
  return kTable;
}

}  // namespace isobit::kernels::gemm
