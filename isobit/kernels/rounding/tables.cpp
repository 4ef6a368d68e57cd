// The loops of table.h in vectors of the compiler, which lowers them to whatever the instruction set it is compiled
// for.
#include "isobit/kernels/dispatch/vectors.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/table.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::rounding {
namespace {

// No wider than the machine's: the compiler takes comparisons and selections of wider ones apart, lane by lane.
#if defined(__AVX512F__)
constexpr int64_t kLanes = 8;
#elif defined(__AVX2__)
constexpr int64_t kLanes = 4;
#else
constexpr int64_t kLanes = 2;
#endif
typedef double F64 __attribute__((vector_size(8 * kLanes)));
typedef float F32 __attribute__((vector_size(4 * kLanes)));
typedef int64_t I64 __attribute__((vector_size(8 * kLanes)));
typedef int32_t I32 __attribute__((vector_size(4 * kLanes)));
// Sums in eight lanes, whatever the machine has.
typedef double Eight __attribute__((vector_size(64)));

ISOBIT_INLINE I64 bits(const F64& x) { return __builtin_bit_cast(I64, x); }
ISOBIT_INLINE F64 from_bits(const I64& x) { return __builtin_bit_cast(F64, x); }
ISOBIT_INLINE F64 absolute(const F64& x) { return from_bits(bits(x) & 0x7fffffffffffffffll); }

// round_to_bits in lanes. With all 32 bits the machine's own conversion to float32 does it.
struct Rounder {
  explicit Rounder(int kept_bits)
      : shift(61 - kept_bits),
        full(kept_bits == 32),
        shifter(__builtin_bit_cast(double, int64_t(0x3ff + 52 - 149 + 32 - kept_bits) << 52) * 1.5) {}

  template <bool kFull>
  ISOBIT_INLINE_MEMBER F64 operator()(const F64& x) const {
    const F64 canonical_nan = F64{} + __builtin_bit_cast(double, int64_t{0x7ff8000000000000ll});
    if constexpr (kFull) {
      const F64 r = __builtin_convertvector(__builtin_convertvector(x, F32), F64);
      return r == r ? r : canonical_nan;
    }
    const I64 magnitude = bits(x) & 0x7fffffffffffffffll, sign = bits(x) ^ magnitude;
    I64 r = magnitude + ((int64_t{1} << (shift - 1)) - 1) + ((magnitude >> shift) & 1);
    r &= ~((int64_t{1} << shift) - 1);
    r = r >= 0x47f0000000000000ll ? I64{} + 0x7ff0000000000000ll : r;
    const F64 small = (from_bits(magnitude) + shifter) - shifter;
    r = magnitude < 0x3810000000000000ll ? bits(small) : r;
    const F64 rounded = from_bits(r | sign);
    return x == x ? rounded : canonical_nan;
  }

  int shift;
  bool full;
  double shifter;
};

// The extent of the lanes' values so far, magnitudes by their bits: NaN above infinity above all numbers.
struct Top {
  I64 lanes = {};
  F64 squares = {};
  ISOBIT_INLINE_MEMBER void take(const F64& x) {
    const I64 magnitude = bits(x) & 0x7fffffffffffffffll;
    lanes = magnitude > lanes ? magnitude : lanes;
  }
  ISOBIT_INLINE_MEMBER void take_all(const F64& x) {
    take(x);
    squares += x * x;
  }
  ISOBIT_INLINE_MEMBER double peak() const {
    constexpr int64_t kInfinity = 0x7ff0000000000000ll;
    int64_t top = 0;
    for (int lane = 0; lane < kLanes; ++lane) top = lanes[lane] > top ? lanes[lane] : top;
    return __builtin_bit_cast(double, top > kInfinity ? kInfinity : top);
  }
};

ISOBIT_INLINE double sum(const F64& x) {
  double total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += x[lane];
  return total;
}

ISOBIT_INLINE void add(Extent& to, double peak, const F64& squares) {
  to.peak = peak > to.peak ? peak : to.peak;
  to.squares += sum(squares);
}

// One value, the tail of the vectors.
ISOBIT_INLINE void add_one(Extent& to, double x) {
  const double magnitude = x < 0 ? -x : x;
  if (!(magnitude <= to.peak)) to.peak = magnitude == magnitude ? magnitude : __builtin_inf();
  to.squares += x * x;
}

void measure(int64_t n, const double* x, Extent* extent) {
  Top top;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top.take_all(load<F64>(x + i));
  add(*extent, top.peak(), top.squares);
  for (; i < n; ++i) add_one(*extent, x[i]);
}

template <bool kFull, bool kExtent>
ISOBIT_INLINE void round_all(int64_t n, double* x, int kept_bits, Extent* extent) {
  const Rounder rounder(kept_bits);
  Top top;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const F64 r = rounder.operator()<kFull>(load<F64>(x + i));
    if constexpr (kExtent) top.take_all(r);
    store(x + i, r);
  }
  if constexpr (kExtent) add(*extent, top.peak(), top.squares);
  for (; i < n; ++i) {
    x[i] = round_to_bits(x[i], kept_bits);
    if constexpr (kExtent) add_one(*extent, x[i]);
  }
}

