#include "isobit/kernels/matmul/matmul.h"

#include <algorithm>

#include "isobit/kernels/matmul/gemm.h"
#include "isobit/kernels/matmul/reference.h"

namespace isobit::kernels {
namespace {

template <class T>
gemm::Operand<T> strided(const T* data, int64_t batch_stride, int64_t i_stride, int64_t k_stride, int64_t k) {
  gemm::Operand<T> op;
  op.data = data;
  op.batch_stride = batch_stride;
  op.i_stride = i_stride;
  op.k_stride = k_stride;
  op.k_period = std::max<int64_t>(1, k);
  return op;
}

template <class T>
void product(const KernelContext& ctx, const MatmulArgs<T>& args) {
  if (ctx.isa == Isa::kReference) {
    reference::matmul(args);
    return;
  }
  gemm::Problem<T> p;
  p.m = args.m;
  p.n = args.n;
  p.plan = {1, args.k, kMatmulChunk};
  p.left = strided(args.a, args.a_batch_stride, args.a_row_stride, args.a_col_stride, args.k);
  p.right = strided(args.b, args.b_batch_stride, args.b_col_stride, args.b_row_stride, args.k);
  p.out.data = args.c;
  p.out.batch_stride = args.c_batch_stride;
  p.out.row_stride = args.c_row_stride;
  p.out.columns = std::max<int64_t>(1, args.n);
  p.bias = args.bias;
  p.batch = args.batch;
  gemm::run(ctx, p);
}

}  // namespace

void matmul(const KernelContext& ctx, const MatmulArgs<float>& args) { product(ctx, args); }
void matmul(const KernelContext& ctx, const MatmulArgs<double>& args) { product(ctx, args); }

}  // namespace isobit::kernels
