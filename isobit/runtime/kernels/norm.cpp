#include "isobit/base/text.h"
#include "isobit/kernels/norm/batch_norm.h"
#include "isobit/kernels/norm/layer_norm.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

k::BatchNormShape batch_shape(const Shape& src) { return {src[0], src[1], src.elements(2, src.rank())}; }

template <class T>
T epsilon(const KernelCall& c) {
  return static_cast<T>(c.attributes().real("epsilon", 1e-5));
}

Status batch_stats(KernelCall& c) {
  if (c.in(0).elements() == 0) return unreadable(text_of("node '", c.node.name, "': statistics of no elements"));
  return by_float_type(c, 0, [&]<class T>(T) {
    k::batch_norm_stats(c.ctx, batch_shape(c.in(0).shape()), c.in(0).data<T>(), c.out(0).data<T>(), c.out(1).data<T>());
  });
}

// (src, scale, bias, mean, var): the batch's statistics in training, the running ones in inference.
Status batch_apply(KernelCall& c) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::batch_norm_apply(c.ctx, batch_shape(c.in(0).shape()), epsilon<T>(c), c.in(0).data<T>(), c.in(3).data<T>(),
                        c.in(4).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(), c.out().data<T>());
  });
}

Status running_update(KernelCall& c) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::batch_norm_running(c.ctx, c.in(0).elements(), c.attributes().integer("count", 0),
                          static_cast<T>(c.attributes().real("momentum", 0.9)), c.in(0).data<T>(), c.in(1).data<T>(),
                          c.out().data<T>());
  });
}

Status batch_grad(KernelCall& c) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::batch_norm_grad(c.ctx, batch_shape(c.in(0).shape()), epsilon<T>(c), c.in(0).data<T>(), c.in(1).data<T>(),
                       c.in(2).data<T>(), c.in(3).data<T>(), c.in(4).data<T>(), c.out(0).data<T>(), c.out(1).data<T>(),
                       c.out(2).data<T>());
  });
}

Status layer_norm(KernelCall& c) {
  const int64_t width = c.in(0).shape()[-1], rows = width == 0 ? 0 : c.in(0).elements() / width;
  return by_float_type(c, 0, [&]<class T>(T) {
    k::layer_norm(c.ctx, rows, width, epsilon<T>(c), c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                  c.out(0).data<T>(), c.out(1).data<T>(), c.out(2).data<T>(), c.statistic<T>(1));
  });
}

Status layer_grad(KernelCall& c) {
  const int64_t width = c.in(0).shape()[-1], rows = width == 0 ? 0 : c.in(0).elements() / width;
  return by_float_type(c, 0, [&]<class T>(T) {
    k::layer_norm_grad_params(c.ctx, rows, width, c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                              c.in(4).data<T>(), c.out(1).data<T>(), c.out(2).data<T>());
    k::layer_norm_grad_data(c.ctx, rows, width, c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                            c.in(3).data<T>(), c.in(4).data<T>(), c.out(0).data<T>(), c.statistic<T>(0),
                            c.statistic<T>(1));
  });
}

}  // namespace

void add_norm_kernels(KernelTable& table) {
  table["BatchNormalization"] = {batch_apply, {{0, 0}}};
  table["isobit.BatchNormApply"] = {batch_apply, {{0, 0}}};
  table["isobit.BatchStatistics"] = {batch_stats};
  table["isobit.RunningUpdate"] = {running_update, {{0, 0}}};
  table["isobit.BatchNormGrad"] = {batch_grad, {{0, 4}}};
  table["LayerNormalization"] = {layer_norm};
  table["isobit.LayerNormGrad"] = {layer_grad};
}

}  // namespace isobit::runtime
