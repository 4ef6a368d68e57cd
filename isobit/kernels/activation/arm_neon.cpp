#include "isobit/kernels/activation/table.h"
#include "isobit/kernels/elementwise/loop.h"

#define ISOBIT_ISA neon
#include "isobit/kernels/activation/activation_body.inc"
