#include "isobit/kernels/pool/pool.h"

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

// What the kernel is given, from the node's window and the shapes of the image and of what the windows make of it.
k::PoolShape pool_shape(const KernelSite& site, const graph::Value& src, const graph::Value& dst) {
  const graph::ops::Window w = *graph::ops::read_window(site.attributes(), {});
  k::PoolShape s;
  s.n = src.dims[0];
  s.c = src.dims[1];
  s.ih = src.dims[2];
  s.iw = src.dims[3];
  s.kh = w.kh;
  s.kw = w.kw;
  s.stride_h = w.stride_h;
  s.stride_w = w.stride_w;
  s.pad_top = w.pad_top;
  s.pad_left = w.pad_left;
  s.pad_bottom = w.pad_bottom;
  s.pad_right = w.pad_right;
  s.oh = dst.dims[2];
  s.ow = dst.dims[3];
  s.count_include_pad = site.attributes().integer("count_include_pad", 0) != 0;
  return s;
}

RunKernel max_pool(const KernelSite& site) {
  return [shape = pool_shape(site, site.in(0), site.out())](KernelCall& c) {
    int64_t* indices = c.outputs.size() > 1 && c.out(1).defined() ? c.out(1).data<int64_t>() : nullptr;
    return by_float_type(c, 0,
                         [&]<class T>(T) { k::max_pool(c.ctx, shape, c.in(0).data<T>(), c.out().data<T>(), indices); });
  };
}

RunKernel max_pool_grad(const KernelSite& site) {
  return [shape = pool_shape(site, site.out(), site.in(0))](KernelCall& c) -> Status {
    const int64_t places = shape.ih * shape.iw;
    for (int64_t i : c.in(1).span<int64_t>()) {
      if (i >= -1 && i < places) continue;  // -1: a window of padding alone
      return unreadable(text_of("node '", c.node.name, "': an index is ", i, ", expected less than ", places));
    }
    return by_float_type(c, 0, [&]<class T>(T) {
      k::max_pool_grad(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<int64_t>(), c.out().data<T>());
    });
  };
}

RunKernel average_pool(const KernelSite& site) {
  return [shape = pool_shape(site, site.in(0), site.out())](KernelCall& c) {
    return by_float_type(c, 0,
                         [&]<class T>(T) { k::average_pool(c.ctx, shape, c.in(0).data<T>(), c.out().data<T>()); });
  };
}

RunKernel average_pool_grad(const KernelSite& site) {
  return [shape = pool_shape(site, site.out(), site.in(0))](KernelCall& c) {
    return by_float_type(c, 0,
                         [&]<class T>(T) { k::average_pool_grad(c.ctx, shape, c.in(0).data<T>(), c.out().data<T>()); });
  };
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
  table["MaxPool"] = with_parameters(max_pool);
  table["AveragePool"] = with_parameters(average_pool);
  table["GlobalAveragePool"] = {global_average};
  table["isobit.MaxPoolGrad"] = with_parameters(max_pool_grad);
  table["isobit.AveragePoolGrad"] = with_parameters(average_pool_grad);
  table["isobit.GlobalAveragePoolGrad"] = {global_average_grad};
}

}  // namespace isobit::runtime
