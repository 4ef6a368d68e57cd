#include "isobit/kernels/pool/pool.h"

#include <algorithm>
#include <type_traits>

#include "isobit/base/text.h"
#include "isobit/graph/ops/windows.h"
#include "isobit/kernels/pool/pool_nd.h"
#include "isobit/kernels/reduce/reduce.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/kernels/windows.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

// What the kernels are given, from the node's attributes and the dimensions of the image. Images of one or two axes
// have fast kernels, where one axis is one row; these go through every tap and have memory for every place of a stride,
// so that windows which are larger than the image or further apart than its ends are left to the others.
struct Pooling {
  Pooling(const KernelSite& site, const graph::Value& src)
      : planes(Shape(src.dims).elements(0, 2)),
        axes(sliding_axes(*graph::ops::read_windows(site.attributes(), graph::ops::image_of(src.dims), {}),
                          graph::ops::image_of(src.dims))),
        order(site.attributes().integer("storage_order", 0) == 0 ? k::PlaceOrder::kRowMajor
                                                                 : k::PlaceOrder::kColumnMajor),
        count_include_pad(site.attributes().integer("count_include_pad", 0) != 0) {
    if (axes.size() > 2) return;
    const k::SlidingAxis down = axes.size() == 2 ? axes[0] : k::SlidingAxis{}, across = axes.back();
    flat.n = src.dims[0];
    flat.c = src.dims[1];
    flat.ih = down.in;
    flat.iw = across.in;
    flat.kh = down.size;
    flat.kw = across.size;
    flat.stride_h = down.stride;
    flat.stride_w = across.stride;
    flat.pad_top = down.pad;
    flat.pad_left = across.pad;
    flat.pad_bottom = down.pad_end;
    flat.pad_right = across.pad_end;
    flat.dilation_h = down.dilation;
    flat.dilation_w = across.dilation;
    flat.oh = down.out;
    flat.ow = across.out;
    flat.count_include_pad = count_include_pad;
  }

  bool is_flat() const {
    return axes.size() <= 2 && std::ranges::all_of(axes, [](const k::SlidingAxis& axis) {
             return axis.size <= axis.in && axis.stride <= axis.in;
           });
  }
  bool is_plain() const { return order == k::PlaceOrder::kRowMajor; }
  int64_t places() const {
    return k::extents_product(axes.size(), [&](size_t a) { return axes[a].in; });
  }

  int64_t planes;
  std::vector<k::SlidingAxis> axes;
  k::PlaceOrder order;
  bool count_include_pad;
  k::PoolShape flat;
};

RunKernel max_pool(const KernelSite& site) {
  return [pooling = Pooling(site, site.in(0))](KernelCall& c) -> Status {
    int64_t* indices = c.outputs.size() > 1 && c.out(1).defined() ? c.out(1).data<int64_t>() : nullptr;
    by_type(Types<float, double, int8_t, uint8_t>{}, c.in(0).dtype(), [&]<class T>(T) {
      if constexpr (std::is_floating_point_v<T>) {
        if (pooling.is_flat() && pooling.is_plain()) {
          return k::max_pool(c.ctx, pooling.flat, c.in(0).data<T>(), c.out().data<T>(), indices);
        }
      }
      k::max_pool_nd(c.ctx, pooling.planes, pooling.axes, pooling.order, c.in(0).data<T>(), c.out().data<T>(), indices);
    });
    return {};
  };
}

// Of the indices that are not in [least, places): an error.
Status check_places(const KernelCall& c, int i, int64_t least, int64_t places) {
  for (int64_t place : c.in(i).span<int64_t>()) {
    if (place >= least && place < places) continue;
    return unreadable(text_of("node '", c.node.name, "': an index is ", place, ", expected less than ", places));
  }
  return {};
}

RunKernel max_pool_grad(const KernelSite& site) {
  return [pooling = Pooling(site, site.out())](KernelCall& c) -> Status {
    // -1: a window of padding alone.
    ISOBIT_RETURN_IF_ERROR(check_places(c, 1, -1, pooling.planes * pooling.places()));
    return by_float_type(c, 0, [&]<class T>(T) {
      const T* diff_dst = c.in(0).data<T>();
      const int64_t* indices = c.in(1).data<int64_t>();
      if (pooling.is_flat() && pooling.is_plain()) {
        return k::max_pool_grad(c.ctx, pooling.flat, diff_dst, indices, c.out().data<T>());
      }
      k::max_pool_nd_grad(c.ctx, pooling.planes, pooling.axes, pooling.order, diff_dst, indices, c.out().data<T>());
    });
  };
}

