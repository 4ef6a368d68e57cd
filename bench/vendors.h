// The libraries that the ordered kernels are measured against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/common.h"

namespace isobit::bench {

// OpenBLAS sgemm, row-major, opened by path: $ISOBIT_OPENBLAS or Debian's pthread build. False when it is not there.
bool openblas_available();
void openblas_sgemm(int threads, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, float* c);
std::string openblas_config();

// oneDNN's sgemm, row-major.
void onednn_sgemm(int threads, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                  const float* b, float* c);
std::string onednn_version();
// For oneDNN's OpenMP.
void set_openmp_threads(int threads);

}  // namespace isobit::bench
