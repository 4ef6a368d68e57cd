#include "isobit/kernels/correct/steps.h"

#define ISOBIT_ISA avx512
#include "isobit/kernels/correct/steps_body.inc"
