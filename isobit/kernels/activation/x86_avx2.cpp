#include "isobit/kernels/activation/table.h"
#include "isobit/kernels/elementwise/loop.h"

#define ISOBIT_ISA avx2
#include "isobit/kernels/activation/activation_body.inc"
