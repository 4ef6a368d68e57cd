#include "isobit/kernels/reduce/reduce.h"

#include "isobit/base/scratch.h"
#include "isobit/base/text.h"
#include "isobit/kernels/reduce/cumulative_sum.h"
#include "isobit/kernels/reduce/fold.h"
#include "isobit/kernels/softmax/log_sum_exp.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/parameters.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

using SummedTypes = Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;

uint64_t axes_mask(const KernelSite& site) {
  const auto rank = static_cast<int>(site.in(0).dims.size());
  const std::vector<int64_t> axes = parameter_of(site, "axes", 1).value_or(std::vector<int64_t>());
  if (axes.empty() && site.attributes().integer("noop_with_empty_axes", 0) == 0) {
    return rank == 0 ? 0 : ~uint64_t{0} >> (64 - rank);
  }
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

// The axes of isobit.ReduceMaxGrad and isobit.ReduceProdGrad: the attribute's alone.
uint64_t given_axes(const KernelSite& site) {
  const auto rank = static_cast<int>(site.in(0).dims.size());
  uint64_t mask = 0;
  for (int64_t axis : site.attributes().integers("axes", {})) mask |= uint64_t{1} << (axis < 0 ? axis + rank : axis);
  return mask;
}

// run(call, axes)
template <class F>
Kernel over_axes(F run) {
  return with_parameters([run](const KernelSite& site) -> RunKernel {
    return [run, axes = axes_mask(site)](KernelCall& c) { return run(c, axes); };
  });
}

// f(dimensions, src, dst) in the type of input 0, which shape inference has found to be one of these.
template <class Set, class F>
Status by_element(KernelCall& c, Set types, F&& f) {
  ISOBIT_CHECK(by_type(types, c.in(0).dtype(),
                       [&]<class T>(T) { f(c.in(0).shape().dims(), c.in(0).data<T>(), c.out().data<T>()); }));
  return {};
}

Status reduce_sum(KernelCall& c, uint64_t axes) {
  return by_element(c, SummedTypes(),
                    [&](const auto& dims, const auto* src, auto* dst) { k::reduce_sum(c.ctx, dims, axes, src, dst); });
}

Status reduce_mean(KernelCall& c, uint64_t axes) {
  if (c.in(0).elements() == 0 && c.out().elements() > 0) {
    return unreadable(text_of("node '", c.node.name, "': a mean of no elements"));
  }
  if (c.in(0).elements() == 0) return {};
  return by_element(c, SummedTypes(),
                    [&](const auto& dims, const auto* src, auto* dst) { k::reduce_mean(c.ctx, dims, axes, src, dst); });
}

Status reduce_max(KernelCall& c, uint64_t axes) {
  if (c.in(0).dtype() == DType::kBool) {
    k::reduce_any(c.ctx, c.in(0).shape().dims(), axes, static_cast<const uint8_t*>(c.in(0).raw()),
                  static_cast<uint8_t*>(c.out().raw()));
    return {};
  }
  return by_element(c, NumberTypes(),
                    [&](const auto& dims, const auto* src, auto* dst) { k::reduce_max(c.ctx, dims, axes, src, dst); });
}

Status reduce_min(KernelCall& c, uint64_t axes) {
  if (c.in(0).dtype() == DType::kBool) {
    k::reduce_all(c.ctx, c.in(0).shape().dims(), axes, static_cast<const uint8_t*>(c.in(0).raw()),
                  static_cast<uint8_t*>(c.out().raw()));
    return {};
  }
  return by_element(c, NumberTypes(),
                    [&](const auto& dims, const auto* src, auto* dst) { k::reduce_min(c.ctx, dims, axes, src, dst); });
}

Status reduce_prod(KernelCall& c, uint64_t axes) {
  return by_element(c, SummedTypes(),
                    [&](const auto& dims, const auto* src, auto* dst) { k::reduce_prod(c.ctx, dims, axes, src, dst); });
}

Status reduce_sum_of_squares(KernelCall& c, uint64_t axes) {
  return by_element(c, SummedTypes(), [&](const auto& dims, const auto* src, auto* dst) {
    k::reduce_sum_of_squares(c.ctx, dims, axes, src, dst);
  });
}

Status reduce_l2(KernelCall& c, uint64_t axes) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::reduce_l2(c.ctx, c.in(0).shape().dims(), axes, c.in(0).data<T>(), c.out().data<T>(), c.statistic<T>(0));
  });
}

Status reduce_log_sum_exp(KernelCall& c, uint64_t axes) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::log_sum_exp(c.ctx, c.in(0).shape().dims(), axes, c.in(0).data<T>(), c.out().data<T>(), c.statistic<T>(0),
                   c.statistic<T>(1));
  });
}

RunKernel reduce_max_grad(const KernelSite& site) {
  const bool largest = site.attributes().integer("largest", 1) != 0;
  return [axes = given_axes(site), largest](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::reduce_extreme_grad(c.ctx, c.in(0).shape().dims(), axes, largest ? k::Extreme::kLargest : k::Extreme::kLeast,
                             c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(), c.statistic<T>(0),
                             c.statistic<T>(1));
    });
  };
}

RunKernel reduce_prod_grad(const KernelSite& site) {
  return [axes = given_axes(site)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::reduce_prod_grad(c.ctx, c.in(0).shape().dims(), axes, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    });
  };
}

RunKernel cumulative_sum(const KernelSite& site) {
  const auto rank = static_cast<int>(site.in(0).dims.size());
  const int64_t given = parameter_of(site, "axis", 1)->front();
  const int axis = static_cast<int>(given < 0 ? given + rank : given);
  const k::CumulativeSumForm form = {.exclusive = site.attributes().integer("exclusive", 0) != 0,
                                     .reverse = site.attributes().integer("reverse", 0) != 0};
  return [axis, form](KernelCall& c) {
    const Shape& shape = c.in(0).shape();
    const k::AxisView view = {shape.elements(0, axis), shape[axis], shape.elements(axis + 1, shape.rank())};
    return by_element(c, SummedTypes(),
                      [&](const auto&, const auto* src, auto* dst) { k::cumulative_sum(c.ctx, view, form, src, dst); });
  };
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
  table["ReduceMin"] = over_axes(reduce_min);
  table["ReduceProd"] = over_axes(reduce_prod);
  table["ReduceSumSquare"] = over_axes(reduce_sum_of_squares);
  table["ReduceL2"] = over_axes(reduce_l2);
  table["ReduceLogSumExp"] = over_axes(reduce_log_sum_exp);
  table["isobit.ReduceMaxGrad"] = with_parameters(reduce_max_grad);
  table["isobit.ReduceProdGrad"] = with_parameters(reduce_prod_grad);
  table["CumSum"] = with_parameters(cumulative_sum, {{0, 0}});
  table["isobit.SumTo"] = {sum_to};
  table["isobit.GlobalNorm"] = {global_norm};
}

}  // namespace isobit::runtime
