// The loops of table.h in vectors of the compiler. All arithmetic modulo p is float64 arithmetic on integers: with
// |v| <= 2^47 the quotient v * (1 / p), off by at most 2^-52 of itself (below 2^-12), has the nearest integer of v / p,
// which is never nearer than 1 / 510 to the middle of two for odd p; for p = 256 it is exact. So v - p * rint is exact,
// and the residue nearest to zero (+128 of 256 becomes the int8 number -128).
#include "isobit/kernels/correct/integer/table.h"
#include "isobit/kernels/dispatch/vectors.h"
#include "isobit/numerics/inline.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace isobit::kernels::correct::integer {
namespace {

constexpr int64_t kLanes = 8;
typedef double F64 __attribute__((vector_size(64)));
typedef float F32 __attribute__((vector_size(32)));
typedef int32_t I32 __attribute__((vector_size(32)));
typedef int8_t I8 __attribute__((vector_size(8)));

constexpr double kRound = 0x1.8p52;  // x + kRound - kRound rounds |x| < 2^51 to an integer

ISOBIT_INLINE F64 rounded(const F64& x) { return (x + kRound) - kRound; }
ISOBIT_INLINE F64 modulo(const F64& v, double p, double inverse) { return v - rounded(v * inverse) * p; }
// By instructions where the compiler's own conversions of bytes go one by one.
ISOBIT_INLINE F64 widened(const int8_t* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<F64>(_mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(bytes)));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return __builtin_convertvector(reinterpret_cast<I32>(_mm256_cvtepi8_epi32(bytes)), F64);
#else
  return __builtin_convertvector(__builtin_convertvector(load<I8>(p), I32), F64);
#endif
}
ISOBIT_INLINE void narrow(const F64& v, int8_t* to) {
#if defined(__AVX512F__)
  // Masked, since GCC takes the others for uses of what is not initialized.
  constexpr __mmask8 kAll = 255;
  const __m256i words = _mm512_maskz_cvttpd_epi32(kAll, reinterpret_cast<__m512d>(v));
  const __m128i bytes = _mm256_maskz_cvtepi32_epi8(kAll, words);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
#else
  store(to, __builtin_convertvector(__builtin_convertvector(v, I32), I8));
#endif
}

typedef double F4 __attribute__((vector_size(32)));

// 4 lines by 4 terms, of rows that are lines or terms.
ISOBIT_INLINE void transpose(F4* v) {
  const F4 a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6), b = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
  const F4 c = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6), d = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5), v[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7), v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

ISOBIT_INLINE F4 scaled(const F4& v, const F4& scale) { return scale != 0 ? v * scale : F4{}; }  // not 0 * infinity

// All 16 lines and 64 terms.
template <bool kRight>
ISOBIT_INLINE void arrange_whole(const Raw& raw, double* y) {
  for (int64_t i = 0; i < kPanel; i += 4) {
    const F4 scales = load<F4>(raw.scales + i);
    for (int64_t l = 0; l < kStep; l += 4) {
      F4 v[4];
      for (int64_t q = 0; q < 4; ++q) {
        v[q] = raw.lines_first ? scaled(load<F4>(raw.from + (i + q) * raw.ld + l), F4{} + scales[q])
                               : scaled(load<F4>(raw.from + (l + q) * raw.ld + i), scales);
      }
      if (!raw.lines_first) transpose(v);
      for (int64_t q = 0; q < 4; ++q) store(y + (kRight ? 16 * l + 4 * (i + q) : kStep * (i + q) + l), v[q]);
    }
  }
}

void arrange_any(const Raw& raw, bool right, double* y) {
  if (right) {
    arrange_whole<true>(raw, y);
  } else {
    arrange_whole<false>(raw, y);
  }
}

// With zeros where there is nothing.
void arrange_ragged(const Raw& raw, bool right, double* y) {
  double own[kTile] = {}, scales[kPanel] = {};
  for (int64_t i = 0; i < raw.lines; ++i) {
    scales[i] = raw.scales[i];
    for (int64_t l = 0; l < raw.terms; ++l) {
      own[raw.lines_first ? kStep * i + l : kPanel * l + i] =
          raw.from[raw.lines_first ? raw.ld * i + l : raw.ld * l + i];
    }
  }
  Raw whole = raw;
  whole.from = own, whole.ld = raw.lines_first ? kStep : kPanel, whole.scales = scales;
  arrange_any(whole, right, y);
}

