// What each of our builds of Eigen's products exports, and nothing else.
#pragma once

#include <cstdint>

namespace isobit::kernels::vendor::eigen {

// Row-major, c = op(a) op(b). REQUIRES all sizes >= 1.
template <class T>
using Gemm = void(int threads, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
                  int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc);
using Text = const char*();
using Number = int();

inline constexpr const char* kGemmF32 = "isobit_eigen_gemm_f32";
inline constexpr const char* kGemmF64 = "isobit_eigen_gemm_f64";
inline constexpr const char* kVersion = "isobit_eigen_version";
inline constexpr const char* kInstructions = "isobit_eigen_instructions";  // Eigen's own list of what it was built for
inline constexpr const char* kHasThreads = "isobit_eigen_has_threads";

}  // namespace isobit::kernels::vendor::eigen
