// The loops of table.h in vectors of the compiler, which lowers them to whatever the instruction set it is compiled
// for.
#include "isobit/kernels/correct/table.h"
#include "isobit/kernels/dispatch/vectors.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::correct {
namespace {

typedef double F64 __attribute__((vector_size(64)));
typedef float F32 __attribute__((vector_size(32)));
typedef int32_t I32 __attribute__((vector_size(32)));
typedef uint64_t U64 __attribute__((vector_size(64)));
constexpr int64_t kLanes = 8;

ISOBIT_INLINE F64 load_widened(const float* p) { return __builtin_convertvector(load<F32>(p), F64); }

void widen(int64_t n, const float* src, double* out) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, load_widened(src + i));
  for (; i < n; ++i) out[i] = static_cast<double>(src[i]);
}

// Eight elements of either type in float64.
ISOBIT_INLINE F64 load_wide(const double* p) { return load<F64>(p); }
ISOBIT_INLINE F64 load_wide(const float* p) { return load_widened(p); }
ISOBIT_INLINE double square(double x) { return x * x; }

template <class T>
double squares(int64_t n, const T* x) {
  F64 s0 = {}, s1 = {}, s2 = {}, s3 = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const F64 x0 = load_wide(x + i), x1 = load_wide(x + i + kLanes);
    const F64 x2 = load_wide(x + i + 2 * kLanes), x3 = load_wide(x + i + 3 * kLanes);
    s0 += x0 * x0;
    s1 += x1 * x1;
    s2 += x2 * x2;
    s3 += x3 * x3;
  }
  const F64 s = (s0 + s1) + (s2 + s3);
  double sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += s[lane];
  for (; i < n; ++i) sum += square(static_cast<double>(x[i]));
  return sum;
}

template <class T>
void column_squares(int64_t rows, int64_t n, const T* x, int64_t ld, double* sums) {
  int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
    F64 s0 = load<F64>(sums + j), s1 = load<F64>(sums + j + kLanes);
    F64 s2 = load<F64>(sums + j + 2 * kLanes), s3 = load<F64>(sums + j + 3 * kLanes);
    const T* p = x + j;
    for (int64_t l = 0; l < rows; ++l, p += ld) {
      const F64 x0 = load_wide(p), x1 = load_wide(p + kLanes);
      const F64 x2 = load_wide(p + 2 * kLanes), x3 = load_wide(p + 3 * kLanes);
      s0 += x0 * x0;
      s1 += x1 * x1;
      s2 += x2 * x2;
      s3 += x3 * x3;
    }
    store(sums + j, s0);
    store(sums + j + kLanes, s1);
    store(sums + j + 2 * kLanes, s2);
    store(sums + j + 3 * kLanes, s3);
  }
  for (; j < n; ++j) {
    for (int64_t l = 0; l < rows; ++l) sums[j] += square(static_cast<double>(x[l * ld + j]));
  }
}

void add(int64_t n, const double* slice, double* total) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(total + i, load<F64>(total + i) + load<F64>(slice + i));
  for (; i < n; ++i) total[i] += slice[i];
}

template <bool kSliced, bool kBiased>
ISOBIT_INLINE bool filter_columns(int64_t n, const FilterRow& r, float* dst, uint32_t* undecided) {
  I32 any = {};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    F64 x = load<F64>(r.total + j);
    if (kSliced) x += load<F64>(r.slice + j);
    F64 d = r.row_scale * load<F64>(r.column_norms + j);
    if (kBiased) {
      F64 bias = F64{} + r.row_bias;
      if (r.column_bias != nullptr) bias += load_widened(r.column_bias + j);
      x += bias;
      d += r.gamma * (bias < 0 ? -bias : bias);
    }
    const F32 low = __builtin_convertvector(x - d, F32), high = __builtin_convertvector(x + d, F32);
    const I32 differ = (load<I32>(&low) ^ load<I32>(&high)) | (low != low);
    store(dst + j, low);
    store(undecided + j, differ);
    any |= differ;
  }
  uint32_t rest = 0;
  for (int lane = 0; lane < kLanes; ++lane) rest |= static_cast<uint32_t>(any[lane]);
  for (; j < n; ++j) {
    double x = kSliced ? r.total[j] + r.slice[j] : r.total[j];
    double d = r.row_scale * r.column_norms[j];
    if (kBiased) {
      const double bias = r.row_bias + (r.column_bias != nullptr ? static_cast<double>(r.column_bias[j]) : 0.0);
      x += bias;
      d += r.gamma * (bias < 0 ? -bias : bias);
    }
    const float low = static_cast<float>(x - d), high = static_cast<float>(x + d);
    dst[j] = low;
    undecided[j] = (__builtin_bit_cast(uint32_t, low) ^ __builtin_bit_cast(uint32_t, high)) | (low != low ? 1u : 0u);
    rest |= undecided[j];
  }
  return rest != 0;
}

bool filter(int64_t n, const FilterRow& r, float* dst, uint32_t* undecided) {
  if (r.biased) {
    return r.slice != nullptr ? filter_columns<true, true>(n, r, dst, undecided)
                              : filter_columns<false, true>(n, r, dst, undecided);
  }
  return r.slice != nullptr ? filter_columns<true, false>(n, r, dst, undecided)
                            : filter_columns<false, false>(n, r, dst, undecided);
}

