#include "isobit/kernels/pool/primitives.h"
#include "isobit/kernels/reduce/lanes.h"

namespace isobit::kernels::neon {
#include "isobit/kernels/pool/pool_body.inc"
}  // namespace isobit::kernels::neon
