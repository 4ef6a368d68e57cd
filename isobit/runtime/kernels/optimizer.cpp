#include "isobit/kernels/optimizer/optimizer.h"

#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

Status clip_factor(KernelCall& c) {
  const double max_norm = c.attributes().real("max_norm", 1);
  return by_float_type(
      c, 0, [&]<class T>(T) { c.out().data<T>()[0] = k::clip_factor(c.in(0).data<T>()[0], static_cast<T>(max_norm)); });
}

double scalar(const KernelCall& c, int i) { return c.in(i).data<double>()[0]; }

template <class T>
double grad_scale(const KernelCall& c, int i) {
  return c.has(i) ? static_cast<double>(c.in(i).data<T>()[0]) : 1.0;
}

Status sgd(KernelCall& c) {
  k::SgdArgs args;
  args.lr = scalar(c, 2);
  args.momentum = c.attributes().real("momentum", 0);
  args.weight_decay = c.attributes().real("weight_decay", 0);
  args.nesterov = c.attributes().integer("nesterov", 0) != 0;
  return by_float_type(c, 0, [&]<class T>(T) {
    args.grad_scale = grad_scale<T>(c, 4);
    const bool buffer = c.has(3);
    const k::SgdTensors<T> tensors{c.in(0).data<T>(), c.in(1).data<T>(), buffer ? c.in(3).data<T>() : nullptr,
                                   c.out(0).data<T>(), buffer ? c.out(1).data<T>() : nullptr};
    k::sgd(c.ctx, args, c.in(0).elements(), tensors);
  });
}

Status adam(KernelCall& c) {
  k::AdamArgs args;
  args.lr = scalar(c, 4);
  args.beta1 = c.attributes().real("beta1", 0.9);
  args.beta2 = c.attributes().real("beta2", 0.999);
  args.eps = c.attributes().real("epsilon", 1e-8);
  args.weight_decay = c.attributes().real("weight_decay", 0);
  args.decoupled = c.attributes().integer("decoupled", 0) != 0;
  args.beta1_power = scalar(c, 5);
  args.beta2_power = scalar(c, 6);
  return by_float_type(c, 0, [&]<class T>(T) {
    args.grad_scale = grad_scale<T>(c, 7);
    const k::AdamTensors<T> tensors{c.in(0).data<T>(),  c.in(1).data<T>(),  c.in(2).data<T>(), c.in(3).data<T>(),
                                    c.out(0).data<T>(), c.out(1).data<T>(), c.out(2).data<T>()};
    k::adam(c.ctx, args, c.in(0).elements(), tensors);
  });
}

}  // namespace

void add_optimizer_kernels(KernelTable& table) {
  table["isobit.ClipFactor"] = {clip_factor};
  table["isobit.Sgd"] = {sgd, {{0, 0}, {1, 3}}};
  table["isobit.Adam"] = {adam, {{0, 0}, {1, 2}, {2, 3}}};
}

}  // namespace isobit::runtime
