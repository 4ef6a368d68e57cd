// Compiled once, for the baseline machine: no time is spent here.
#include "isobit/kernels/reduce/fold.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/reduce/cells.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/reference.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/kernels/reduce/squares.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {
namespace {

using numerics::StridedSegment;
using numerics::StridedSegmentF64;
using reduce::Cells;
using Dims = std::span<const int64_t>;

// Integers by way of 64 bits without a sign, which wrap.
template <class T>
T plus(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
}

template <class T>
T lesser(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return numerics::canonical(a != a ? a : b);
    return numerics::ordinal(b) < numerics::ordinal(a) ? b : a;
  } else {
    return std::min(a, b);
  }
}

template <class T>
T greater_of(T a, T b) {
  if (a != a || b != b) return numerics::canonical(a != a ? a : b);
  return numerics::ordinal(b) > numerics::ordinal(a) ? b : a;
}

// The greatest number of a type, of which floats have infinities.
template <class T>
constexpr T greatest() {
  using L = std::numeric_limits<T>;
  return L::has_infinity ? L::infinity() : L::max();
}

// value = f(value, x) for each element x of a result, from `value` on.
template <class T, class F>
void fold(const KernelContext& ctx, Dims dims, uint64_t axes, T value, const T* src, T* dst, F f) {
  const Cells cells(dims, axes);
  parallel_items(ctx, cells.results(), cells.terms(), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T total = value;
      cells.for_each(r, [&](int64_t at) { total = f(total, src[at]); });
      dst[r] = total;
    }
  });
}

}  // namespace

template <class T>
void reduce_sum(const KernelContext& ctx, Dims dims, uint64_t axes, const T* src, T* dst) {
  fold(ctx, dims, axes, T(0), src, dst, plus<T>);
}

template <class T>
void reduce_mean(const KernelContext& ctx, Dims dims, uint64_t axes, const T* src, T* dst) {
  reduce_sum<T>(ctx, dims, axes, src, dst);
  const Cells cells(dims, axes);
  for (int64_t r = 0; r < cells.results(); ++r) {
    if constexpr (std::is_signed_v<T>) {
      dst[r] = static_cast<T>(static_cast<int64_t>(dst[r]) / cells.terms());
    } else {
      dst[r] = static_cast<T>(static_cast<uint64_t>(dst[r]) / static_cast<uint64_t>(cells.terms()));
    }
  }
}

template <class T>
void reduce_max(const KernelContext& ctx, Dims dims, uint64_t axes, const T* src, T* dst) {
  fold(ctx, dims, axes, std::numeric_limits<T>::lowest(), src, dst, [](T a, T b) { return std::max(a, b); });
}

template <class T>
void reduce_min(const KernelContext& ctx, Dims dims, uint64_t axes, const T* src, T* dst) {
  fold(ctx, dims, axes, greatest<T>(), src, dst, lesser<T>);
}

template <class T>
void reduce_prod(const KernelContext& ctx, Dims dims, uint64_t axes, const T* src, T* dst) {
  fold(ctx, dims, axes, T(1), src, dst, times<T>);
  if constexpr (std::is_floating_point_v<T>) {
    std::transform(dst, dst + reduce::result_count(dims, axes), dst, [](T x) { return numerics::canonical(x); });
  }
}

void reduce_any(const KernelContext& ctx, Dims dims, uint64_t axes, const uint8_t* src, uint8_t* dst) {
  fold(ctx, dims, axes, uint8_t{0}, src, dst,
       [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a != 0 || b != 0); });
}

void reduce_all(const KernelContext& ctx, Dims dims, uint64_t axes, const uint8_t* src, uint8_t* dst) {
  fold(ctx, dims, axes, uint8_t{1}, src, dst,
       [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a != 0 && b != 0); });
}

template <class T>
void reduce_sum_of_squares(const KernelContext& ctx, Dims dims, uint64_t axes, const T* src, T* dst) {
  fold(ctx, dims, axes, T(0), src, dst, [](T a, T b) { return plus(a, times(b, b)); });
}

template <>
void reduce_sum_of_squares(const KernelContext& ctx, Dims dims, uint64_t axes, const float* src, float* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_sum_of_squares(dims, axes, src, dst);
  const reduce::Table& isa = reduce::table_of(ctx.isa);
  const Cells cells(dims, axes);
  parallel_items(ctx, cells.results(), cells.terms(), [&](int64_t begin, int64_t end) {
    ScratchVector<float> row(static_cast<size_t>(cells.dense() ? 0 : cells.terms()));
    for (int64_t r = begin; r < end; ++r) {
      if (!row.empty()) cells.gather(r, src, row.data());
      const StridedSegment segment{row.empty() ? src + cells.place(r) : row.data(), cells.terms(), 1};
      dst[r] = sum_of_squares_of(isa, std::span(&segment, 1));
    }
  });
}

