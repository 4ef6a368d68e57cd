#include "isobit/kernels/correct/float64_product.h"

#include "isobit/kernels/matmul/matmul.h"

namespace isobit::kernels::correct {

void OrderedProduct::gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
                          int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) {
  MatmulArgs<double> p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a;
  p.a_row_stride = transpose_a ? 1 : lda;
  p.a_col_stride = transpose_a ? lda : 1;
  p.b = b;
  p.b_row_stride = transpose_b ? 1 : ldb;
  p.b_col_stride = transpose_b ? ldb : 1;
  p.c = c;
  p.c_row_stride = ldc;
  kernels::matmul(kernel_, p);
}

}  // namespace isobit::kernels::correct
