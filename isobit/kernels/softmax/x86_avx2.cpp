#include "isobit/kernels/reduce/lanes.h"
#include "isobit/kernels/softmax/primitives.h"
#include "isobit/numerics/functions_impl.h"

namespace isobit::kernels::avx2 {
#include "isobit/kernels/softmax/softmax_body.inc"
}  // namespace isobit::kernels::avx2
