#include "isobit/kernels/correct/steps.h"

#define ISOBIT_ISA avx2
#include "isobit/kernels/correct/steps_body.inc"
