// A float64 matrix product from anywhere: our own ordered kernels, or a vendor's library.
//
// What `correct-1` needs of one, and all it needs: every c[i, j] is the sum of the k exact products a[i, l] * b[l, j]
// (products of float32 values are exact in float64), added in any order and grouping, with or without fma, each
// addition rounded to nearest even in IEEE float64, nothing flushed to zero. Not allowed: Strassen-like recursions,
// emulated float64, a lower precision anywhere. Which order it is may change from call to call.
#pragma once

#include <cstdint>
#include <string>

#include "isobit/base/status.h"
#include "isobit/kernels/context.h"

namespace isobit::kernels::correct {

class Float64Product {
 public:
  virtual ~Float64Product() = default;

  // What computes, for messages: "openblas@Haswell/1t".
  virtual std::string name() const = 0;

  // c = op(a) * op(b), m x k times k x n, c's old content ignored. Row-major: op(a)[i, l] is a[i * lda + l], or
  // a[l * lda + i] if transpose_a; op(b)[l, j] is b[l * ldb + j], or b[j * ldb + l] if transpose_b.
  // REQUIRES m, n, k >= 1; c overlaps no operand. Must leave the floating-point environment of every thread as it was.
  virtual void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda,
                    const double* b, int64_t ldb, double* c, int64_t ldc) = 0;

  // Why what the last gemm() computed must not be used; an error is kUnavailable.
  virtual Status status() const { return {}; }
};

// The ordered float64 kernels of matmul/matmul.h.
class OrderedProduct final : public Float64Product {
 public:
  explicit OrderedProduct(const KernelContext& kernel) : kernel_(kernel) {}
  std::string name() const override { return std::string("ordered@") + name_of(kernel_.isa); }
  void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda,
            const double* b, int64_t ldb, double* c, int64_t ldc) override;

 private:
  KernelContext kernel_;
};

}  // namespace isobit::kernels::correct