template <bool kExtent>
void round_bits(int64_t n, double* x, int kept_bits, Extent* extent) {
  return kept_bits == 32 ? round_all<true, kExtent>(n, x, kept_bits, extent)
                         : round_all<false, kExtent>(n, x, kept_bits, extent);
}

void round(int64_t n, double* x, int kept_bits, Extent* extent) {
  return extent != nullptr ? round_bits<true>(n, x, kept_bits, extent) : round_bits<false>(n, x, kept_bits, extent);
}

template <bool kNorms>
ISOBIT_INLINE F64 width_at(const Interval& interval, int64_t j) {
  if constexpr (kNorms) return interval.width + interval.scale * load<F64>(interval.norms + j);
  return F64{} + interval.width;
}

ISOBIT_INLINE bool any(const I32& x) {
#if defined(__AVX512F__)
  typedef long long Words __attribute__((vector_size(32)));
  return !__builtin_ia32_ptestz256(__builtin_bit_cast(Words, x), __builtin_bit_cast(Words, x));
#elif defined(__AVX2__)
  typedef long long Words __attribute__((vector_size(16)));
  return !__builtin_ia32_ptestz128(__builtin_bit_cast(Words, x), __builtin_bit_cast(Words, x));
#else
  return __builtin_bit_cast(int64_t, x) != 0;
#endif
}

// Ends of an interval, rounded and without a sign of zero.
struct Ends {
  F64 low;
  I32 differ;
};

// All 32 bits: the ends are compared as float32 values. Their magnitudes are collected as such; where nobody wants them
// those of the lower ones alone, which tell of infinities and NaN.
template <bool kExtent>
struct EndsInFloat32 {
  I32 top = {};
  ISOBIT_INLINE_MEMBER Ends operator()(const F64& v, const F64& width) {
    const F32 low = __builtin_convertvector(v - width, F32) + 0.0f;
    const F32 high = __builtin_convertvector(v + width, F32) + 0.0f;
    const I32 l = __builtin_bit_cast(I32, low), h = __builtin_bit_cast(I32, high);
    const I32 ml = l & 0x7fffffff, mh = h & 0x7fffffff;
    top = ml > top ? ml : top;
    if constexpr (kExtent) top = mh > top ? mh : top;
    return {__builtin_convertvector(low, F64), l ^ h};
  }
  ISOBIT_INLINE_MEMBER double peak() const {
    int32_t most = 0;
    for (int lane = 0; lane < kLanes; ++lane) most = top[lane] > most ? top[lane] : most;
    return most >= 0x7f800000 ? __builtin_inf() : static_cast<double>(__builtin_bit_cast(float, most));
  }
};

struct EndsInBits {
  Rounder rounder;
  Top top = {};
  ISOBIT_INLINE_MEMBER Ends operator()(const F64& v, const F64& width) {
    const F64 low = rounder.operator()<false>(v - width) + 0.0, high = rounder.operator()<false>(v + width) + 0.0;
    top.take(low);
    top.take(high);
    return {low, __builtin_convertvector(bits(low) != bits(high), I32)};
  }
  ISOBIT_INLINE_MEMBER double peak() const { return top.peak(); }
};

// One output, the tail of the vectors. False: undecided.
ISOBIT_INLINE bool sieve_one(const Interval& interval, int64_t j, int kept_bits, double& x, Extent& extent) {
  const double width = interval.width + (interval.norms != nullptr ? interval.scale * interval.norms[j] : 0.0);
  const double low = round_to_bits(x - width, kept_bits) + 0.0, high = round_to_bits(x + width, kept_bits) + 0.0;
  const bool finite = x - x == 0;
  add_one(extent, low);
  add_one(extent, high);
  if (finite && low != high) return false;
  x = finite ? low : round_to_bits(x, kept_bits);
  return true;
}

