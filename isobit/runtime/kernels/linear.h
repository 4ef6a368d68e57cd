// The operands of the inner-product operators as the kernels take them.
#pragma once

#include <utility>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/elementwise/broadcast.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/product/geometry.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

// Which product a node computes: known from its attributes and shapes alone.
struct NodeProduct {
  bool is_matmul = false;
  kernels::product::MatmulShape matmul;  // MatMul and Gemm; one matrix each, whatever leads them
  kernels::ConvShape conv;               // the others
  kernels::product::Direction direction = kernels::product::Direction::kForward;

  kernels::product::Geometry geometry() const {
    return is_matmul ? matmul_geometry(matmul) : conv_geometry(conv, direction);
  }
};

// first, second: of inputs 0 and 1. REQUIRES an inner product (graph::OpDef) and shapes that its inference accepted.
NodeProduct product_of_node(const graph::Node& node, const Shape& first, const Shape& second, const Shape& out);

inline NodeProduct product_of_call(const KernelCall& c) {
  return product_of_node(c.node, c.in(0).shape(), c.in(1).shape(), c.outputs[0].shape());
}

// Sizes and strides of one matrix each, without data. s: of the node's product.
template <class T>
kernels::MatmulArgs<T> matrix_sizes(const kernels::product::MatmulShape& s) {
  kernels::MatmulArgs<T> args;
  args.m = s.m;
  args.n = s.n;
  args.k = s.k;
  args.a_row_stride = s.a_row_stride;
  args.a_col_stride = s.a_col_stride;
  args.b_row_stride = s.b_row_stride;
  args.b_col_stride = s.b_col_stride;
  args.c_row_stride = s.c_row_stride;
  return args;
}

// One matrix each of op(a) op(b), the first ones.
template <class T>
kernels::MatmulArgs<T> matrix_args(KernelCall& c, const kernels::product::MatmulShape& s) {
  kernels::MatmulArgs<T> args = matrix_sizes<T>(s);
  args.a = c.in(0).data<T>();
  args.b = c.in(1).data<T>();
  args.c = c.out().data<T>();
  return args;
}

inline Shape leading(const Shape& shape) {
  return Shape(std::vector<int64_t>(shape.dims().begin(), shape.dims().end() - 2));
}

// How the matrices of MatMul's two operands meet: their leading dimensions broadcast.
inline kernels::BroadcastPlan matrices_of(const Shape& a, const Shape& b) {
  return kernels::plan_broadcast(leading(a), leading(b));
}

// One product of all rows where every matrix of a meets the same b and rows go on from one matrix to the next: the
// inner products are the same, and what is read of b is laid out once.
template <class T>
void join_batches(kernels::MatmulArgs<T>& args) {
  if (args.batch == 1 || args.b_batch_stride != 0 || args.m == 0) return;
  if (args.m == 1) {
    args.a_row_stride = args.a_batch_stride;
    args.c_row_stride = args.c_batch_stride;
  }
  if (args.a_batch_stride != args.m * args.a_row_stride || args.c_batch_stride != args.m * args.c_row_stride) return;
  args.m *= args.batch;
  args.batch = 1;
}

// Runs of matrices with constant strides become one batched call, or one product. one: as above. plan: matrices_of the
// operands.
template <class T, class F>
void for_each_product(KernelCall& c, const kernels::product::MatmulShape& one, const kernels::BroadcastPlan& plan,
                      F&& f) {
  kernels::MatmulArgs<T> args = matrix_args<T>(c, one);
  if (plan.elements == 0) return;
  const int64_t a_size = c.in(0).shape()[-1] * c.in(0).shape()[-2], b_size = c.in(1).shape()[-1] * c.in(1).shape()[-2];
  const size_t rank = plan.dims.size();
  args.c_batch_stride = args.m * args.n;
  if (rank > 0) {
    args.batch = plan.dims.back();
    args.a_batch_stride = plan.step(rank - 1, 0) * a_size;
    args.b_batch_stride = plan.step(rank - 1, 1) * b_size;
  }
  const int64_t matrices = args.batch, c_size = args.c_batch_stride;
  join_batches(args);
  ScratchVector<int64_t> index(rank, 0);
  for (int64_t done = 0; done < plan.elements; done += matrices) {
    kernels::MatmulArgs<T> part = args;
    for (size_t d = 0; d + 1 < rank; ++d) {
      part.a += index[d] * plan.step(d, 0) * a_size;
      part.b += index[d] * plan.step(d, 1) * b_size;
    }
    part.c += done * c_size;
    f(part);
    for (size_t d = rank; d-- > 1;) {
      if (++index[d - 1] < plan.dims[d - 1]) break;
      index[d - 1] = 0;
    }
  }
}

// Of Gemm.
template <class T>
kernels::MatmulArgs<T> gemm_args(KernelCall& c, const kernels::product::MatmulShape& s) {
  kernels::MatmulArgs<T> args = matrix_args<T>(c, s);
  if (c.has(2)) args.bias = c.in(2).data<T>();
  return args;
}

}  // namespace isobit::runtime
