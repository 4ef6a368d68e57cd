#include "isobit/kernels/order/order.h"

#include "isobit/base/text.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/parameters.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

int axis_of(const KernelSite& site, size_t rank, int64_t otherwise) {
  const int64_t axis = site.attributes().integer("axis", otherwise);
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

k::AxisView view_of(const Shape& shape, int axis) {
  return {shape.elements(0, axis), shape[axis], shape.elements(axis + 1, shape.rank())};
}

RunKernel place_of(const KernelSite& site, k::Extreme extreme) {
  const int axis = axis_of(site, site.in(0).dims.size(), 0);
  const k::Among among = site.attributes().integer("select_last_index", 0) != 0 ? k::Among::kLast : k::Among::kFirst;
  return [axis, extreme, among](KernelCall& c) -> Status {
    if (c.out().elements() == 0) return {};
    if (c.in(0).elements() == 0) {
      return unreadable(text_of("node '", c.node.name, "': the place of an element among none"));
    }
    ISOBIT_CHECK(by_type(NumberTypes(), c.in(0).dtype(), [&]<class T>(T) {
      k::place_of_extreme(c.ctx, view_of(c.in(0).shape(), axis), extreme, among, c.in(0).data<T>(),
                          c.out().data<int64_t>());
    }));
    return {};
  };
}

RunKernel top_k(const KernelSite& site) {
  const int axis = axis_of(site, site.in(0).dims.size(), -1);
  const k::Extreme extreme = site.attributes().integer("largest", 1) != 0 ? k::Extreme::kLargest : k::Extreme::kLeast;
  const int64_t count = parameter_of(site, "k", 1)->front();
  return [axis, extreme, count](KernelCall& c) -> Status {
    ISOBIT_CHECK(by_type(NumberTypes(), c.in(0).dtype(), [&]<class T>(T) {
      k::top_k(c.ctx, view_of(c.in(0).shape(), axis), count, extreme, c.in(0).data<T>(), c.out(0).data<T>(),
               c.out(1).data<int64_t>());
    }));
    return {};
  };
}

RunKernel top_k_grad(const KernelSite& site) {
  const int axis = axis_of(site, site.out().dims.size(), -1);
  return [axis](KernelCall& c) -> Status {
    const k::AxisView view = view_of(c.out().shape(), axis);
    for (int64_t place : c.in(1).span<int64_t>()) {
      if (place >= 0 && place < view.axis) continue;
      return unreadable(text_of("node '", c.node.name, "': a place is ", place, ", expected 0 to ", view.axis - 1));
    }
    return by_float_type(c, 0, [&]<class T>(T) {
      k::top_k_grad(c.ctx, view, c.in(0).shape()[axis], c.in(1).data<int64_t>(), c.in(0).data<T>(), c.out().data<T>());
    });
  };
}

}  // namespace

void add_order_kernels(KernelTable& table) {
  table["ArgMax"] = with_parameters([](const KernelSite& site) { return place_of(site, k::Extreme::kLargest); });
  table["ArgMin"] = with_parameters([](const KernelSite& site) { return place_of(site, k::Extreme::kLeast); });
  table["TopK"] = with_parameters(top_k);
  table["isobit.TopKGrad"] = with_parameters(top_k_grad);
}

}  // namespace isobit::runtime
