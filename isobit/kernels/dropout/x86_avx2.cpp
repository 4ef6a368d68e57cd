#include <immintrin.h>

#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/elementwise/loop.h"

namespace isobit::kernels::dropout_kernels::avx2 {
namespace {

typedef uint64_t V __attribute__((vector_size(32)));

ISOBIT_ALWAYS_INLINE V wide_product(V a, V b) {
  return reinterpret_cast<V>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}

}  // namespace
}  // namespace isobit::kernels::dropout_kernels::avx2

#define ISOBIT_ISA avx2
#include "isobit/kernels/dropout/dropout_body.inc"