// Norms may be infinite, so that infinities must be looked out for; a single width is finite and keeps them as they
// are.
template <bool kNorms, bool kExtent, class EndsOf>
ISOBIT_INLINE int64_t sieve_all(int64_t n, const Interval& interval, int kept_bits, double* x, int32_t* undecided,
                                Extent* extent, EndsOf ends_of) {
  int64_t count = 0, j = 0;
  F64 squares = {};
  for (; j + kLanes <= n; j += kLanes) {
    const F64 v = load<F64>(x + j);
    Ends ends = ends_of(v, width_at<kNorms>(interval, j));
    if constexpr (kNorms) {
      const I64 finite = v - v == F64{};
      ends.low = finite ? ends.low : v;
      ends.differ &= __builtin_convertvector(finite, I32);
    }
    if constexpr (kExtent) squares += ends.low * ends.low;
    if (!any(ends.differ)) {
      store(x + j, ends.low);
      continue;
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      if (ends.differ[lane] == 0) {
        x[j + lane] = ends.low[lane];
      } else {
        undecided[count++] = static_cast<int32_t>(j + lane);
      }
    }
  }
  Extent own;
  add(own, ends_of.peak(), squares);
  for (; j < n; ++j) {
    if (!sieve_one(interval, j, kept_bits, x[j], own)) undecided[count++] = static_cast<int32_t>(j);
  }
  if (own.peak == __builtin_inf()) {  // NaN may be among them
    for (j = 0; j < n; ++j) x[j] = x[j] == x[j] ? x[j] : __builtin_bit_cast(double, int64_t{0x7ff8000000000000ll});
  }
  if constexpr (kExtent) {
    extent->peak = own.peak > extent->peak ? own.peak : extent->peak;
    extent->squares += own.squares;
  }
  return count;
}

template <bool kNorms, bool kExtent>
int64_t sieve_bits(int64_t n, const Interval& interval, int kept_bits, double* x, int32_t* undecided, Extent* extent) {
  return kept_bits == 32
             ? sieve_all<kNorms, kExtent>(n, interval, kept_bits, x, undecided, extent, EndsInFloat32<kExtent>{})
             : sieve_all<kNorms, kExtent>(n, interval, kept_bits, x, undecided, extent, EndsInBits{Rounder(kept_bits)});
}

int64_t sieve(int64_t n, const Interval& interval, int kept_bits, double* x, int32_t* undecided, Extent* extent) {
  if (interval.norms != nullptr) {
    return extent != nullptr ? sieve_bits<true, true>(n, interval, kept_bits, x, undecided, extent)
                             : sieve_bits<true, false>(n, interval, kept_bits, x, undecided, extent);
  }
  return extent != nullptr ? sieve_bits<false, true>(n, interval, kept_bits, x, undecided, extent)
                           : sieve_bits<false, false>(n, interval, kept_bits, x, undecided, extent);
}

typedef uint8_t U8 __attribute__((vector_size(kLanes)));

// Of `count` values at most kLanes, the rest of the vector as it comes.
template <class V, class T>
ISOBIT_INLINE V load_some(const T* p, int64_t count) {
  V v = {};
  __builtin_memcpy(&v, p, static_cast<size_t>(count) * sizeof(T));
  return v;
}
template <class V, class T>
ISOBIT_INLINE void store_some(T* p, const V& v, int64_t count) {
  __builtin_memcpy(p, &v, static_cast<size_t>(count) * sizeof(T));
}

// spacing() in lanes.
ISOBIT_INLINE F64 spacing_of(const F64& x, int kept_bits) {
  const I64 exponent = bits(x) & 0x7ff0000000000000ll, least = I64{} + (int64_t{0x3ff - 126} << 52);
  return from_bits((exponent < least ? least : exponent) - (int64_t{kept_bits - 9} << 52));
}

template <bool kFull>
ISOBIT_INLINE void classify_all(int64_t n, double threshold, int kept_bits, double* x, uint8_t* decisions) {
  const Rounder rounder(kept_bits);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = n - i < kLanes ? n - i : kLanes;
    const F64 v = load_some<F64>(x + i, count), r = rounder.operator()<kFull>(v);
    const I64 far = absolute(v - r) > threshold * spacing_of(v, kept_bits);
    const I64 decision = far ? (v < r ? I64{} + 2 : I64{}) : I64{} + 1;
    store_some(x + i, r, count);
    store_some(decisions + i, __builtin_convertvector(decision, U8), count);
  }
}

