#include "isobit/kernels/matmul/reference.h"

#include "isobit/kernels/matmul/ordered_inner_product.h"

namespace isobit::kernels::reference {
namespace {

template <class T>
void product(const MatmulArgs<T>& s) {
  for (int64_t p = 0; p < s.batch; ++p) {
    const T* a = s.a + p * s.a_batch_stride;
    const T* b = s.b + p * s.b_batch_stride;
    T* c = s.c + p * s.c_batch_stride;
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        OrderedInnerProduct<T> sum;
        for (int64_t l = 0; l < s.k; ++l) {
          sum.term(a[i * s.a_row_stride + l * s.a_col_stride], b[l * s.b_row_stride + j * s.b_col_stride]);
          if ((l + 1) % kMatmulChunk == 0 || l + 1 == s.k) sum.end_chunk();
        }
        c[i * s.c_row_stride + j] = sum.finish(s.bias ? s.bias + j : nullptr);
      }
    }
  }
}

}  // namespace

void matmul(const MatmulArgs<float>& args) { product(args); }
void matmul(const MatmulArgs<double>& args) { product(args); }

}  // namespace isobit::kernels::reference
