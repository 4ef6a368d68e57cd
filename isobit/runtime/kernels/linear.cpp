#include "isobit/runtime/kernels/linear.h"

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/kernels/inner_products.h"

namespace isobit::runtime {

kernels::ConvShape conv_shape(const KernelCall& c) {
  // The image and the kernel, wherever the operator has them.
  const graph::ProductForm form = graph::op_of(c.node).product;
  const Shape& src = form == graph::ProductForm::kConvGradSrc ? c.outputs[0].shape() : c.in(0).shape();
  const Shape& weights = form == graph::ProductForm::kConvGradWeights ? c.outputs[0].shape() : c.in(1).shape();
  const graph::Attributes& attributes = c.attributes();
  const graph::ops::Window w = *graph::ops::read_window(attributes, {weights[2], weights[3]});
  kernels::ConvShape s;
  s.n = src[0];
  s.ic = src[1];
  s.ih = src[2];
  s.iw = src[3];
  s.oc = weights[0];
  s.kh = w.kh;
  s.kw = w.kw;
  s.stride_h = w.stride_h;
  s.stride_w = w.stride_w;
  s.pad_top = w.pad_top;
  s.pad_left = w.pad_left;
  s.pad_bottom = w.pad_bottom;
  s.pad_right = w.pad_right;
  s.dilation_h = w.dilation_h;
  s.dilation_w = w.dilation_w;
  s.groups = attributes.integer("group", 1);
  return s;
}

namespace {

namespace k = kernels;

// Inner products are the arithmetic's and the platform's where the context brings some.
template <class T>
Status product(const k::KernelContext& ctx, const k::MatmulArgs<T>& args) {
  if (ctx.products<T>() != nullptr) return ctx.products<T>()->matmul(args);
  k::matmul(ctx, args);
  return {};
}

template <class T>
Status matmul(KernelCall& c) {
  Status status;
  for_each_product<T>(c, [&](const k::MatmulArgs<T>& part) {
    if (status) status = product(c.ctx, part);
  });
  return status;
}

// Calls f(float{}) or f(double{}) by the type of input 0; an error names the node.
template <class F>
Status inner_products(const KernelCall& c, F&& f) {
  Status status = c.f64() ? f(double{}) : f(float{});
  if (status) return status;
  return tl::unexpected<Error>(
      {status.error().code, text_of("operator ", c.node.op, " '", c.node.name, "': ", status.error().message)});
}

Status gemm(KernelCall& c) {
  return inner_products(c, [&]<class T>(T) { return product(c.ctx, gemm_args<T>(c)); });
}

Status conv(KernelCall& c) {
  const k::ConvShape shape = conv_shape(c);
  return inner_products(c, [&]<class T>(T) -> Status {
    if (c.ctx.products<T>() != nullptr) {
      return c.ctx.products<T>()->conv_forward(shape, c.in(0).data<T>(), c.in(1).data<T>(),
                                               c.has(2) ? c.in(2).data<T>() : nullptr, c.out().data<T>());
    }
    k::conv_forward(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<T>(), c.has(2) ? c.in(2).data<T>() : nullptr,
                    c.out().data<T>());
    return {};
  });
}

Status conv_grad_src(KernelCall& c) {
  const k::ConvShape shape = conv_shape(c);
  return inner_products(c, [&]<class T>(T) -> Status {
    if (c.ctx.products<T>() != nullptr) {
      return c.ctx.products<T>()->conv_grad_src(shape, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    }
    k::conv_grad_src(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    return {};
  });
}

Status conv_grad_weights(KernelCall& c) {
  const k::ConvShape shape = conv_shape(c);
  return inner_products(c, [&]<class T>(T) -> Status {
    if (c.ctx.products<T>() != nullptr) {
      return c.ctx.products<T>()->conv_grad_weights(shape, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    }
    k::conv_grad_weights(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    return {};
  });
}

}  // namespace

void add_linear_kernels(KernelTable& table) {
  table["MatMul"] = {[](KernelCall& c) { return inner_products(c, [&]<class T>(T) { return matmul<T>(c); }); }};
  table["Gemm"] = {gemm};
  table["Conv"] = {conv};
  table["isobit.ConvGradSrc"] = {conv_grad_src};
  table["isobit.ConvGradWeights"] = {conv_grad_weights};
}

}  // namespace isobit::runtime
