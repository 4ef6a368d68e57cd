// The operands of the inner-product operators as the kernels take them.
#pragma once

#include <vector>

#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/elementwise/binary.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

// m, n, k and strides of op(a) op(b) for one matrix each, rows last but one.
template <class T>
kernels::MatmulArgs<T> matrix_args(KernelCall& c) {
  const bool ta = c.attributes().integer("transA", 0) != 0, tb = c.attributes().integer("transB", 0) != 0;
  const Shape &a = c.in(0).shape(), &b = c.in(1).shape();
  kernels::MatmulArgs<T> args;
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

inline Shape leading(const Shape& shape) {
  return Shape(std::vector<int64_t>(shape.dims().begin(), shape.dims().end() - 2));
}

// The leading dimensions broadcast; runs of matrices with constant strides become one batched call.
template <class T, class F>
void for_each_product(KernelCall& c, F&& f) {
  kernels::MatmulArgs<T> args = matrix_args<T>(c);
  const kernels::BroadcastPlan plan = kernels::plan_broadcast(leading(c.in(0).shape()), leading(c.in(1).shape()));
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
    kernels::MatmulArgs<T> part = args;
    for (size_t d = 0; d + 1 < rank; ++d) {
      part.a += index[d] * plan.a_steps[d] * a_size;
      part.b += index[d] * plan.b_steps[d] * b_size;
    }
    part.c += done * args.c_batch_stride;
    f(part);
    for (size_t d = rank; d-- > 1;) {
      if (++index[d - 1] < plan.dims[d - 1]) break;
      index[d - 1] = 0;
    }
  }
}

// Of Gemm.
template <class T>
kernels::MatmulArgs<T> gemm_args(KernelCall& c) {
  kernels::MatmulArgs<T> args = matrix_args<T>(c);
  if (c.has(2)) args.bias = c.in(2).data<T>();
  return args;
}

// Of Conv, isobit.ConvGradSrc and isobit.ConvGradWeights.
kernels::ConvShape conv_shape(const KernelCall& c);

}  // namespace isobit::runtime
