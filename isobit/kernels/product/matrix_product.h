// A matrix product from anywhere: our own ordered kernels, a vendor's library (vendor/vendor.h), one made for a test.
//
// What an implementation promises beside the sizes is its own; none promises an order. What `correct-1` and the
// arithmetics in float64 need of one, and all they need: every c[i, j] is the sum of the k products a[i, l] * b[l, j]
// (those of float32 values are exact in float64), added in any order and grouping, with or without fma, each addition
// rounded to nearest even in IEEE arithmetic, nothing flushed to zero. Not allowed: Strassen-like recursions, emulated
// float64, a lower precision anywhere. Which order it is may change from call to call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "isobit/base/status.h"
#include "isobit/kernels/context.h"

namespace isobit::kernels {

// c = op(a) op(b), row-major: op(a) is m x k and op(b) k x n. Element (i, p) of op(a) is a[i * lda + p], transposed
// a[p * lda + i]; b likewise with (p, j) and c with (i, j).
template <class T>
struct GemmArgs {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T* c = nullptr;
  int64_t ldc = 0;
};

class MatrixProduct {
 public:
  MatrixProduct() = default;
  virtual ~MatrixProduct() = default;
  MatrixProduct(const MatrixProduct&) = delete;
  MatrixProduct& operator=(const MatrixProduct&) = delete;

  // What computes, for messages: "openblas@Haswell/1t".
  virtual std::string name() const = 0;
  // The types that it has: of those alone product() is asked.
  virtual bool has_f32() const { return false; }
  virtual bool has_f64() const { return false; }

  // alpha = 1, beta = 0: what c held is not read, be it NaN. k = 0 gives +0 without asking the implementation; m = 0 or
  // n = 0 touches nothing. Error bound of a finite result without underflow: gamma_k times the sum of magnitudes.
  // REQUIRES leading dimensions at least the row length, and c apart from a and b. One call at a time.
  // Errors (kUnavailable): a size that the implementation's integers cannot hold, unless there is a fallback; a type
  // that it does not have; a call that left the thread with another rounding mode or with flush to zero (put right
  // again before the return, but c must not be used), or came from a thread that had one (left as it is; the
  // implementation is not called).
  Status multiply(const GemmArgs<float>& args) { return checked(args); }
  Status multiply(const GemmArgs<double>& args) { return checked(args); }

  // From now on the ordered kernels compute what is too large for the implementation. kernel.pool must outlive this.
  void fall_back_on(const KernelContext& kernel) { fallback_ = kernel; }
  int64_t fallen_back() const { return fallen_back_; }  // how often they did

 private:
  // REQUIRES 1 <= every size and leading dimension <= largest_size(), and that the type is had. One or both are to be
  // implemented; to say that a type is had without implementing it is a bug and aborts.
  virtual void product(const GemmArgs<float>& args);
  virtual void product(const GemmArgs<double>& args);
  virtual int64_t largest_size() const { return INT64_MAX; }

  template <class T>
  Status checked(const GemmArgs<T>& args);

  std::optional<KernelContext> fallback_;
  int64_t fallen_back_ = 0;
};

// The ordered kernels of matmul/matmul.h.
class OrderedProduct final : public MatrixProduct {
 public:
  explicit OrderedProduct(const KernelContext& kernel) : kernel_(kernel) {}
  std::string name() const override { return std::string("ordered@") + name_of(kernel_.isa); }
  bool has_f32() const override { return true; }
  bool has_f64() const override { return true; }

 private:
  void product(const GemmArgs<float>& args) override;
  void product(const GemmArgs<double>& args) override;

  KernelContext kernel_;
};

}  // namespace isobit::kernels
