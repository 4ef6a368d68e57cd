// The scalar specification of matmul.h; single-threaded, for any machine.
#pragma once

#include "isobit/kernels/matmul/matmul.h"

namespace isobit::kernels::reference {

void matmul(const MatmulArgs<float>& args);
void matmul(const MatmulArgs<double>& args);

}  // namespace isobit::kernels::reference
