#include "isobit/kernels/pool/pool.h"

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

k::PoolShape pool_shape(const graph::Attributes& attributes, const Shape& src, const Shape& dst) {
  const graph::ops::Window w = *graph::ops::read_window(attributes, {});
  k::PoolShape s;
  s.n = src[0];
  s.c = src[1];
  s.ih = src[2];
  s.iw = src[3];
  s.kh = w.kh;
  s.kw = w.kw;
  s.stride_h = w.stride_h;
  s.stride_w = w.stride_w;
  s.pad_top = w.pad_top;
  s.pad_left = w.pad_left;
  s.pad_bottom = w.pad_bottom;
  s.pad_right = w.pad_right;
  s.oh = dst[2];
  s.ow = dst[3];
  s.count_include_pad = attributes.integer("count_include_pad", 0) != 0;
  return s;
}

Status max_pool(KernelCall& c) {
  const k::PoolShape shape = pool_shape(c.attributes(), c.in(0).shape(), c.out().shape());
  int64_t* indices = c.outputs.size() > 1 && c.out(1).defined() ? c.out(1).data<int64_t>() : nullptr;
  return by_float_type(c, 0,
                       [&]<class T>(T) { k::max_pool(c.ctx, shape, c.in(0).data<T>(), c.out().data<T>(), indices); });
}

Status max_pool_grad(KernelCall& c) {
  const k::PoolShape shape = pool_shape(c.attributes(), c.out().shape(), c.in(0).shape());
  const int64_t places = shape.ih * shape.iw;
  for (int64_t i : c.in(1).span<int64_t>()) {
    if (i >= -1 && i < places) continue;  // -1: a window of padding alone
    return unreadable(text_of("node '", c.node.name, "': an index is ", i, ", expected less than ", places));
  }
  return by_float_type(c, 0, [&]<class T>(T) {
    k::max_pool_grad(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<int64_t>(), c.out().data<T>());
  });
}

Status average_pool(KernelCall& c) {
  const k::PoolShape shape = pool_shape(c.attributes(), c.in(0).shape(), c.out().shape());
  return by_float_type(c, 0, [&]<class T>(T) { k::average_pool(c.ctx, shape, c.in(0).data<T>(), c.out().data<T>()); });
}

Status average_pool_grad(KernelCall& c) {
  const k::PoolShape shape = pool_shape(c.attributes(), c.out().shape(), c.in(0).shape());
  return by_float_type(c, 0,
                       [&]<class T>(T) { k::average_pool_grad(c.ctx, shape, c.in(0).data<T>(), c.out().data<T>()); });
}

Status global_average(KernelCall& c) {
  const Shape& src = c.in(0).shape();
  return by_float_type(c, 0, [&]<class T>(T) {
    k::global_average_pool(c.ctx, src.elements(0, 2), src.elements(2, 4), c.in(0).data<T>(), c.out().data<T>());
  });
}

Status global_average_grad(KernelCall& c) {
  const Shape& src = c.out().shape();
  return by_float_type(c, 0, [&]<class T>(T) {
    k::global_average_pool_grad(c.ctx, src.elements(0, 2), src.elements(2, 4), c.in(0).data<T>(), c.out().data<T>());
  });
}

}  // namespace

void add_pool_kernels(KernelTable& table) {
  table["MaxPool"] = {max_pool};
  table["AveragePool"] = {average_pool};
  table["GlobalAveragePool"] = {global_average};
  table["isobit.MaxPoolGrad"] = {max_pool_grad};
  table["isobit.AveragePoolGrad"] = {average_pool_grad};
  table["isobit.GlobalAveragePoolGrad"] = {global_average_grad};
}

}  // namespace isobit::runtime
