#include "isobit/kernels/elementwise/loop.h"
#include "isobit/kernels/elementwise/table.h"

#define ISOBIT_ISA avx2
#include "isobit/kernels/elementwise/elementwise_body.inc"
