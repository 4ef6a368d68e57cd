#include "isobit/kernels/elementwise/loop.h"
#include "isobit/kernels/optimizer/table.h"

#define ISOBIT_ISA portable
#include "isobit/kernels/optimizer/optimizer_body.inc"
