#include "isobit/kernels/norm/primitives.h"
#include "isobit/kernels/reduce/lanes.h"

namespace isobit::kernels::avx512 {
#include "isobit/kernels/norm/norm_body.inc"
}  // namespace isobit::kernels::avx512
