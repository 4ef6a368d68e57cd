#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/elementwise/loop.h"

#define ISOBIT_ISA avx512
#include "isobit/kernels/dropout/dropout_body.inc"
