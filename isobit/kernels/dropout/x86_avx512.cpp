#include <immintrin.h>

#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/elementwise/loop.h"

namespace isobit::kernels::dropout_kernels::avx512 {
namespace {

typedef uint64_t V __attribute__((vector_size(64)));

// The masked form: the plain one of GCC 12 warns of the undefined register it passes along.
ISOBIT_ALWAYS_INLINE V wide_product(V a, V b) {
  return reinterpret_cast<V>(_mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

}  // namespace
}  // namespace isobit::kernels::dropout_kernels::avx512

#define ISOBIT_ISA avx512
#include "isobit/kernels/dropout/dropout_body.inc"
