#include "isobit/kernels/reduce/lanes.h"
#include "isobit/kernels/reduce/primitives.h"

namespace isobit::kernels::neon {
#include "isobit/kernels/reduce/reduce_body.inc"
}  // namespace isobit::kernels::neon
