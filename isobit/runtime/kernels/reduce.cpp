#include "isobit/kernels/reduce/reduce.h"

#include "isobit/base/scratch.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

uint64_t axes_mask(const KernelSite& site) {
  const auto rank = static_cast<int>(site.in(0).dims.size());
  const auto axes = site.attributes().integers("axes", {});
  if (axes.empty()) return rank == 0 ? 0 : ~uint64_t{0} >> (64 - rank);
  uint64_t mask = 0;
  for (int64_t axis : axes) mask |= uint64_t{1} << (axis < 0 ? axis + rank : axis);
  return mask;
}

// Axes that broadcasting had added or widened.
uint64_t widened_axes(const Shape& src, const Shape& dst) {
  uint64_t mask = 0;
  const int added = src.rank() - dst.rank();
  for (int i = 0; i < src.rank(); ++i) {
    if (i < added || dst[i - added] != src[i]) mask |= uint64_t{1} << i;
  }
  return mask;
}

// run(call, axes)
template <class F>
Kernel over_axes(F run) {
  return with_parameters([run](const KernelSite& site) -> RunKernel {
    return [run, axes = axes_mask(site)](KernelCall& c) { return run(c, axes); };
  });
}

Status reduce_sum(KernelCall& c, uint64_t axes) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::reduce_sum(c.ctx, c.in(0).shape().dims(), axes, c.in(0).data<T>(), c.out().data<T>());
  });
}

Status check_not_empty(const KernelCall& c) {
  if (c.in(0).elements() == 0) return unreadable("a mean or maximum of no elements");
  return {};
}

Status reduce_mean(KernelCall& c, uint64_t axes) {
  ISOBIT_RETURN_IF_ERROR(check_not_empty(c));
  return by_float_type(c, 0, [&]<class T>(T) {
    k::reduce_mean(c.ctx, c.in(0).shape().dims(), axes, c.in(0).data<T>(), c.out().data<T>());
  });
}

Status reduce_max(KernelCall& c, uint64_t axes) {
  ISOBIT_RETURN_IF_ERROR(check_not_empty(c));
  return by_float_type(c, 0, [&]<class T>(T) {
    k::reduce_max(c.ctx, c.in(0).shape().dims(), axes, c.in(0).data<T>(), c.out().data<T>());
  });
}

Status sum_to(KernelCall& c) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::reduce_sum(c.ctx, c.in(0).shape().dims(), widened_axes(c.in(0).shape(), c.out().shape()), c.in(0).data<T>(),
                  c.out().data<T>());
  });
}

Status global_norm(KernelCall& c) {
  return by_float_type(c, 0, [&]<class T>(T) {
    ScratchVector<k::ConstPart<T>> parts;
    for (const Tensor* t : c.inputs) parts.push_back({t->data<T>(), t->elements()});
    const std::span<const k::ConstPart<T>> all(parts);
    c.out().data<T>()[0] = k::global_norm(c.ctx, all);
    if (T* sum = c.statistic<T>(0)) *sum = k::global_sum_of_squares(c.ctx, all);
  });
}

}  // namespace

void add_reduce_kernels(KernelTable& table) {
  table["ReduceSum"] = over_axes(reduce_sum);
  table["ReduceMean"] = over_axes(reduce_mean);
  table["ReduceMax"] = over_axes(reduce_max);
  table["isobit.SumTo"] = {sum_to};
  table["isobit.GlobalNorm"] = {global_norm};
}

}  // namespace isobit::runtime
