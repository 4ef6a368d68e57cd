#include "isobit/kernels/quantize/quantize.h"

#include "isobit/runtime/kernels/formulas.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

using Quantized = Types<int8_t, uint8_t, int16_t, uint16_t>;

// Of a node that shape inference has accepted (graph/ops/quantize.cpp).
k::ScaleLayout layout_of(const KernelSite& site) {
  const Shape src = site.in(0).shape(), scale = site.in(1).shape();
  const int64_t block = site.attributes().integer("block_size", 0);
  if (block == 0 && (scale.rank() == 0 || scale == Shape{1})) return {.inner = src.elements()};
  const int64_t named = site.attributes().integer("axis", 1);
  const int axis = static_cast<int>(named < 0 ? named + src.rank() : named);
  k::ScaleLayout layout{
      .outer = src.elements(0, axis), .axis = src[axis], .inner = src.elements(axis + 1, src.rank()), .axis_step = 1};
  if (block == 0) return layout;
  layout.block = block;
  layout.inner_step = 1;
  layout.axis_step = layout.inner;
  layout.outer_step = layout.inner * scale[axis];
  return layout;
}

template <class T>
const T* if_there(const KernelCall& c, int i) {
  return c.has(i) ? c.in(i).data<T>() : nullptr;
}

RunKernel quantize(const KernelSite& site) {
  return [layout = layout_of(site)](KernelCall& c) -> Status {
    by_type(Quantized{}, c.out().dtype(), [&]<class Q>(Q) {
      by_type(FloatTypes{}, c.in(1).dtype(), [&]<class T>(T) {
        // Of the source's type, or of int32.
        by_type(Types<T, int32_t>{}, c.in(0).dtype(), [&]<class X>(X) {
          k::quantize(c.ctx, layout, c.in(0).data<X>(), c.in(1).data<T>(), if_there<Q>(c, 2), c.out().data<Q>());
        });
      });
    });
    return {};
  };
}

RunKernel dequantize(const KernelSite& site) {
  return [layout = layout_of(site)](KernelCall& c) -> Status {
    by_type(Types<int8_t, uint8_t, int16_t, uint16_t, int32_t>{}, c.in(0).dtype(), [&]<class Q>(Q) {
      by_type(FloatTypes{}, c.in(1).dtype(), [&]<class T>(T) {
        k::dequantize(c.ctx, layout, c.in(0).data<Q>(), c.in(1).data<T>(), if_there<Q>(c, 2), c.out().data<T>());
      });
    });
    return {};
  };
}

Status dynamic_quantize(KernelCall& c) {
  return by_float_type(c, 0, [&]<class T>(T) {
    const int64_t n = c.in(0).elements();
    const k::Range<T> range = k::range_with_zero(n, c.in(0).data<T>());
    const k::DynamicScale<T> to = k::dynamic_scale(range);
    k::quantize(c.ctx, {.inner = n}, c.in(0).data<T>(), &to.scale, &to.zero_point, c.out().data<uint8_t>());
    c.out(1).data<T>()[0] = to.scale;
    c.out(2).data<uint8_t>()[0] = to.zero_point;
    if (T* low = c.statistic<T>(0)) *low = range.low;
    if (T* high = c.statistic<T>(1)) *high = range.high;
  });
}

}  // namespace

void add_quantize_kernels(KernelTable& table) {
  table["QuantizeLinear"] = with_parameters(quantize);
  table["DequantizeLinear"] = with_parameters(dequantize);
  table["DynamicQuantizeLinear"] = {dynamic_quantize};
}

}  // namespace isobit::runtime
