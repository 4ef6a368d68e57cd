#include "isobit/kernels/pool/pool_nd.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "isobit/base/status.h"
#include "isobit/kernels/movement/strided_copy.h"
#include "isobit/kernels/pool/places.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/kernels/reduce/settle.h"

namespace isobit::kernels {
namespace {

using Axes = std::span<const SlidingAxis>;

pool::PlaneSizes sizes_of(int64_t planes, Axes axes) {
  return {.planes = planes,
          .windows = extents_product(axes.size(), [&](size_t a) { return axes[a].out; }),
          .places = extents_product(axes.size(), [&](size_t a) { return axes[a].in; })};
}

// At most: those of a window that are inside the image.
int64_t taps_of(Axes axes) {
  return extents_product(axes.size(), [&](size_t a) { return std::min(axes[a].size, axes[a].in); });
}

// The windows of one plane one after another, each with the places under its taps.
class Windows {
 public:
  explicit Windows(Axes axes) : axes_(axes), window_(axes.size(), 0), tap_(axes.size() - 1, 0), taps_(axes.size()) {
    find_taps();
  }

  bool next() {
    const bool more = next_index(window_, [&](size_t a) { return axes_[a].out; });
    find_taps();
    return more;
  }

  // f(place) for the taps inside the image, in row-major order.
  template <class F>
  void for_each_place(F f) {
    if (count(false) == 0) return;
    const size_t last = axes_.size() - 1;
    const int64_t across = axes_[last].at(window_[last], taps_[last].begin), step = axes_[last].dilation;
    do {
      int64_t line = 0;
      for (size_t a = 0; a < last; ++a) {
        line = line * axes_[a].in + axes_[a].at(window_[a], taps_[a].begin + tap_[a]);
      }
      int64_t place = line * axes_[last].in + across;
      for (int64_t i = 0; i < taps_[last].length(); ++i, place += step) f(place);
    } while (next_index(tap_, [&](size_t a) { return taps_[a].length(); }));
  }

  // The taps inside the image, or inside the image and its padding.
  int64_t count(bool with_padding) const {
    return extents_product(
        axes_.size(), [&](size_t a) { return with_padding ? axes_[a].padded_taps_of(window_[a]) : taps_[a].length(); });
  }

 private:
  void find_taps() {
    for (size_t a = 0; a < axes_.size(); ++a) taps_[a] = axes_[a].taps_of(window_[a]);
  }

  Axes axes_;
  ScratchVector<int64_t> window_, tap_;
  ScratchVector<SlidingAxis::Range> taps_;  // inside the image
};

// f(windows of the plane, number of the window in the plane, plane) for all windows of the planes in [begin, end).
template <class F>
void for_each_window(Axes axes, int64_t windows, int64_t begin, int64_t end, F f) {
  if (windows == 0) return;
  for (int64_t plane = begin; plane < end; ++plane) {
    Windows walk(axes);
    int64_t window = 0;
    do {
      f(walk, window++, plane);
    } while (walk.next());
  }
}

// A place of a plane, counted in row-major order, as ONNX numbers it, and back.
int64_t renumbered(Axes axes, int64_t place, bool to_column_major) {
  int64_t out = 0;
  if (to_column_major) {
    for (size_t a = axes.size(); a-- > 0;) {
      out = out * axes[a].in + place % axes[a].in;
      place /= axes[a].in;
    }
    return out;
  }
  for (size_t a = 0; a < axes.size(); ++a) {
    out = out * axes[a].in + place % axes[a].in;
    place /= axes[a].in;
  }
  return out;
}

// Whether a comes after b in the order of Max.
template <class T>
bool comes_after(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return reference::greater(a, b);
  } else {
    return a > b;
  }
}

template <class T>
T tidy(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return numerics::canonical(x);
  } else {
    return x;
  }
}

template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) {
    return -std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

float sum_of(const ScratchVector<float>& terms) {
  return sum_settled(terms.data(), static_cast<int64_t>(terms.size()));
}
double sum_of(const ScratchVector<double>& terms) {
  return numerics::sum_ordered_f64(terms.data(), static_cast<int64_t>(terms.size()));
}

template <class E>
void unpool_typed(int64_t count, const void* src, const int64_t* indices, void* dst) {
  for (int64_t i = 0; i < count; ++i) static_cast<E*>(dst)[indices[i]] = static_cast<const E*>(src)[i];
}

}  // namespace

double lp_power(double x, int64_t p) {
  const double magnitude = x < 0 ? -x : x;
  double q = magnitude;
  for (int64_t i = 1; i < p; ++i) q *= magnitude;
  return q;
}

double lp_root(double s, int64_t p) {
  if (p == 1) return s;
  return p == 2 ? numerics::f64_sqrt(s) : numerics::f64_pow(s, 1.0 / static_cast<double>(p));
}