template <>
void reduce_sum_of_squares(const KernelContext& ctx, Dims dims, uint64_t axes, const double* src, double* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_sum_of_squares(dims, axes, src, dst);
  const Cells cells(dims, axes);
  parallel_items(ctx, cells.results(), cells.terms(), [&](int64_t begin, int64_t end) {
    ScratchVector<StridedSegmentF64> segments(cells.blocks().size());
    for (int64_t r = begin; r < end; ++r) {
      const double* first = src + cells.place(r);
      for (size_t b = 0; b < segments.size(); ++b) {
        segments[b] = {first + cells.blocks()[b], cells.length(), cells.step()};
      }
      dst[r] = numerics::sum_of_squares_ordered_f64(segments);
    }
  });
}

template <class T>
void reduce_l2(const KernelContext& ctx, Dims dims, uint64_t axes, const T* src, T* dst, T* squares) {
  reduce_sum_of_squares(ctx, dims, axes, src, dst);
  const int64_t results = reduce::result_count(dims, axes);
  if (squares) std::copy_n(dst, results, squares);
  std::transform(dst, dst + results, dst, [](T q) { return numerics::canonical(reference::sqrt_of(q)); });
}

template <class T>
void reduce_extreme_grad(const KernelContext& ctx, Dims dims, uint64_t axes, Extreme extreme, const T* src,
                         const T* diff_dst, T* diff_src, T* extremes, T* counts) {
  const Cells cells(dims, axes);
  const bool largest = extreme == Extreme::kLargest;
  parallel_items(ctx, cells.results(), 3 * cells.terms(), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T m = largest ? -greatest<T>() : greatest<T>();
      cells.for_each(r, [&](int64_t at) { m = largest ? greater_of(m, src[at]) : lesser(m, src[at]); });
      int64_t equal = 0;
      cells.for_each(r, [&](int64_t at) { equal += src[at] == m ? 1 : 0; });
      const T k = static_cast<T>(equal);
      const T g = numerics::canonical(diff_dst[r] / k);
      cells.for_each(r, [&](int64_t at) { diff_src[at] = src[at] == m ? g : T(0); });
      if (extremes) extremes[r] = m;
      if (counts) counts[r] = k;
    }
  });
}

template <class T>
void reduce_prod_grad(const KernelContext& ctx, Dims dims, uint64_t axes, const T* src, const T* diff_dst,
                      T* diff_src) {
  const Cells cells(dims, axes);
  parallel_items(ctx, cells.results(), 2 * cells.terms(), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T product = 1;
      cells.for_each(r, [&](int64_t at) {
        diff_src[at] = product;
        product = product * src[at];
      });
      product = 1;
      cells.for_each_backwards(r, [&](int64_t at) {
        const T others = diff_src[at] * product;
        diff_src[at] = numerics::canonical(diff_dst[r] * others);
        product = product * src[at];
      });
    }
  });
}

#define ISOBIT_FOR_INTEGERS(X) X(int8_t) X(int16_t) X(int32_t) X(int64_t) X(uint8_t) X(uint16_t) X(uint32_t) X(uint64_t)
#define ISOBIT_INSTANTIATE(T)                                                      \
  template void reduce_min<T>(const KernelContext&, Dims, uint64_t, const T*, T*); \
  template void reduce_prod<T>(const KernelContext&, Dims, uint64_t, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
ISOBIT_FOR_INTEGERS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE
#define ISOBIT_INSTANTIATE(T)                                                       \
  template void reduce_sum<T>(const KernelContext&, Dims, uint64_t, const T*, T*);  \
  template void reduce_mean<T>(const KernelContext&, Dims, uint64_t, const T*, T*); \
  template void reduce_max<T>(const KernelContext&, Dims, uint64_t, const T*, T*);  \
  template void reduce_sum_of_squares<T>(const KernelContext&, Dims, uint64_t, const T*, T*);
ISOBIT_FOR_INTEGERS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE
#define ISOBIT_INSTANTIATE(T)                                                                                          \
  template void reduce_l2<T>(const KernelContext&, Dims, uint64_t, const T*, T*, T*);                                  \
  template void reduce_extreme_grad<T>(const KernelContext&, Dims, uint64_t, Extreme, const T*, const T*, T*, T*, T*); \
  template void reduce_prod_grad<T>(const KernelContext&, Dims, uint64_t, const T*, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
