#include "isobit/kernels/pool/primitives.h"
#include "isobit/kernels/reduce/lanes.h"

namespace isobit::kernels::avx2 {
#include "isobit/kernels/pool/pool_body.inc"
}  // namespace isobit::kernels::avx2
