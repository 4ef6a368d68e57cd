#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/steps.h"

#define ISOBIT_ISA neon
#include "isobit/kernels/rounding/steps_body.inc"
