// What amx.cpp puts in the place of loops (table.h): code of CPUs with AMX int8, compiled with its flags. Internal.
#pragma once

#include "isobit/kernels/correct/integer/table.h"

namespace isobit::kernels::correct::integer {

// REQUIRE amx_is_there().
void amx_multiply(const Strip& strip, int32_t* sums);
void amx_residues(const double* integers, const Moduli& moduli, int8_t* out, int64_t stride);
void amx_reduce(const int32_t* sums, const Moduli& moduli, int s, bool add, int8_t* u, int64_t stride);

}  // namespace isobit::kernels::correct::integer
