#include "isobit/graph/ops/ops.h"
#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/elementwise/binary.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

// Inner products are the arithmetic's and the platform's where the context brings some.
template <class T>
void product(const k::KernelContext& ctx, const k::MatmulArgs<T>& args) {
  if (ctx.products<T>() != nullptr) return ctx.products<T>()->matmul(args);
  k::matmul(ctx, args);
}

// m, n, k and strides of op(a) op(b) for one matrix each, rows last but one.
template <class T>
k::MatmulArgs<T> matrix_args(KernelCall& c) {
  const bool ta = c.attributes().integer("transA", 0) != 0, tb = c.attributes().integer("transB", 0) != 0;
  const Shape &a = c.in(0).shape(), &b = c.in(1).shape();
  k::MatmulArgs<T> args;
  args.m = c.out().shape()[-2];
  args.n = c.out().shape()[-1];
  args.k = a[ta ? -2 : -1];
  args.a = c.in(0).data<T>();
  args.a_row_stride = ta ? 1 : a[-1];
  args.a_col_stride = ta ? a[-1] : 1;
  args.b = c.in(1).data<T>();
  args.b_row_stride = tb ? 1 : b[-1];
  args.b_col_stride = tb ? b[-1] : 1;
  args.c = c.out().data<T>();
  args.c_row_stride = args.n;
  return args;
}

Shape leading(const Shape& shape) { return Shape(std::vector<int64_t>(shape.dims().begin(), shape.dims().end() - 2)); }

// The leading dimensions broadcast; runs of matrices with constant strides become one batched call.
template <class T>
void matmul(KernelCall& c) {
  k::MatmulArgs<T> args = matrix_args<T>(c);
  const k::BroadcastPlan plan = k::plan_broadcast(leading(c.in(0).shape()), leading(c.in(1).shape()));
  if (plan.elements == 0) return;
  const int64_t a_size = c.in(0).shape()[-1] * c.in(0).shape()[-2], b_size = c.in(1).shape()[-1] * c.in(1).shape()[-2];
  const size_t rank = plan.dims.size();
  args.c_batch_stride = args.m * args.n;
  if (rank > 0) {
    args.batch = plan.dims.back();
    args.a_batch_stride = plan.a_steps.back() * a_size;
    args.b_batch_stride = plan.b_steps.back() * b_size;
  }
  std::vector<int64_t> index(rank, 0);
  for (int64_t done = 0; done < plan.elements; done += args.batch) {
    k::MatmulArgs<T> part = args;
    for (size_t d = 0; d + 1 < rank; ++d) {
      part.a += index[d] * plan.a_steps[d] * a_size;
      part.b += index[d] * plan.b_steps[d] * b_size;
    }
    part.c += done * args.c_batch_stride;
    product(c.ctx, part);
    for (size_t d = rank; d-- > 1;) {
      if (++index[d - 1] < plan.dims[d - 1]) break;
      index[d - 1] = 0;
    }
  }
}

Status gemm(KernelCall& c) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::MatmulArgs<T> args = matrix_args<T>(c);
    if (c.has(2)) args.bias = c.in(2).data<T>();
    product(c.ctx, args);
  });
}

k::ConvShape conv_shape(const graph::Attributes& attributes, const Shape& src, const Shape& weights) {
  const graph::ops::Window w = *graph::ops::read_window(attributes, {weights[2], weights[3]});
  k::ConvShape s;
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

Status conv(KernelCall& c) {
  const k::ConvShape shape = conv_shape(c.attributes(), c.in(0).shape(), c.in(1).shape());
  return by_float_type(c, 0, [&]<class T>(T) {
    if (c.ctx.products<T>() != nullptr) {
      return c.ctx.products<T>()->conv_forward(shape, c.in(0).data<T>(), c.in(1).data<T>(),
                                               c.has(2) ? c.in(2).data<T>() : nullptr, c.out().data<T>());
    }
    k::conv_forward(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<T>(), c.has(2) ? c.in(2).data<T>() : nullptr,
                    c.out().data<T>());
  });
}

Status conv_grad_src(KernelCall& c) {
  const k::ConvShape shape = conv_shape(c.attributes(), c.out().shape(), c.in(1).shape());
  return by_float_type(c, 0, [&]<class T>(T) {
    if (c.ctx.products<T>() != nullptr) {
      return c.ctx.products<T>()->conv_grad_src(shape, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    }
    k::conv_grad_src(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
  });
}

Status conv_grad_weights(KernelCall& c) {
  const k::ConvShape shape = conv_shape(c.attributes(), c.in(0).shape(), c.out().shape());
  return by_float_type(c, 0, [&]<class T>(T) {
    if (c.ctx.products<T>() != nullptr) {
      return c.ctx.products<T>()->conv_grad_weights(shape, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
    }
    k::conv_grad_weights(c.ctx, shape, c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>());
  });
}

}  // namespace

void add_linear_kernels(KernelTable& table) {
  table["MatMul"] = {[](KernelCall& c) -> Status { return by_float_type(c, 0, [&]<class T>(T) { matmul<T>(c); }); }};
  table["Gemm"] = {gemm};
  table["Conv"] = {conv};
  table["isobit.ConvGradSrc"] = {conv_grad_src};
  table["isobit.ConvGradWeights"] = {conv_grad_weights};
}

}  // namespace isobit::runtime
