// Eigen's matrix products, compiled once per instruction set into a shared library that exports the functions of
// module.h alone: the templates of two builds have the same names and must never be merged.
#include <Eigen/Core>
#include <cstdint>

#define ISOBIT_EXPORT extern "C" __attribute__((visibility("default")))
#define ISOBIT_TEXT_OF_(x) #x
#define ISOBIT_TEXT_OF(x) ISOBIT_TEXT_OF_(x)

namespace {

using Stride = Eigen::OuterStride<>;
template <class T, int order>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, order>;
// A transposed row-major matrix is a column-major one.
template <class T>
using Plain = Eigen::Map<const Matrix<T, Eigen::RowMajor>, Eigen::Unaligned, Stride>;
template <class T>
using Transposed = Eigen::Map<const Matrix<T, Eigen::ColMajor>, Eigen::Unaligned, Stride>;

template <class T>
void gemm(int threads, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
          const T* b, int64_t ldb, T* c, int64_t ldc) {
  Eigen::setNbThreads(threads);
  Eigen::Map<Matrix<T, Eigen::RowMajor>, Eigen::Unaligned, Stride> result(c, m, n, Stride(ldc));
  const auto with = [&](const auto& left) {
    if (transpose_b) {
      result.noalias() = left * Transposed<T>(b, k, n, Stride(ldb));
    } else {
      result.noalias() = left * Plain<T>(b, k, n, Stride(ldb));
    }
  };
  if (transpose_a) {
    with(Transposed<T>(a, m, k, Stride(lda)));
  } else {
    with(Plain<T>(a, m, k, Stride(lda)));
  }
}

}  // namespace

ISOBIT_EXPORT void isobit_eigen_gemm_f32(int threads, bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                         int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
                                         int64_t ldc) {
  gemm(threads, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
}
ISOBIT_EXPORT void isobit_eigen_gemm_f64(int threads, bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                         int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb,
                                         double* c, int64_t ldc) {
  gemm(threads, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
}
ISOBIT_EXPORT const char* isobit_eigen_version() {
  return "Eigen " ISOBIT_TEXT_OF(EIGEN_WORLD_VERSION) "." ISOBIT_TEXT_OF(EIGEN_MAJOR_VERSION) "." ISOBIT_TEXT_OF(
      EIGEN_MINOR_VERSION);
}
ISOBIT_EXPORT const char* isobit_eigen_instructions() { return Eigen::SimdInstructionSetsInUse(); }
ISOBIT_EXPORT int isobit_eigen_has_threads() {
#ifdef EIGEN_HAS_OPENMP
  return 1;
#else
  return 0;
#endif
}
