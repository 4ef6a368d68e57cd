#include "isobit/kernels/quantize/quantize.h"

#include <algorithm>
#include <limits>

#include "isobit/kernels/elementwise/functions.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

constexpr int64_t kQuantizeGrain = 4096;

// f(element, scale's number) for the elements [begin, end).
template <class F>
void for_each_element(const ScaleLayout& s, int64_t begin, int64_t end, F&& f) {
  while (begin < end) {
    const int64_t row = begin / s.inner, outer = row / s.axis, axis = row % s.axis;
    const int64_t first = outer * s.outer_step + axis / s.block * s.axis_step;
    const int64_t stop = std::min(end, (row + 1) * s.inner);
    for (int64_t i = begin - row * s.inner; begin < stop; ++begin, ++i) f(begin, first + i * s.inner_step);
  }
}

template <class F>
void for_all_elements(const KernelContext& ctx, const ScaleLayout& s, F&& f) {
  ctx.pool->parallel_for(s.outer * s.axis * s.inner, kQuantizeGrain,
                         [&](int64_t begin, int64_t end) { for_each_element(s, begin, end, f); });
}

// r rounded, NaN as 0, and the zero point added. What is beyond 2^17 is beyond the range of every Q, whatever the zero
// point.
template <class Q, class T>
Q settled(T r, Q zero_point) {
  constexpr T kBeyond = 131072;
  if (r != r) return zero_point;
  const T whole = Round()(std::clamp(r, -kBeyond, kBeyond));
  const auto y = static_cast<int32_t>(whole) + static_cast<int32_t>(zero_point);
  return static_cast<Q>(std::clamp<int32_t>(y, std::numeric_limits<Q>::lowest(), std::numeric_limits<Q>::max()));
}

}  // namespace

template <class X, class T, class Q>
void quantize(const KernelContext& ctx, const ScaleLayout& layout, const X* x, const T* scale, const Q* zero_point,
              Q* dst) {
  for_all_elements(ctx, layout, [=](int64_t e, int64_t s) {
    const Q zero = zero_point == nullptr ? Q(0) : zero_point[s];
    dst[e] = settled<Q, T>(static_cast<T>(x[e]) / scale[s], zero);
  });
}

template <class Q, class T>
void dequantize(const KernelContext& ctx, const ScaleLayout& layout, const Q* x, const T* scale, const Q* zero_point,
                T* dst) {
  for_all_elements(ctx, layout, [=](int64_t e, int64_t s) {
    const int64_t zero = zero_point == nullptr ? 0 : zero_point[s];
    const T d = static_cast<T>(x[e] - zero);
    dst[e] = numerics::canonical(d * scale[s]);
  });
}

template <class T>
Range<T> range_with_zero(int64_t n, const T* x) {
  Range<T> range{0, 0};
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] != x[i]) return {numerics::canonical(x[i]), numerics::canonical(x[i])};
    if (x[i] < range.low) range.low = x[i];
    if (x[i] > range.high) range.high = x[i];
  }
  return range;
}

template <class T>
DynamicScale<T> dynamic_scale(Range<T> range) {
  const T d = range.high - range.low;
  const T quotient = numerics::canonical(d / 255);
  const T scale = quotient == 0 ? T(1) : quotient;
  const T q = range.low / scale;
  return {scale, settled<uint8_t, T>(-q, 0)};
}

#define ISOBIT_QUANTIZE(X, T, Q) \
  template void quantize<X, T, Q>(const KernelContext&, const ScaleLayout&, const X*, const T*, const Q*, Q*);
#define ISOBIT_DEQUANTIZE(Q, T) \
  template void dequantize<Q, T>(const KernelContext&, const ScaleLayout&, const Q*, const T*, const Q*, T*);
#define ISOBIT_INSTANTIATE(Q)         \
  ISOBIT_QUANTIZE(float, float, Q)    \
  ISOBIT_QUANTIZE(double, double, Q)  \
  ISOBIT_QUANTIZE(int32_t, float, Q)  \
  ISOBIT_QUANTIZE(int32_t, double, Q) \
  ISOBIT_DEQUANTIZE(Q, float)         \
  ISOBIT_DEQUANTIZE(Q, double)
ISOBIT_INSTANTIATE(int8_t)
ISOBIT_INSTANTIATE(uint8_t)
ISOBIT_INSTANTIATE(int16_t)
ISOBIT_INSTANTIATE(uint16_t)
ISOBIT_DEQUANTIZE(int32_t, float)
ISOBIT_DEQUANTIZE(int32_t, double)
#undef ISOBIT_INSTANTIATE
#undef ISOBIT_DEQUANTIZE
#undef ISOBIT_QUANTIZE

template Range<float> range_with_zero(int64_t, const float*);
template Range<double> range_with_zero(int64_t, const double*);
template DynamicScale<float> dynamic_scale(Range<float>);
template DynamicScale<double> dynamic_scale(Range<double>);

}  // namespace isobit::kernels
