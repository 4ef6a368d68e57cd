// The tile product on AMX int8, and residues by the byte products of AVX-512 VNNI, which every CPU with AMX has.
// Compiled with their flags (CMakeLists.txt): nothing here but the three functions has linkage.
//
// An integer in bytes times the residues of their powers, four products added up by one instruction, is congruent to it
// and short: below 2^18. It stands in the low bits of a float32 from 2^23 on, where additions round to integers. So the
// quotient by p comes out rounded to nearest: off by at most 2^-13 before that, and the quotient of an integer by an
// odd p is never nearer than 1 / 510 to the middle of two; for p = 256 it is exact. What is left, v - p * quotient, is
// exact, and its lowest byte is the residue nearest to zero.
#include "isobit/kernels/correct/integer/amx_loops.h"

#include <immintrin.h>

namespace isobit::kernels::correct::integer {
namespace {

// All eight tile registers: 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// Not on the stack: GCC's intrinsic tells the compiler of its first eight bytes only.
constexpr TileConfig kConfig;

#define TILE_ZERO(r) _tile_zero(r)
#define TILE_LOAD(r, from) _tile_loadd(r, from, 64)
#define TILE_MULTIPLY(r, a, b) _tile_dpbssd(r, a, b)
#define TILE_STORE(r, to, stride) _tile_stored(r, to, stride)
#define FETCH(from) _mm_prefetch(from, _MM_HINT_T1)
#include "isobit/kernels/correct/integer/amx_strip.inc"

constexpr int64_t kLanes = 16;
constexpr float kInteger = 0x1.8p23f;         // kInteger + v is exact, for integers |v| < 2^22
constexpr int32_t kIntegerBits = 0x4b400000;  // its bits; kIntegerBits + v are those of kInteger + v

inline __m512i four_digits(const Digits& digits, size_t first) {
  int32_t four;
  __builtin_memcpy(&four, digits.of + first, sizeof four);
  return _mm512_set1_epi32(four);
}

// Lowest bytes: v modulo p. bits: kIntegerBits + v.
inline __m512i modulo(__m512i bits, __m512 p, __m512 inverse) {
  const __m512 integer = _mm512_set1_ps(kInteger), shifted = _mm512_castsi512_ps(bits);
  const __m512 quotient = _mm512_sub_ps(_mm512_fmadd_ps(_mm512_sub_ps(shifted, integer), inverse, integer), integer);
  return _mm512_castps_si512(_mm512_fnmadd_ps(quotient, p, shifted));
}

// As moduli.cpp has it, which must not be asked from here at every tile.
inline int32_t nearest_to_zero(int64_t v, int p) {
  const auto r = static_cast<int32_t>((v % p + p) % p);
  return 2 * r > p ? r - p : r;
}

}  // namespace

void amx_multiply(const Strip& s, int32_t* sums) {
  _tile_loadconfig(&kConfig);
  multiply_strip(s, sums);
  _tile_release();
}

void amx_residues(const double* integers, const Moduli& moduli, int8_t* out, int64_t stride) {
  // 2^52 + 2^47 + v has the bytes of 2^47 + v, which is not negative, below those of its exponent, whose digits are 0.
  constexpr int64_t kOffset = int64_t{1} << 47;
  const __m512d offset = _mm512_set1_pd(0x1p52 + 0x1p47);
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  alignas(64) int32_t low[kTile], high[kTile];
  for (int64_t q = 0; q < kTile; q += kLanes) {
    const __m512i a = _mm512_castpd_si512(_mm512_add_pd(_mm512_loadu_pd(integers + q), offset));
    const __m512i b = _mm512_castpd_si512(_mm512_add_pd(_mm512_loadu_pd(integers + q + 8), offset));
    _mm512_store_si512(low + q, _mm512_permutex2var_epi32(a, even, b));
    _mm512_store_si512(high + q, _mm512_permutex2var_epi32(a, odd, b));
  }
  for (size_t s = 0; s < static_cast<size_t>(moduli.count); ++s, out += stride) {
    const int p = moduli.p[s];
    const __m512i low_digits = four_digits(moduli.digits[s], 0), high_digits = four_digits(moduli.digits[s], 4);
    const __m512i start = _mm512_set1_epi32(kIntegerBits - nearest_to_zero(kOffset, p));
    const __m512 modulus = _mm512_set1_ps(static_cast<float>(p)), inverse = _mm512_set1_ps(1 / static_cast<float>(p));
    for (int64_t q = 0; q < kTile; q += kLanes) {
      const __m512i half = _mm512_dpbusd_epi32(start, _mm512_load_si512(low + q), low_digits);
      const __m512i v = _mm512_dpbusd_epi32(half, _mm512_load_si512(high + q), high_digits);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + q), _mm512_cvtepi32_epi8(modulo(v, modulus, inverse)));
    }
  }
}

// A sum and 2^31 is its bits with the first one turned over.
void amx_reduce(const int32_t* sums, const Moduli& moduli, int s, bool add, int8_t* u, int64_t stride) {
  const auto at = static_cast<size_t>(s);
  const int p = moduli.p[at];
  const __m512i digits = four_digits(moduli.weighted_digits[at], 0), sign = _mm512_set1_epi32(INT32_MIN);
  const __m512i start = _mm512_set1_epi32(kIntegerBits - nearest_to_zero((int64_t{1} << 31) * moduli.weight[at], p));
  const __m512 modulus = _mm512_set1_ps(static_cast<float>(p)), inverse = _mm512_set1_ps(1 / static_cast<float>(p));
  for (int64_t i = 0; i < kBlock; ++i, sums += kBlock, u += stride) {
    for (int64_t j = 0; j < kBlock; j += kLanes) {
      auto* const to = reinterpret_cast<__m128i*>(u + j);
      __m512i from = start;
      if (add) from = _mm512_add_epi32(from, _mm512_cvtepi8_epi32(_mm_loadu_si128(to)));
      const __m512i v = _mm512_dpbusd_epi32(from, _mm512_xor_si512(_mm512_loadu_si512(sums + j), sign), digits);
      _mm_storeu_si128(to, _mm512_cvtepi32_epi8(modulo(v, modulus, inverse)));
    }
  }
}

}  // namespace isobit::kernels::correct::integer
