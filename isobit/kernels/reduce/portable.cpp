#include "isobit/kernels/reduce/lanes.h"
#include "isobit/kernels/reduce/primitives.h"

namespace isobit::kernels::portable {
#include "isobit/kernels/reduce/reduce_body.inc"
}  // namespace isobit::kernels::portable