void classify(int64_t n, double threshold, int kept_bits, double* x, uint8_t* decisions) {
  return kept_bits == 32 ? classify_all<true>(n, threshold, kept_bits, x, decisions)
                         : classify_all<false>(n, threshold, kept_bits, x, decisions);
}

template <bool kFull>
ISOBIT_INLINE bool compare_all(int64_t n, const uint8_t* decisions, int kept_bits, double* x, uint8_t* against) {
  const Rounder rounder(kept_bits);
  I64 any = {};
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = n - i < kLanes ? n - i : kLanes;
    const F64 v = load_some<F64>(x + i, count), r = rounder.operator()<kFull>(v);
    const I64 said = __builtin_convertvector(load_some<U8>(decisions + i, count), I64);
    const I64 differ = ((said == 0) & (v < r)) | ((said == 2) & (v > r));
    store_some(x + i, r, count);
    store_some(against + i, __builtin_convertvector(differ, U8), count);
    any |= differ;
  }
  int64_t some = 0;
  for (int lane = 0; lane < kLanes; ++lane) some |= any[lane];
  return some != 0;
}

bool compare(int64_t n, const uint8_t* decisions, int kept_bits, double* x, uint8_t* against) {
  return kept_bits == 32 ? compare_all<true>(n, decisions, kept_bits, x, against)
                         : compare_all<false>(n, decisions, kept_bits, x, against);
}

constexpr int64_t kEight = 8;
ISOBIT_INLINE Eight magnitude(const Eight& x) {
  typedef int64_t Bits __attribute__((vector_size(64)));
  return __builtin_bit_cast(Eight, __builtin_bit_cast(Bits, x) & 0x7fffffffffffffffll);
}

double squares(int64_t n, const double* x) {
  const int64_t whole = n - n % kEight;
  Eight lanes = {};
  for (int64_t i = 0; i < whole; i += kEight) lanes += load<Eight>(x + i) * load<Eight>(x + i);
  double sum = 0;
  for (int64_t i = whole; i < n; ++i) sum += x[i] * x[i];
  for (int lane = 0; lane < kEight; ++lane) sum += lanes[lane];
  return sum;
}

double magnitudes(int64_t n, const double* a, const double* b) {
  const int64_t whole = n - n % kEight;
  Eight lanes = {};
  for (int64_t l = 0; l < whole; l += kEight) lanes += magnitude(load<Eight>(a + l) * load<Eight>(b + l));
  for (int64_t l = whole; l < n; ++l) lanes[l - whole] += __builtin_fabs(a[l] * b[l]);
  double sum = 0;
  for (int lane = 0; lane < kEight; ++lane) sum += lanes[lane];
  return sum;
}

// Row after row over some columns whose sums stay in the first-level cache.
void column_squares(int64_t rows, int64_t n, const double* x, int64_t ld, double* sums) {
  constexpr int64_t kColumns = 1024;
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t last = n - first < kColumns ? n : first + kColumns;
    for (int64_t l = 0; l < rows; ++l) {
      const double* row = x + l * ld;
      int64_t j = first;
      for (; j + kLanes <= last; j += kLanes) {
        store(sums + j, load<F64>(sums + j) + load<F64>(row + j) * load<F64>(row + j));
      }
      for (; j < last; ++j) sums[j] += row[j] * row[j];
    }
  }
}

double squares_of_each(int64_t n, const double* x, double* sums) {
  F64 first = {}, second = {};
  int64_t j = 0;
  for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
    const F64 a = load<F64>(x + j) * load<F64>(x + j), b = load<F64>(x + j + kLanes) * load<F64>(x + j + kLanes);
    first += a;
    second += b;
    store(sums + j, load<F64>(sums + j) + a);
    store(sums + j + kLanes, load<F64>(sums + j + kLanes) + b);
  }
  double total = sum(first + second);
  for (; j < n; ++j) {
    sums[j] += x[j] * x[j];
    total += x[j] * x[j];
  }
  return total;
}

constexpr Table kTable = {measure, round,      sieve,          compare,        classify,
                          squares, magnitudes, column_squares, squares_of_each};

}  // namespace

ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA)

}  // namespace isobit::kernels::rounding