void arrange(const Raw& raw, bool right, double* y) {
  if (raw.lines < kPanel || raw.terms < kStep) {
    arrange_ragged(raw, right, y);
  } else {
    arrange_any(raw, right, y);
  }
}

bool round(const double* y, double* integers, double* rests, uint8_t* some) {
  int all = 0;
  for (int64_t q = 0; q < kTile; q += kLanes) {
    const F64 v = load<F64>(y + q), integer = rounded(v), rest = v - integer;
    store(integers + q, integer);
    store(rests + q, rest);
#if defined(__AVX512F__)
    const int any = _mm512_cmpneq_pd_mask(reinterpret_cast<__m512d>(rest), _mm512_setzero_pd());
#else
    typedef int64_t I64 __attribute__((vector_size(64)));
    const I64 lanes = rest != 0;
    int64_t any = 0;
    for (int lane = 0; lane < kLanes; ++lane) any |= lanes[lane];
#endif
    some[q / kLanes] = any != 0;
    all |= some[q / kLanes];
  }
  return all != 0;
}

ISOBIT_INLINE F64 larger(const F64& a, const F64& b) { return a > b ? a : b; }
ISOBIT_INLINE F64 smaller(const F64& a, const F64& b) { return a < b ? a : b; }

// Right: lanes are two lines by four terms. Left: of one line.
void enlarge(const double* integers, bool right, double* largest) {
  for (int64_t part = 0; part < kPanel / 2; ++part) {
    F64 most[2] = {};
    for (int64_t q = 0; q < kStep / 4; ++q) {
      const F64 v = load<F64>(integers + (right ? kStep * q + kLanes * part : 2 * kStep * part + kLanes * q));
      F64& own = most[right ? 0 : q / kLanes];
      own = larger(own, v < 0 ? -v : v);
    }
    for (int64_t lane = 0; lane < 2 * kLanes; ++lane) {
      const int64_t line = 2 * part + (right ? lane % kLanes / 4 : lane / kLanes);
      const double v = most[lane / kLanes][lane % kLanes];
      if (largest[line] < v) largest[line] = v;
    }
  }
}

void residues(const double* integers, const Moduli& moduli, int8_t* out, int64_t stride) {
  for (int s = 0; s < moduli.count; ++s, out += stride) {
    const double modulus = moduli.p[static_cast<size_t>(s)], inverse = 1.0 / modulus;
    for (int64_t q = 0; q < kTile; q += kLanes) narrow(modulo(load<F64>(integers + q), modulus, inverse), out + q);
  }
}

// |sums * weight| < 2^31 * 2^7.
void reduce(const int32_t* sums, const Moduli& moduli, int s, bool add, int8_t* u, int64_t stride) {
  const auto at = static_cast<size_t>(s);
  const double modulus = moduli.p[at], inverse = 1.0 / modulus, w = moduli.weight[at];
  for (int64_t i = 0; i < kBlock; ++i, sums += kBlock, u += stride) {
    for (int64_t j = 0; j < kBlock; j += kLanes) {
      F64 v = __builtin_convertvector(load<I32>(sums + j), F64) * w;
      if (add) v += widened(u + j);
      narrow(modulo(v, modulus, inverse), u + j);
    }
  }
}

ISOBIT_INLINE F64 multiply_add(const F64& a, double b, const F64& c) {
#if defined(__AVX512F__)
  const __m512d sum = _mm512_fmadd_pd(reinterpret_cast<__m512d>(a), _mm512_set1_pd(b), reinterpret_cast<__m512d>(c));
  return reinterpret_cast<F64>(sum);
#else
  return a * b + c;
#endif
}

// The sum of a group of moduli, exact, over the group's product.
template <int kBegin, int kEnd>
ISOBIT_INLINE F64 fraction(const RowOfSums& r, int group, int64_t j) {
  F64 sum = widened(r.u + kBegin * r.stride + j) * r.in_group[kBegin];
#pragma GCC unroll 8
  for (int s = kBegin + 1; s < kEnd; ++s) sum = multiply_add(widened(r.u + s * r.stride + j), r.in_group[s], sum);
  return sum * r.inverse[group];
}

