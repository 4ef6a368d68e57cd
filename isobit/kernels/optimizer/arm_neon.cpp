#include "isobit/kernels/elementwise/loop.h"
#include "isobit/kernels/optimizer/table.h"

#define ISOBIT_ISA neon
#include "isobit/kernels/optimizer/optimizer_body.inc"
