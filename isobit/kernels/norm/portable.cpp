#include "isobit/kernels/norm/primitives.h"
#include "isobit/kernels/reduce/lanes.h"

namespace isobit::kernels::portable {
#include "isobit/kernels/norm/norm_body.inc"
}  // namespace isobit::kernels::portable
