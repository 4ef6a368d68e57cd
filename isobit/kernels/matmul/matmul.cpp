#include "isobit/kernels/matmul/matmul.h"

#include "isobit/kernels/matmul/gemm.h"
#include "isobit/kernels/matmul/reference.h"
#include "isobit/kernels/product/geometry.h"

namespace isobit::kernels {
namespace {

template <class T>
void compute(const KernelContext& ctx, const MatmulArgs<T>& args) {
  if (ctx.isa == Isa::kReference) {
    reference::matmul(args);
  } else {
    gemm::run(ctx, product::product_of(args));
  }
}

}  // namespace

void matmul(const KernelContext& ctx, const MatmulArgs<float>& args) { compute(ctx, args); }
void matmul(const KernelContext& ctx, const MatmulArgs<double>& args) { compute(ctx, args); }

}  // namespace isobit::kernels
