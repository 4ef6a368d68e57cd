// The libraries isobit is measured against, and what all benchmarks share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/base/thread_pool.h"

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

// A pool of that many threads, kept for the life of the program.
ThreadPool& pool_of(int threads);

// About uniform in [-1, 1), the same on every machine.
std::vector<float> random_floats(int64_t n, uint64_t seed);

// Ends the program when `found` is further from `expected` than `tolerance`: a wrong result is never timed.
void require_near(const std::string& what, double expected, double found, double tolerance);

}  // namespace isobit::bench
