#include "isobit/kernels/elementwise/loop.h"
#include "isobit/kernels/optimizer/table.h"

#define ISOBIT_ISA avx512
#include "isobit/kernels/optimizer/optimizer_body.inc"
