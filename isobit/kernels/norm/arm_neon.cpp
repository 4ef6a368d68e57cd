#include "isobit/kernels/norm/primitives.h"
#include "isobit/kernels/reduce/lanes.h"

namespace isobit::kernels::neon {
#include "isobit/kernels/norm/norm_body.inc"
}  // namespace isobit::kernels::neon
