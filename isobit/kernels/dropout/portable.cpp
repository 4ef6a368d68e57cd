#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/elementwise/loop.h"

namespace isobit::kernels::dropout_kernels::portable {
namespace {

// One lane: a 64-bit multiplication is faster than what a vector of a baseline machine makes of it.
typedef uint64_t V __attribute__((vector_size(8)));

ISOBIT_ALWAYS_INLINE V wide_product(V a, V b) {
  constexpr uint64_t kLow = 0xffffffffu;
  return (a & kLow) * (b & kLow);
}

}  // namespace
}  // namespace isobit::kernels::dropout_kernels::portable

#define ISOBIT_ISA portable
#include "isobit/kernels/dropout/dropout_body.inc"