// high + p exactly as high + an error added to low (Knuth's TwoSum); the only rounding is that of low.
template <class V>
ISOBIT_INLINE void add_doubled(const V& p, V& high, V& low) {
  const V sum = high + p;
  const V z = sum - high;
  low += (high - (sum - z)) + (p - z);
  high = sum;
}

// Sum2 of T. Ogita, S. M. Rump and S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005, in lanes.
// Products of float32 values are exact in float64, so it needs no fma.
Doubled dot(int64_t k, const float* a, const float* b) {
  F64 high0 = {}, low0 = {}, high1 = {}, low1 = {};
  int64_t l = 0;
  for (; l + 2 * kLanes <= k; l += 2 * kLanes) {
    add_doubled(load_widened(a + l) * load_widened(b + l), high0, low0);
    add_doubled(load_widened(a + l + kLanes) * load_widened(b + l + kLanes), high1, low1);
  }
  low0 += low1;
  add_doubled(high1, high0, low0);
  double high = 0, low = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    low += low0[lane];
    add_doubled(static_cast<double>(high0[lane]), high, low);
  }
  for (; l < k; ++l) add_doubled(static_cast<double>(a[l]) * static_cast<double>(b[l]), high, low);
  return {high, low};
}

void round(int64_t n, const FilterRow& r, float* dst) {
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    F64 x = load<F64>(r.total + j);
    if (r.slice != nullptr) x += load<F64>(r.slice + j);
    if (r.biased) {
      F64 bias = F64{} + r.row_bias;
      if (r.column_bias != nullptr) bias += load_widened(r.column_bias + j);
      x += bias;
    }
    store(dst + j, __builtin_convertvector(x, F32));
  }
  for (; j < n; ++j) {
    double x = r.slice != nullptr ? r.total[j] + r.slice[j] : r.total[j];
    if (r.biased) x += r.row_bias + (r.column_bias != nullptr ? static_cast<double>(r.column_bias[j]) : 0.0);
    dst[j] = static_cast<float>(x);
  }
}

ISOBIT_INLINE F32 load_narrow(const float* p) { return load<F32>(p); }
ISOBIT_INLINE F32 load_narrow(const double* p) { return __builtin_convertvector(load<F64>(p), F32); }

// Bits of 32 elements: lane q gathers those of elements q, q + 8, q + 16, q + 24.
template <class T>
ISOBIT_INLINE uint32_t mask_of_32(const T* x) {
  constexpr I32 kBit = {1, 2, 4, 8, 16, 32, 64, 128};
  I32 bits = {};
  for (int g = 0; g < 4; ++g) bits |= ((load_narrow(x + kLanes * g) != 0) & kBit) << (8 * g);
  uint32_t word = 0;
  for (int lane = 0; lane < kLanes; ++lane) word |= static_cast<uint32_t>(bits[lane]);
  return word;
}

template <class T>
void mask(int64_t k, const T* x, uint64_t* words) {
  int64_t l = 0;
  for (; l + 64 <= k; l += 64) {
    words[l / 64] = static_cast<uint64_t>(mask_of_32(x + l + 32)) << 32 | mask_of_32(x + l);
  }
  if (l == k) return;
  uint64_t word = 0;
  for (int64_t q = l; q < k; ++q) word |= static_cast<uint64_t>(x[q] != 0) << (q - l);
  words[l / 64] = word;
}

void column_masks(int64_t rows, int64_t n, const double* x, int64_t ld, uint64_t* words) {
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    U64 bits = {}, bit = U64{} + 1;
    for (int64_t l = 0; l < rows; ++l, bit += bit) {
      const auto differs = load<F64>(x + l * ld + j) != 0;
      bits |= load<U64>(&differs) & bit;
    }
    store(words + j, bits);
  }
  for (; j < n; ++j) {
    words[j] = 0;
    for (int64_t l = 0; l < rows; ++l) words[j] |= static_cast<uint64_t>(x[l * ld + j] != 0) << l;
  }
}

// Exponents of the lowest bits that are set.
ISOBIT_INLINE I32 grids(const F32& x) {
  const I32 bits = load<I32>(&x);
  const I32 field = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  const I32 significand = field == 0 ? fraction : fraction | 0x800000;
  // The lowest bit as a float32 number: its exponent is the place of the bit.
  const F32 lowest = __builtin_convertvector(significand & -significand, F32);
  const I32 place = (load<I32>(&lowest) >> 23) - 127;
  return significand == 0 ? kNoGrid + I32{} : (field == 0 ? 1 + I32{} : field) - 150 + place;
}

template <class T>
int grid(int64_t k, const T* x) {
  I32 least = kNoGrid + I32{};
  int64_t l = 0;
  for (; l + kLanes <= k; l += kLanes) {
    const I32 g = grids(load_narrow(x + l));
    least = g < least ? g : least;
  }
  if (l < k) {
    float rest[kLanes] = {};
    for (int64_t q = l; q < k; ++q) rest[q - l] = static_cast<float>(x[q]);
    const I32 g = grids(load<F32>(rest));
    least = g < least ? g : least;
  }
  int result = kNoGrid;
  for (int lane = 0; lane < kLanes; ++lane) result = least[lane] < result ? least[lane] : result;
  return result;
}

constexpr Table kTable = {
    widen, squares<double>, squares<float>, column_squares<double>, column_squares<float>, add,         filter, round,
    dot,   mask<float>,     mask<double>,   column_masks,           grid<float>,           grid<double>};

}  // namespace

ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA)

}  // namespace isobit::kernels::correct
