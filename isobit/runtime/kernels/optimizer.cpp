#include "isobit/kernels/optimizer/optimizer.h"

#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

RunKernel clip_factor(const KernelSite& site) {
  return [max_norm = site.attributes().real("max_norm", 1)](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      c.out().data<T>()[0] = k::clip_factor(c.in(0).data<T>()[0], static_cast<T>(max_norm));
    });
  };
}

double scalar(const KernelCall& c, int i) { return c.in(i).data<double>()[0]; }

double lr_factor(const KernelSite& site) { return site.attributes().real("lr_factor", 1); }

template <class T>
double grad_scale(const KernelCall& c, int i) {
  return c.has(i) ? static_cast<double>(c.in(i).data<T>()[0]) : 1.0;
}

RunKernel sgd(const KernelSite& site) {
  k::SgdArgs fixed;
  fixed.momentum = site.attributes().real("momentum", 0);
  fixed.weight_decay = site.attributes().real("weight_decay", 0);
  fixed.nesterov = site.attributes().integer("nesterov", 0) != 0;
  return [fixed, lr_factor = lr_factor(site)](KernelCall& c) {
    k::SgdArgs args = fixed;
    args.lr = lr_factor * scalar(c, 2);
    return by_float_type(c, 0, [&]<class T>(T) {
      args.grad_scale = grad_scale<T>(c, 4);
      const bool buffer = c.has(3);
      const k::SgdTensors<T> tensors{c.in(0).data<T>(), c.in(1).data<T>(), buffer ? c.in(3).data<T>() : nullptr,
                                     c.out(0).data<T>(), buffer ? c.out(1).data<T>() : nullptr};
      k::sgd(c.ctx, args, c.in(0).elements(), tensors);
    });
  };
}

RunKernel adam(const KernelSite& site) {
  k::AdamArgs fixed;
  fixed.beta1 = site.attributes().real("beta1", 0.9);
  fixed.beta2 = site.attributes().real("beta2", 0.999);
  fixed.eps = site.attributes().real("epsilon", 1e-8);
  fixed.weight_decay = site.attributes().real("weight_decay", 0);
  fixed.decoupled = site.attributes().integer("decoupled", 0) != 0;
  return [fixed, lr_factor = lr_factor(site)](KernelCall& c) {
    k::AdamArgs args = fixed;
    args.lr = lr_factor * scalar(c, 4);
    args.beta1_power = scalar(c, 5);
    args.beta2_power = scalar(c, 6);
    return by_float_type(c, 0, [&]<class T>(T) {
      args.grad_scale = grad_scale<T>(c, 7);
      const k::AdamTensors<T> tensors{c.in(0).data<T>(),  c.in(1).data<T>(),  c.in(2).data<T>(), c.in(3).data<T>(),
                                      c.out(0).data<T>(), c.out(1).data<T>(), c.out(2).data<T>()};
      k::adam(c.ctx, args, c.in(0).elements(), tensors);
    });
  };
}

}  // namespace

void add_optimizer_kernels(KernelTable& table) {
  table["isobit.ClipFactor"] = with_parameters(clip_factor);
  table["isobit.Sgd"] = finishing(with_parameters(sgd, {{0, 0}, {1, 3}}));
  table["isobit.Adam"] = finishing(with_parameters(adam, {{0, 0}, {1, 2}, {2, 3}}));
}

}  // namespace isobit::runtime