RunKernel average_pool(const KernelSite& site) {
  return [pooling = Pooling(site, site.in(0))](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      if (pooling.is_flat()) return k::average_pool(c.ctx, pooling.flat, c.in(0).data<T>(), c.out().data<T>());
      k::average_pool_nd(c.ctx, pooling.planes, pooling.axes, pooling.count_include_pad, c.in(0).data<T>(),
                         c.out().data<T>());
    });
  };
}

RunKernel average_pool_grad(const KernelSite& site) {
  return [pooling = Pooling(site, site.out())](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      if (pooling.is_flat()) return k::average_pool_grad(c.ctx, pooling.flat, c.in(0).data<T>(), c.out().data<T>());
      k::average_pool_nd_grad(c.ctx, pooling.planes, pooling.axes, pooling.count_include_pad, c.in(0).data<T>(),
                              c.out().data<T>());
    });
  };
}

RunKernel lp_pool(const KernelSite& site) {
  return [pooling = Pooling(site, site.in(0)), p = site.attributes().integer("p", 2)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::lp_pool_nd(c.ctx, pooling.planes, pooling.axes, p, c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel max_unpool(const KernelSite& site) {
  const Shape natural(*graph::ops::unpooled_dims(site.attributes(), site.in(0).dims)), whole(site.out().dims);
  return [natural, whole](KernelCall& c) -> Status {
    ISOBIT_RETURN_IF_ERROR(check_places(c, 1, 0, natural.elements()));
    // The indices are places of the planes that the windows come from; those may be a corner of larger ones.
    ScratchVector<int64_t> places(c.in(1).span<int64_t>().begin(), c.in(1).span<int64_t>().end());
    if (natural != whole) {
      for (int64_t& place : places) {
        int64_t rest = place, step = 1;
        place = 0;
        for (int a = natural.rank(); a-- > 0; step *= whole[a], rest /= natural[a]) place += rest % natural[a] * step;
      }
    }
    k::unpool(c.ctx, size_of(c.in(0).dtype()), c.in(0).elements(), c.in(0).raw(), places.data(), whole.elements(),
              c.out().raw());
    return {};
  };
}

// One axis that a window covers as a whole.
k::SlidingAxis whole_axis(int64_t places) { return {.in = places, .size = places}; }

Status global_average(KernelCall& c) {
  const Shape& src = c.in(0).shape();
  return by_float_type(c, 0, [&]<class T>(T) {
    k::global_average_pool(c.ctx, src.elements(0, 2), src.elements(2, src.rank()), c.in(0).data<T>(),
                           c.out().data<T>());
  });
}

Status global_average_grad(KernelCall& c) {
  const Shape& src = c.out().shape();
  return by_float_type(c, 0, [&]<class T>(T) {
    k::global_average_pool_grad(c.ctx, src.elements(0, 2), src.elements(2, src.rank()), c.in(0).data<T>(),
                                c.out().data<T>());
  });
}

Status global_max(KernelCall& c) {
  const Shape& src = c.in(0).shape();
  return by_float_type(c, 0, [&]<class T>(T) {
    k::reduce_max(c.ctx, k::AxisView{src.elements(0, 2), src.elements(2, src.rank()), 1}, c.in(0).data<T>(),
                  c.out().data<T>());
  });
}

RunKernel global_lp(const KernelSite& site) {
  return [p = site.attributes().integer("p", 2)](KernelCall& c) {
    const Shape& src = c.in(0).shape();
    const k::SlidingAxis axis = whole_axis(src.elements(2, src.rank()));
    return by_float_type(c, 0, [&]<class T>(T) {
      k::lp_pool_nd(c.ctx, src.elements(0, 2), {&axis, 1}, p, c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

}  // namespace

void add_pool_kernels(KernelTable& table) {
  table["MaxPool"] = with_parameters(max_pool);
  table["AveragePool"] = with_parameters(average_pool);
  table["LpPool"] = with_parameters(lp_pool);
  table["MaxUnpool"] = with_parameters(max_unpool);
  table["GlobalAveragePool"] = {global_average};
  table["GlobalMaxPool"] = {global_max};
  table["GlobalLpPool"] = with_parameters(global_lp);
  table["isobit.MaxPoolGrad"] = with_parameters(max_pool_grad);
  table["isobit.AveragePoolGrad"] = with_parameters(average_pool_grad);
  table["isobit.GlobalAveragePoolGrad"] = {global_average_grad};
}

}  // namespace isobit::runtime
