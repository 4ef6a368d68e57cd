#include "isobit/kernels/pool/reference.h"

#include <limits>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/reduce/scalar.h"

namespace isobit::kernels::reference {
namespace {

// f(plane, window index in the plane, oh, ow) in ascending order.
template <class F>
void for_each_window(const PoolShape& p, F f) {
  for (int64_t plane = 0; plane < p.n * p.c; ++plane) {
    for (int64_t oh = 0; oh < p.oh; ++oh) {
      for (int64_t ow = 0; ow < p.ow; ++ow) f(plane, (plane * p.oh + oh) * p.ow + ow, oh, ow);
    }
  }
}

// f(index y * iw + x) for the taps of a window inside the image, in (y, x) order. Returns the count of the contract.
template <class F>
int64_t for_each_tap(const PoolShape& p, int64_t oh, int64_t ow, F f) {
  int64_t count = 0;
  for (int64_t i = 0; i < p.kh; ++i) {
    for (int64_t j = 0; j < p.kw; ++j) {
      const int64_t y = oh * p.stride_h - p.pad_top + i * p.dilation_h;
      const int64_t x = ow * p.stride_w - p.pad_left + j * p.dilation_w;
      const bool inside = y >= 0 && y < p.ih && x >= 0 && x < p.iw;
      const bool padded = y < p.ih + p.pad_bottom && x < p.iw + p.pad_right;
      if (inside || (p.count_include_pad && padded)) ++count;
      if (inside) f(y * p.iw + x);
    }
  }
  return count;
}

}  // namespace

template <class T>
void max_pool(const PoolShape& p, const T* src, T* dst, int64_t* indices) {
  for_each_window(p, [&](int64_t plane, int64_t o, int64_t oh, int64_t ow) {
    const T* image = src + plane * p.ih * p.iw;
    int64_t best = -1;
    for_each_tap(p, oh, ow, [&](int64_t i) {
      if (best < 0 || greater(image[i], image[best])) best = i;
    });
    dst[o] = best < 0 ? -std::numeric_limits<T>::infinity() : canonical(image[best]);
    if (indices) indices[o] = best < 0 ? -1 : plane * p.ih * p.iw + best;
  });
}

template <class T>
void max_pool_grad(const PoolShape& p, const T* diff_dst, const int64_t* indices, T* diff_src) {
  for (int64_t i = 0; i < p.n * p.c * p.ih * p.iw; ++i) diff_src[i] = 0;
  for_each_window(p, [&](int64_t, int64_t o, int64_t, int64_t) {
    if (indices[o] < 0) return;
    T& d = diff_src[indices[o]];
    d = canonical(d + diff_dst[o]);
  });
}

template <class T>
void average_pool(const PoolShape& p, const T* src, T* dst) {
  for_each_window(p, [&](int64_t plane, int64_t o, int64_t oh, int64_t ow) {
    std::vector<T> terms;
    const int64_t count = for_each_tap(p, oh, ow, [&](int64_t i) { terms.push_back(src[plane * p.ih * p.iw + i]); });
    dst[o] = count == 0 ? T(0) : canonical(sum_of(terms) / static_cast<T>(count));
  });
}

template <class T>
void average_pool_grad(const PoolShape& p, const T* diff_dst, T* diff_src) {
  for (int64_t i = 0; i < p.n * p.c * p.ih * p.iw; ++i) diff_src[i] = 0;
  for_each_window(p, [&](int64_t plane, int64_t o, int64_t oh, int64_t ow) {
    const int64_t count = for_each_tap(p, oh, ow, [](int64_t) {});
    const T g = diff_dst[o] / static_cast<T>(count);
    for_each_tap(p, oh, ow, [&](int64_t i) {
      T& d = diff_src[plane * p.ih * p.iw + i];
      d = canonical(d + g);
    });
  });
}

template <class T>
void global_average_pool(int64_t planes, int64_t s, const T* src, T* dst) {
  for (int64_t p = 0; p < planes; ++p) {
    dst[p] = canonical(sum_of(std::vector<T>(src + p * s, src + (p + 1) * s)) / static_cast<T>(s));
  }
}

template <class T>
void global_average_pool_grad(int64_t planes, int64_t s, const T* diff_dst, T* diff_src) {
  for (int64_t p = 0; p < planes; ++p) {
    const T g = canonical(diff_dst[p] / static_cast<T>(s));
    for (int64_t i = 0; i < s; ++i) diff_src[p * s + i] = g;
  }
}

#define ISOBIT_INSTANTIATE(T)                                                     \
  template void max_pool<T>(const PoolShape&, const T*, T*, int64_t*);            \
  template void max_pool_grad<T>(const PoolShape&, const T*, const int64_t*, T*); \
  template void average_pool<T>(const PoolShape&, const T*, T*);                  \
  template void average_pool_grad<T>(const PoolShape&, const T*, T*);             \
  template void global_average_pool<T>(int64_t, int64_t, const T*, T*);           \
  template void global_average_pool_grad<T>(int64_t, int64_t, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels::reference
