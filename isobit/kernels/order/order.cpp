#include "isobit/kernels/order/order.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

// Numbers in the order of their keys, which are integers. A NaN has the key `nan`, and both zeros have that of +0.
template <class T>
auto key_of(T x, int64_t nan) {
  if constexpr (std::is_floating_point_v<T>) {
    return x != x ? nan : numerics::ordinal(x == 0 ? T(0) : x);
  } else {
    return x;
  }
}
constexpr int64_t kBehindAll = std::numeric_limits<int64_t>::max(), kBeforeAll = std::numeric_limits<int64_t>::min();

template <class T>
using Key = decltype(key_of(T(), kBehindAll));

// Lines side by side that are looked at together, so that memory is read in its order.
constexpr int64_t kLines = 64;

// Whether x takes the place of the best so far.
template <class K>
bool wins(K x, K best, Extreme extreme, Among among) {
  if (x == best) return among == Among::kLast;
  return extreme == Extreme::kLargest ? x > best : x < best;
}

template <class T>
void places_of_lines(AxisView v, int64_t lines, Extreme extreme, Among among, const T* src, int64_t* dst) {
  const int64_t nan = extreme == Extreme::kLargest ? kBehindAll : kBeforeAll;
  Key<T> best[kLines];
  for (int64_t i = 0; i < lines; ++i) {
    best[i] = key_of(src[i], nan);
    dst[i] = 0;
  }
  for (int64_t a = 1; a < v.axis; ++a) {
    const T* row = src + a * v.inner;
    for (int64_t i = 0; i < lines; ++i) {
      const Key<T> key = key_of(row[i], nan);
      const bool won = wins(key, best[i], extreme, among);
      best[i] = won ? key : best[i];
      dst[i] = won ? a : dst[i];
    }
  }
}

template <class T>
struct Ranked {
  Key<T> key;
  int64_t place;
};

}  // namespace

template <class T>
void place_of_extreme(const KernelContext& ctx, AxisView v, Extreme extreme, Among among, const T* src, int64_t* dst) {
  const int64_t groups = (v.inner + kLines - 1) / kLines;
  parallel_items(ctx, v.outer * groups, v.axis * std::min(v.inner, kLines), [=](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t o = g / groups, i = g % groups * kLines;
      places_of_lines(v, std::min(kLines, v.inner - i), extreme, among, src + o * v.axis * v.inner + i,
                      dst + o * v.inner + i);
    }
  });
}

template <class T>
void top_k(const KernelContext& ctx, AxisView v, int64_t k, Extreme extreme, const T* src, T* values, int64_t* places) {
  const auto comes_first = [extreme](const Ranked<T>& a, const Ranked<T>& b) {
    if (a.key == b.key) return a.place < b.place;
    return extreme == Extreme::kLargest ? a.key > b.key : a.key < b.key;
  };
  parallel_items(ctx, v.outer * v.inner, v.axis * 8, [=](int64_t begin, int64_t end) {
    ScratchVector<Ranked<T>> ranked(static_cast<size_t>(v.axis));
    for (int64_t line = begin; line < end; ++line) {
      const int64_t o = line / v.inner, i = line % v.inner;
      const T* x = src + o * v.axis * v.inner + i;
      for (int64_t a = 0; a < v.axis; ++a) ranked[static_cast<size_t>(a)] = {key_of(x[a * v.inner], kBehindAll), a};
      std::partial_sort(ranked.begin(), ranked.begin() + k, ranked.end(), comes_first);
      for (int64_t a = 0; a < k; ++a) {
        const int64_t to = (o * k + a) * v.inner + i, place = ranked[static_cast<size_t>(a)].place;
        places[to] = place;
        values[to] = x[place * v.inner];
      }
    }
  });
}

template <class T>
void top_k_grad(const KernelContext& ctx, AxisView v, int64_t k, const int64_t* places, const T* diff_values,
                T* diff_src) {
  parallel_items(ctx, v.outer * v.inner, v.axis, [=](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t o = line / v.inner, i = line % v.inner;
      T* d = diff_src + o * v.axis * v.inner + i;
      for (int64_t a = 0; a < v.axis; ++a) d[a * v.inner] = T(0);
      for (int64_t a = 0; a < k; ++a) {
        const int64_t from = (o * k + a) * v.inner + i;
        d[places[from] * v.inner] = diff_values[from];
      }
    }
  });
}

#define ISOBIT_INSTANTIATE(T)                                                                            \
  template void place_of_extreme<T>(const KernelContext&, AxisView, Extreme, Among, const T*, int64_t*); \
  template void top_k<T>(const KernelContext&, AxisView, int64_t, Extreme, const T*, T*, int64_t*);
ISOBIT_FOR_NUMBERS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE
#define ISOBIT_INSTANTIATE(T) \
  template void top_k_grad<T>(const KernelContext&, AxisView, int64_t, const int64_t*, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
