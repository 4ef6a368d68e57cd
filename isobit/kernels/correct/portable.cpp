#include "isobit/kernels/correct/steps.h"

#define ISOBIT_ISA portable
#include "isobit/kernels/correct/steps_body.inc"
