// Numbers of few bits that stand for real ones by a scale and a zero point, and back.
//
// Determinism class ordered-1: each element is the sequence written here; every line is one operation rounded to
// nearest even, no fma.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// Which scale (and zero point) an element has: x is [outer, axis, inner], and element (o, a, i) has number
// o * outer_step + (a / block) * axis_step + i * inner_step. All steps 0: one for all.
struct ScaleLayout {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t block = 1;  // > 0
  int64_t outer_step = 0;
  int64_t axis_step = 0;
  int64_t inner_step = 0;
};

// r = T(x) / scale;  w = r rounded to a whole number, ties to even;  y = w + zero_point, clamped to the range of Q.
// T(x) is x itself, or the float nearest to an integer. w is 0 where r is NaN. zero_point may be null: 0.
// X, T: float, float; double, double; int32_t, float; int32_t, double. Q: int8_t, uint8_t, int16_t, uint16_t.
template <class X, class T, class Q>
void quantize(const KernelContext& ctx, const ScaleLayout& layout, const X* x, const T* scale, const Q* zero_point,
              Q* dst);

// d = T(x - zero_point), the difference being exact;  y = d * scale. A NaN is canonical. zero_point may be null: 0.
// Q: int8_t, uint8_t, int16_t, uint16_t, int32_t. T: float, double.
template <class Q, class T>
void dequantize(const KernelContext& ctx, const ScaleLayout& layout, const Q* x, const T* scale, const Q* zero_point,
                T* dst);

// The range of x and 0: low = min(0, x[0], x[1] ...), high = max(0, x[0] ...), neither of them -0; one NaN makes both
// the canonical NaN. n may be 0.
template <class T>
struct Range {
  T low, high;
};
template <class T>
Range<T> range_with_zero(int64_t n, const T* x);

// What maps a range to 0 .. 255: d = high - low;  scale = d / 255, but 1 where that is 0;  q = low / scale;
// zero_point = -q, rounded and clamped as by quantize (0 where q is NaN). A NaN scale is canonical. T: float, double.
template <class T>
struct DynamicScale {
  T scale;
  uint8_t zero_point;
};
template <class T>
DynamicScale<T> dynamic_scale(Range<T> range);

}  // namespace isobit::kernels
