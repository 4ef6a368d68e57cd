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
ISOBIT_INLINE F64 widened(const int8_t* p) {
  return __builtin_convertvector(__builtin_convertvector(load<I8>(p), I32), F64);
}
ISOBIT_INLINE void narrow(const F64& v, int8_t* to) {
  store(to, __builtin_convertvector(__builtin_convertvector(v, I32), I8));
}

bool round(const double* y, double* integers, double* rests) {
  typedef int64_t I64 __attribute__((vector_size(64)));
  I64 any = {};
  for (int64_t q = 0; q < kTile; q += kLanes) {
    const F64 v = load<F64>(y + q), integer = rounded(v), rest = v - integer;
    store(integers + q, integer);
    store(rests + q, rest);
    any |= rest != 0;
  }
  int64_t some = 0;
  for (int lane = 0; lane < kLanes; ++lane) some |= any[lane];
  return some != 0;
}

void residues(const double* integers, int p, int8_t* out) {
  const double modulus = p, inverse = 1.0 / modulus;
  for (int64_t q = 0; q < kTile; q += kLanes) narrow(modulo(load<F64>(integers + q), modulus, inverse), out + q);
}

// |sums * weight| < 2^31 * 2^7.
void reduce(const int32_t* sums, int p, int weight, bool add, int8_t* u, int64_t stride) {
  const double modulus = p, inverse = 1.0 / modulus, w = weight;
  for (int64_t i = 0; i < kBlock; ++i, sums += kBlock, u += stride) {
    for (int64_t j = 0; j < kBlock; j += kLanes) {
      F64 v = __builtin_convertvector(load<I32>(sums + j), F64) * w;
      if (add) v += widened(u + j);
      narrow(modulo(v, modulus, inverse), u + j);
    }
  }
}

// The fraction that a group of moduli adds: its sum, exact, modulo the group's product, exact, over the product.
ISOBIT_INLINE F64 fraction(const RowOfSums& r, int begin, int end, int group, int64_t j) {
  F64 sum = {};
  for (int s = begin; s < end; ++s) sum += widened(r.u + s * r.stride + j) * r.in_group[s];
  return modulo(sum, r.group[group], r.inverse[group]) * r.inverse[group];
}

// Of 8 columns.
ISOBIT_INLINE I32 filter_8(const RowOfSums& r, int64_t j, float* dst, double* x_out, double* d_out) {
  const F64 sum = fraction(r, 0, r.first, 0, j) + fraction(r, r.first, r.moduli, 1, j);
  const F64 scale = load<F64>(r.column_scales + j) * r.row_scale;
  F64 x = (sum - rounded(sum)) * scale;
  F64 d = scale * 0x1.4p-51 + (load<F64>(r.column_norms + j) * r.row_rest + load<F64>(r.column_rests + j) * r.row_norm);
  F64 bias = F64{} + r.row_bias;
  if (r.column_bias != nullptr) bias += __builtin_convertvector(load<F32>(r.column_bias + j), F64);
  x += bias;
  d = (d + (bias < 0 ? -bias : bias) * 0x1p-51) * r.share;
  const F32 low = __builtin_convertvector(x - d, F32), high = __builtin_convertvector(x + d, F32);
  store(dst + j, low);
  store(x_out + j, x);
  store(d_out + j, d);
  return (load<I32>(&low) ^ load<I32>(&high)) | (low != low);
}

// What is left of a row, in full vectors: columns [0, n), n < 8, of copies.
ISOBIT_INLINE uint32_t filter_rest(int64_t n, const RowOfSums& row, int64_t j, float* dst, double* x, double* d,
                                   uint32_t* undecided) {
  constexpr int kMost = 16;
  int8_t u[kMost * kLanes] = {};
  double scales[kLanes] = {}, norms[kLanes] = {}, rests[kLanes] = {}, x8[kLanes], d8[kLanes];
  float bias[kLanes] = {}, out[kLanes];
  RowOfSums r = row;
  for (int64_t q = 0; q < n; ++q) {
    for (int s = 0; s < r.moduli; ++s) u[s * kLanes + q] = row.u[s * row.stride + j + q];
    scales[q] = row.column_scales[j + q];
    norms[q] = row.column_norms[j + q];
    rests[q] = row.column_rests[j + q];
    if (row.column_bias != nullptr) bias[q] = row.column_bias[j + q];
  }
  r.u = u, r.stride = kLanes, r.column_scales = scales, r.column_norms = norms, r.column_rests = rests;
  if (row.column_bias != nullptr) r.column_bias = bias;
  const I32 differ = filter_8(r, 0, out, x8, d8);
  uint32_t any = 0;
  for (int64_t q = 0; q < n; ++q) {
    dst[j + q] = out[q];
    x[j + q] = x8[q];
    d[j + q] = d8[q];
    undecided[j + q] = static_cast<uint32_t>(differ[q]);
    any |= undecided[j + q];
  }
  return any;
}

bool filter(int64_t n, const RowOfSums& r, float* dst, double* x, double* d, uint32_t* undecided) {
  I32 any = {};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const I32 differ = filter_8(r, j, dst, x, d);
    store(undecided + j, differ);
    any |= differ;
  }
  uint32_t rest = 0;
  for (int lane = 0; lane < kLanes; ++lane) rest |= static_cast<uint32_t>(any[lane]);
  if (j < n) rest |= filter_rest(n - j, r, j, dst, x, d, undecided);
  return rest != 0;
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

constexpr Table kTable = {round, residues, reduce, filter, multiply};

}  // namespace

ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA)

}  // namespace isobit::kernels::correct::integer
