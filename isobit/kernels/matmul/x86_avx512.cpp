#include <immintrin.h>

#include <utility>

#include "isobit/kernels/matmul/gemm.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::gemm {
namespace {

#include "isobit/kernels/matmul/transpose.inc"

struct F32 {
  using T = float;
  using Reg = __m512;
  static constexpr int kLanes = 16, kPrefetchTerms = 8, kTermsAtOnce = 1;
  ISOBIT_INLINE_MEMBER static __mmask16 first(int64_t n) {
    return static_cast<__mmask16>(n >= 16 ? 0xffffu : n <= 0 ? 0u : (1u << n) - 1);
  }
  ISOBIT_INLINE_MEMBER static Reg zero() { return _mm512_setzero_ps(); }
  ISOBIT_INLINE_MEMBER static Reg broadcast(float x) { return _mm512_set1_ps(x); }
  ISOBIT_INLINE_MEMBER static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  ISOBIT_INLINE_MEMBER static Reg load_once(const float* p) { return load(p); }
  ISOBIT_INLINE_MEMBER static void store(float* p, Reg v) { _mm512_storeu_ps(p, v); }
  ISOBIT_INLINE_MEMBER static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  ISOBIT_INLINE_MEMBER static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  ISOBIT_INLINE_MEMBER static void add_product(Reg& sum, Reg a, Reg b) { sum = fma(a, b, sum); }
  ISOBIT_INLINE_MEMBER static Reg canonical(Reg v) {
    return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q),
                              _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
  }
  ISOBIT_INLINE_MEMBER static Reg positive(Reg v) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
  }
  ISOBIT_INLINE_MEMBER static Reg load_first(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
  ISOBIT_INLINE_MEMBER static void store_first(float* p, Reg v, int64_t n) { _mm512_mask_storeu_ps(p, first(n), v); }
  ISOBIT_INLINE_MEMBER static void store_even(float* p, Reg v, int64_t n) {
    const __m512i low = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    const auto even = [](int64_t lanes) { return static_cast<__mmask16>(first(2 * lanes) & 0x5555u); };
    _mm512_mask_storeu_ps(p, even(n), _mm512_permutexvar_ps(low, v));
    if (n <= 8) return;
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    _mm512_mask_storeu_ps(p + 16, even(n - 8), _mm512_permutexvar_ps(high, v));
  }
  // Elements 0, 2, .. 14 of `low` and 1, 3, .. 15 of `high`, which is 15 elements on.
  ISOBIT_INLINE_MEMBER static Reg even_of(Reg low, Reg high) {
    const __m512i lanes = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(low, lanes, high);
  }
  ISOBIT_INLINE_MEMBER static Reg load_even(const float* p) { return even_of(load(p), load(p + 15)); }
  // Bit l of the eight to bit 2 * l.
  ISOBIT_INLINE_MEMBER static uint32_t spread(uint32_t bits) {
    bits = (bits | bits << 4) & 0x0f0fu;
    bits = (bits | bits << 2) & 0x3333u;
    return (bits | bits << 1) & 0x5555u;
  }
  ISOBIT_INLINE_MEMBER static Reg load_even_masked(const float* base, int64_t offset, uint64_t bits, Reg other) {
    const auto low = static_cast<__mmask16>(spread(bits & 0xffu)),
               high = static_cast<__mmask16>(spread(bits >> 8 & 0xffu) << 1);
    const Reg value =
        even_of(_mm512_maskz_loadu_ps(low, base + offset), _mm512_maskz_loadu_ps(high, base + offset + 15));
    return _mm512_mask_mov_ps(other, static_cast<__mmask16>(bits), value);
  }
  ISOBIT_INLINE_MEMBER static Reg load_masked(const float* base, int64_t offset, uint64_t bits, Reg other) {
    return _mm512_mask_loadu_ps(other, static_cast<__mmask16>(bits), base + offset);
  }
  ISOBIT_INLINE_MEMBER static Reg gather(const float* base, const int32_t* index, uint64_t bits) {
    return _mm512_mask_i32gather_ps(zero(), static_cast<__mmask16>(bits), _mm512_loadu_si512(index), base, 4);
  }
  ISOBIT_INLINE_MEMBER static void transpose(Reg (&rows)[16]) { transpose_vectors(rows); }
  ISOBIT_INLINE_MEMBER static void prefetch(const float* p) { __builtin_prefetch(p); }
};

struct F64 {
  using T = double;
  using Reg = __m512d;
  static constexpr int kLanes = 8, kPrefetchTerms = 8, kTermsAtOnce = 1;
  ISOBIT_INLINE_MEMBER static __mmask8 first(int64_t n) {
    return static_cast<__mmask8>(n >= 8 ? 0xffu : n <= 0 ? 0u : (1u << n) - 1);
  }
  ISOBIT_INLINE_MEMBER static Reg zero() { return _mm512_setzero_pd(); }
  ISOBIT_INLINE_MEMBER static Reg broadcast(double x) { return _mm512_set1_pd(x); }
  ISOBIT_INLINE_MEMBER static Reg load(const double* p) { return _mm512_loadu_pd(p); }
  ISOBIT_INLINE_MEMBER static Reg load_once(const double* p) { return load(p); }
  ISOBIT_INLINE_MEMBER static void store(double* p, Reg v) { _mm512_storeu_pd(p, v); }
  ISOBIT_INLINE_MEMBER static Reg add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  ISOBIT_INLINE_MEMBER static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
  ISOBIT_INLINE_MEMBER static void add_product(Reg& sum, Reg a, Reg b) { sum = fma(a, b, sum); }
  ISOBIT_INLINE_MEMBER static Reg canonical(Reg v) {
    return _mm512_mask_mov_pd(v, _mm512_cmp_pd_mask(v, v, _CMP_UNORD_Q),
                              _mm512_castsi512_pd(_mm512_set1_epi64(0x7ff8000000000000)));
  }
  ISOBIT_INLINE_MEMBER static Reg positive(Reg v) {
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_NLE_UQ), v);
  }
  ISOBIT_INLINE_MEMBER static Reg load_first(const double* p, int64_t n) { return _mm512_maskz_loadu_pd(first(n), p); }
  ISOBIT_INLINE_MEMBER static void store_first(double* p, Reg v, int64_t n) { _mm512_mask_storeu_pd(p, first(n), v); }
  ISOBIT_INLINE_MEMBER static Reg load_masked(const double* base, int64_t offset, uint64_t bits, Reg other) {
    return _mm512_mask_loadu_pd(other, static_cast<__mmask8>(bits), base + offset);
  }
  ISOBIT_INLINE_MEMBER static Reg gather(const double* base, const int32_t* index, uint64_t bits) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
    return _mm512_mask_i32gather_pd(zero(), static_cast<__mmask8>(bits), at, base, 8);
  }
  ISOBIT_INLINE_MEMBER static void transpose(Reg (&rows)[8]) { transpose_vectors(rows); }
  ISOBIT_INLINE_MEMBER static void prefetch(const double* p) { __builtin_prefetch(p); }
};

#include "isobit/kernels/matmul/pack_lines.inc"
#include "isobit/kernels/matmul/pack_panels.inc"
#include "isobit/kernels/matmul/tile_kernels.inc"

}  // namespace

template <>
const Table<float>& table<Isa::ISOBIT_ISA, float>() {
  static const Table<float> kTable = make_table<F32, 24, 14, 8>();
  return kTable;
}
template <>
const Table<double>& table<Isa::ISOBIT_ISA, double>() {
  static const Table<double> kTable = make_table<F64, 24, 14, 8>();
  return kTable;
}

}  // namespace isobit::kernels::gemm