template <class T>
void max_pool_nd(const KernelContext& ctx, int64_t planes, Axes axes, PlaceOrder order, const T* src, T* dst,
                 int64_t* indices) {
  const pool::PlaneSizes s = sizes_of(planes, axes);
  parallel_items(ctx, planes, s.windows * taps_of(axes), [&](int64_t begin, int64_t end) {
    for_each_window(axes, s.windows, begin, end, [&](Windows& w, int64_t window, int64_t plane) {
      const T* image = src + plane * s.places;
      int64_t best = -1;
      w.for_each_place([&](int64_t place) {
        if (best < 0 || comes_after(image[place], image[best])) best = place;
      });
      const int64_t o = plane * s.windows + window;
      dst[o] = best < 0 ? lowest<T>() : tidy(image[best]);
      if (indices == nullptr) return;
      if (best >= 0 && order == PlaceOrder::kColumnMajor) best = renumbered(axes, best, true);
      indices[o] = best < 0 ? -1 : plane * s.places + best;
    });
  });
}

template <class T>
void max_pool_nd_grad(const KernelContext& ctx, int64_t planes, Axes axes, PlaceOrder order, const T* diff_dst,
                      const int64_t* indices, T* diff_src) {
  const pool::PlaneSizes s = sizes_of(planes, axes);
  pool::add_at_places(ctx, s, diff_dst, indices, diff_src, [&](int64_t index) {
    if (order == PlaceOrder::kRowMajor) return index;
    return index / s.places * s.places + renumbered(axes, index % s.places, false);
  });
}

template <class T>
void average_pool_nd(const KernelContext& ctx, int64_t planes, Axes axes, bool count_include_pad, const T* src,
                     T* dst) {
  const pool::PlaneSizes s = sizes_of(planes, axes);
  parallel_items(ctx, planes, s.windows * taps_of(axes), [&](int64_t begin, int64_t end) {
    ScratchVector<T> terms;
    for_each_window(axes, s.windows, begin, end, [&](Windows& w, int64_t window, int64_t plane) {
      terms.clear();
      w.for_each_place([&](int64_t place) { terms.push_back(src[plane * s.places + place]); });
      const int64_t count = w.count(count_include_pad);
      dst[plane * s.windows + window] = count == 0 ? T(0) : tidy(sum_of(terms) / static_cast<T>(count));
    });
  });
}

template <class T>
void average_pool_nd_grad(const KernelContext& ctx, int64_t planes, Axes axes, bool count_include_pad,
                          const T* diff_dst, T* diff_src) {
  const pool::PlaneSizes s = sizes_of(planes, axes);
  parallel_items(ctx, planes, s.windows * taps_of(axes) + s.places, [&](int64_t begin, int64_t end) {
    std::fill(diff_src + begin * s.places, diff_src + end * s.places, T(0));
    for_each_window(axes, s.windows, begin, end, [&](Windows& w, int64_t window, int64_t plane) {
      const T g = diff_dst[plane * s.windows + window] / static_cast<T>(w.count(count_include_pad));
      T* image = diff_src + plane * s.places;
      w.for_each_place([&](int64_t place) { image[place] = tidy(image[place] + g); });
    });
  });
}

template <class T>
void lp_pool_nd(const KernelContext& ctx, int64_t planes, Axes axes, int64_t p, const T* src, T* dst) {
  const pool::PlaneSizes s = sizes_of(planes, axes);
  parallel_items(ctx, planes, s.windows * taps_of(axes), [&](int64_t begin, int64_t end) {
    ScratchVector<double> terms;
    for_each_window(axes, s.windows, begin, end, [&](Windows& w, int64_t window, int64_t plane) {
      terms.clear();
      w.for_each_place(
          [&](int64_t place) { terms.push_back(lp_power(static_cast<double>(src[plane * s.places + place]), p)); });
      dst[plane * s.windows + window] = tidy(static_cast<T>(lp_root(sum_of(terms), p)));
    });
  });
}

void unpool(const KernelContext&, size_t element_size, int64_t count, const void* src, const int64_t* indices,
            int64_t n, void* dst) {
  std::memset(dst, 0, static_cast<size_t>(n) * element_size);
  switch (element_size) {
    case 1:
      return unpool_typed<movement::U8>(count, src, indices, dst);
    case 2:
      return unpool_typed<movement::U16>(count, src, indices, dst);
    case 4:
      return unpool_typed<movement::U32>(count, src, indices, dst);
    case 8:
      return unpool_typed<movement::U64>(count, src, indices, dst);
    default:
      ISOBIT_CHECK(!"element_size is 1, 2, 4 or 8");
  }
}

#define ISOBIT_INSTANTIATE_MAX(T) \
  template void max_pool_nd<T>(const KernelContext&, int64_t, Axes, PlaceOrder, const T*, T*, int64_t*);
#define ISOBIT_INSTANTIATE(T)                                                                                       \
  ISOBIT_INSTANTIATE_MAX(T)                                                                                         \
  template void max_pool_nd_grad<T>(const KernelContext&, int64_t, Axes, PlaceOrder, const T*, const int64_t*, T*); \
  template void average_pool_nd<T>(const KernelContext&, int64_t, Axes, bool, const T*, T*);                        \
  template void average_pool_nd_grad<T>(const KernelContext&, int64_t, Axes, bool, const T*, T*);                   \
  template void lp_pool_nd<T>(const KernelContext&, int64_t, Axes, int64_t, const T*, T*);
ISOBIT_INSTANTIATE(float)
ISOBIT_INSTANTIATE(double)
ISOBIT_INSTANTIATE_MAX(int8_t)
ISOBIT_INSTANTIATE_MAX(uint8_t)
#undef ISOBIT_INSTANTIATE
#undef ISOBIT_INSTANTIATE_MAX

}  // namespace isobit::kernels
