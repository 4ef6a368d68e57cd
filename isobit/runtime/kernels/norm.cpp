#include "isobit/base/text.h"
#include "isobit/kernels/norm/batch_norm.h"
#include "isobit/kernels/norm/layer_norm.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

k::BatchNormShape batch_shape(const Shape& src) { return {src[0], src[1], src.elements(2, src.rank())}; }

double epsilon_of(const KernelSite& site) { return site.attributes().real("epsilon", 1e-5); }

// run(call, epsilon)
template <class F>
std::function<RunKernel(const KernelSite&)> with_epsilon(F run) {
  return [run](const KernelSite& site) -> RunKernel {
    return [run, epsilon = epsilon_of(site)](KernelCall& c) { return run(c, epsilon); };
  };
}

Status batch_stats(KernelCall& c) {
  if (c.in(0).elements() == 0) return unreadable(text_of("node '", c.node.name, "': statistics of no elements"));
  return by_float_type(c, 0, [&]<class T>(T) {
    k::batch_norm_stats(c.ctx, batch_shape(c.in(0).shape()), c.in(0).data<T>(), c.out(0).data<T>(), c.out(1).data<T>());
  });
}

// (src, scale, bias, mean, var): the batch's statistics in training, the running ones in inference.
Status batch_apply(KernelCall& c, double epsilon) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::batch_norm_apply(c.ctx, batch_shape(c.in(0).shape()), static_cast<T>(epsilon), c.in(0).data<T>(),
                        c.in(3).data<T>(), c.in(4).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(), c.out().data<T>());
  });
}

RunKernel running_update(const KernelSite& site) {
  const int64_t count = site.attributes().integer("count", 0);
  const double momentum = site.attributes().real("momentum", 0.9);
  return [count, momentum](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::batch_norm_running(c.ctx, c.in(0).elements(), count, static_cast<T>(momentum), c.in(0).data<T>(),
                            c.in(1).data<T>(), c.out().data<T>());
    });
  };
}

Status batch_grad(KernelCall& c, double epsilon) {
  return by_float_type(c, 0, [&]<class T>(T) {
    const k::BatchNormGradInputs<T> in{.src = c.in(0).data<T>(),
                                       .mean = c.in(1).data<T>(),
                                       .var = c.in(2).data<T>(),
                                       .scale = c.in(3).data<T>(),
                                       .diff_dst = c.in(4).data<T>()};
    k::batch_norm_grad(c.ctx, batch_shape(c.in(0).shape()), static_cast<T>(epsilon), in, c.out(0).data<T>(),
                       c.out(1).data<T>(), c.out(2).data<T>());
  });
}

Status layer_norm(KernelCall& c, double epsilon) {
  const int64_t width = c.in(0).shape()[-1], rows = width == 0 ? 0 : c.in(0).elements() / width;
  return by_float_type(c, 0, [&]<class T>(T) {
    k::layer_norm(c.ctx, rows, width, static_cast<T>(epsilon), c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                  {.dst = c.out(0).data<T>(),
                   .mean = c.out(1).data<T>(),
                   .inv_std = c.out(2).data<T>(),
                   .var = c.statistic<T>(1)});
  });
}

Status layer_grad(KernelCall& c) {
  const int64_t width = c.in(0).shape()[-1], rows = width == 0 ? 0 : c.in(0).elements() / width;
  return by_float_type(c, 0, [&]<class T>(T) {
    const k::LayerNormGradInputs<T> in{.src = c.in(0).data<T>(),
                                       .mean = c.in(1).data<T>(),
                                       .inv_std = c.in(2).data<T>(),
                                       .scale = c.in(3).data<T>(),
                                       .diff_dst = c.in(4).data<T>()};
    k::layer_norm_grad_params(c.ctx, rows, width, in, c.out(1).data<T>(), c.out(2).data<T>());
    k::layer_norm_grad_data(c.ctx, rows, width, in, c.out(0).data<T>(), c.statistic<T>(0), c.statistic<T>(1));
  });
}

}  // namespace

void add_norm_kernels(KernelTable& table) {
  table["BatchNormalization"] = with_parameters(with_epsilon(batch_apply), {{0, 0}});
  table["isobit.BatchNormApply"] = with_parameters(with_epsilon(batch_apply), {{0, 0}});
  table["isobit.BatchStatistics"] = {batch_stats};
  table["isobit.RunningUpdate"] = with_parameters(running_update, {{0, 0}});
  table["isobit.BatchNormGrad"] = with_parameters(with_epsilon(batch_grad), {{0, 4}});
  table["LayerNormalization"] = with_parameters(with_epsilon(layer_norm));
  table["isobit.LayerNormGrad"] = {layer_grad};
}

}  // namespace isobit::runtime
