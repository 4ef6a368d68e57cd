#include "isobit/kernels/matmul/matmul.h"

#include "isobit/kernels/matmul/reference.h"

namespace isobit::kernels {
namespace {

template <class T>
void by_rows(const KernelContext& ctx, const MatmulArgs<T>& args) {
  ctx.pool->parallel_for(args.m, 1, [&](int64_t begin, int64_t end) {
    MatmulArgs<T> part = args;
    part.m = end - begin;
    part.a += begin * args.a_row_stride;
    part.c += begin * args.c_row_stride;
    reference::matmul(part);
  });
}

}  // namespace

void matmul(const KernelContext& ctx, const MatmulArgs<float>& args) { by_rows(ctx, args); }
void matmul(const KernelContext& ctx, const MatmulArgs<double>& args) { by_rows(ctx, args); }

}  // namespace isobit::kernels