struct Bounded {
  F64 x, d;
};

// Of 8 columns.
template <int kModuli>
ISOBIT_INLINE Bounded approximate_8(const RowOfSums& r, int64_t j) {
  constexpr int kFirst = first_group(kModuli);
  const F64 sum = fraction<0, kFirst>(r, 0, j) + fraction<kFirst, kModuli>(r, 1, j);
  const F64 scale = load<F64>(r.column_scales + j) * r.row_scale;
  const F64 left =
      smaller(load<F64>(r.column_norms + j) * r.row.rest, load<F64>(r.column_largest + j) * r.row.rest_sum);
  const F64 right =
      smaller(load<F64>(r.column_rests + j) * r.row.norm, load<F64>(r.column_rest_sums + j) * r.row.largest);
  F64 x = (sum - rounded(sum)) * scale;
  F64 d = scale * kBoundOfSums + (left + right);
  if (r.biased) {
    F64 bias = F64{} + r.row_bias;
    if (r.column_bias != nullptr) bias += __builtin_convertvector(load<F32>(r.column_bias + j), F64);
    x += bias;
    d += (bias < 0 ? -bias : bias) * 0x1p-51;
  }
  return {x, d * r.share};
}

template <int kModuli>
ISOBIT_INLINE I32 filter_8(const RowOfSums& r, int64_t j, float* dst) {
  const Bounded b = approximate_8<kModuli>(r, j);
  const F32 low = __builtin_convertvector(b.x - b.d, F32), high = __builtin_convertvector(b.x + b.d, F32);
  store(dst, low);
  return (load<I32>(&low) ^ load<I32>(&high)) | (low != low);
}

// What is left of a row, n < 8 columns from j on, in copies of full vectors.
struct RestOfRow {
  static constexpr int kMost = 16;
  int8_t u[kMost * kLanes] = {};
  double scales[kLanes] = {}, norms[kLanes] = {}, largest[kLanes] = {}, rests[kLanes] = {}, rest_sums[kLanes] = {};
  float bias[kLanes] = {};
  RowOfSums row;

  ISOBIT_INLINE_MEMBER RestOfRow(int64_t n, const RowOfSums& from, int64_t j) : row(from) {
    for (int64_t q = 0; q < n; ++q) {
      for (int s = 0; s < from.moduli; ++s) u[s * kLanes + q] = from.u[s * from.stride + j + q];
      scales[q] = from.column_scales[j + q];
      norms[q] = from.column_norms[j + q];
      largest[q] = from.column_largest[j + q];
      rest_sums[q] = from.column_rest_sums[j + q];
      rests[q] = from.column_rests[j + q];
      if (from.column_bias != nullptr) bias[q] = from.column_bias[j + q];
    }
    row.u = u, row.stride = kLanes, row.column_scales = scales;
    row.column_norms = norms, row.column_largest = largest;
    row.column_rests = rests, row.column_rest_sums = rest_sums;
    if (from.column_bias != nullptr) row.column_bias = bias;
  }
};

template <int kModuli>
bool filter(int64_t n, const RowOfSums& r, float* dst, uint32_t* undecided) {
  I32 any = {};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const I32 differ = filter_8<kModuli>(r, j, dst + j);
    store(undecided + j, differ);
    any |= differ;
  }
  uint32_t rest = 0;
  for (int lane = 0; lane < kLanes; ++lane) rest |= static_cast<uint32_t>(any[lane]);
  if (j < n) {
    const RestOfRow copies(n - j, r, j);
    float out[kLanes];
    const I32 differ = filter_8<kModuli>(copies.row, 0, out);
    for (int64_t q = 0; j < n; ++j, ++q) {
      dst[j] = out[q];
      undecided[j] = static_cast<uint32_t>(differ[q]);
      rest |= undecided[j];
    }
  }
  return rest != 0;
}

template <int kModuli>
void approximate(int64_t n, const RowOfSums& r, double* x, double* d) {
  for (int64_t j = 0; j < n; j += kLanes) {
    const int64_t count = n - j < kLanes ? n - j : kLanes;
    const RestOfRow copies(count, r, j);
    const Bounded b = approximate_8<kModuli>(copies.row, 0);
    for (int64_t q = 0; q < count; ++q) x[j + q] = b.x[q], d[j + q] = b.d[q];
  }
}

