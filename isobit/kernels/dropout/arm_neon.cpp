#include <arm_neon.h>

#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/elementwise/loop.h"

namespace isobit::kernels::dropout_kernels::neon {
namespace {

typedef uint64_t V __attribute__((vector_size(16)));

ISOBIT_ALWAYS_INLINE V wide_product(V a, V b) {
  return reinterpret_cast<V>(
      vmull_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a)), vmovn_u64(reinterpret_cast<uint64x2_t>(b))));
}

}  // namespace
}  // namespace isobit::kernels::dropout_kernels::neon

#define ISOBIT_ISA neon
#include "isobit/kernels/dropout/dropout_body.inc"
