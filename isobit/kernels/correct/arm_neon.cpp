#include "isobit/kernels/correct/steps.h"

#define ISOBIT_ISA neon
#include "isobit/kernels/correct/steps_body.inc"
