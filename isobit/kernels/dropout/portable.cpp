#include "isobit/kernels/dropout/table.h"
#include "isobit/kernels/elementwise/loop.h"

#define ISOBIT_ISA portable
#include "isobit/kernels/dropout/dropout_body.inc"