static_assert(kFewestModuli == 10 && kMostModuli == 12);

bool filter_any(int64_t n, const RowOfSums& r, float* dst, uint32_t* undecided) {
  return r.moduli == 10   ? filter<10>(n, r, dst, undecided)
         : r.moduli == 11 ? filter<11>(n, r, dst, undecided)
                          : filter<12>(n, r, dst, undecided);
}

void approximate_any(int64_t n, const RowOfSums& r, double* x, double* d) {
  return r.moduli == 10   ? approximate<10>(n, r, x, d)
         : r.moduli == 11 ? approximate<11>(n, r, x, d)
                          : approximate<12>(n, r, x, d);
}

// ---- products of int8 numbers, in pairs of neighbouring terms

#if defined(__AVX512BW__)
constexpr int64_t kWidth = 64, kRows = 4;
#elif defined(__AVX2__)
constexpr int64_t kWidth = 32, kRows = 2;
#else
constexpr int64_t kWidth = 16, kRows = 1;
#endif
typedef int8_t Bytes __attribute__((vector_size(kWidth / 2)));
typedef int16_t Halves __attribute__((vector_size(kWidth)));
typedef int32_t Words __attribute__((vector_size(kWidth)));
typedef int64_t Longs __attribute__((vector_size(kWidth)));

// Lane by lane the sum of the products of both halves.
ISOBIT_INLINE Words multiply_pairs(const Halves& a, const Halves& b) {
#if defined(__AVX512BW__)
  return reinterpret_cast<Words>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Words>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  const Words x = reinterpret_cast<Words>(a), y = reinterpret_cast<Words>(b);
  return (x >> 16) * (y >> 16) + (x << 16 >> 16) * (y << 16 >> 16);
#endif
}

// Four terms in 16 bits each, of kRows lines and all of a step: what stands against one line of four terms.
ISOBIT_INLINE void widen_left(const int8_t* left, int64_t (*wide)[kStep / 4]) {
  typedef int8_t B __attribute__((vector_size(16)));
  typedef int16_t H __attribute__((vector_size(32)));
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t l = 0; l < kStep; l += 16)
      store(&wide[r][l / 4], __builtin_convertvector(load<B>(left + r * kStep + l), H));
  }
}

// kRows lines of a panel against 16 lines of the right side.
ISOBIT_INLINE void multiply_rows(const int8_t* left, const int8_t* right, int64_t steps, int32_t* sums) {
  constexpr int64_t kParts = 2 * kStep / kWidth;  // of 16 lines of four terms
  constexpr int64_t kColumns = kPanel / kParts;   // lines of the right side in one
  Words all[kRows][kParts] = {};
  for (int64_t t = 0; t < steps; ++t, left += kTile, right += kTile) {
    int64_t wide[kRows][kStep / 4];
    widen_left(left, wide);
    for (int64_t l = 0; l < kStep / 4; ++l) {
      for (int64_t part = 0; part < kParts; ++part) {
        const Halves b = __builtin_convertvector(load<Bytes>(right + l * kStep + part * kWidth / 2), Halves);
        for (int64_t r = 0; r < kRows; ++r) {
          all[r][part] += multiply_pairs(reinterpret_cast<Halves>(Longs{} + wide[r][l]), b);
        }
      }
    }
  }
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t part = 0; part < kParts; ++part) {
      for (int64_t j = 0; j < kColumns; ++j) {
        sums[r * kBlock + part * kColumns + j] = all[r][part][2 * j] + all[r][part][2 * j + 1];
      }
    }
  }
}

void multiply(const Strip& s, int32_t* sums) {
  for (int64_t q = 0; q < s.blocks; ++q, sums += kBlockSums) {
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t i = 0; i < kBlock; i += kRows) {
        const int8_t* left = s.left + i / kPanel * s.panel + i % kPanel * kStep;
        multiply_rows(left, s.right + (2 * q + half) * s.panel, s.steps, sums + i * kBlock + half * kPanel);
      }
    }
  }
}

constexpr Table kTable = {arrange, round, enlarge, residues, reduce, filter_any, approximate_any, multiply};

}  // namespace

ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA)

}  // namespace isobit::kernels::correct::integer
