// The float64 product of a vendor's library as arithmetic correct-1 uses one (correct/float64_product.h).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "isobit/kernels/correct/float64_product.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::kernels {

class VendorFloat64Product final : public correct::Float64Product {
 public:
  // `fallback` computes what is too large for the library's integers. REQUIRES product->has_f64().
  VendorFloat64Product(std::unique_ptr<MatrixProduct> product, const KernelContext& fallback)
      : product_(std::move(product)), fallback_(fallback) {}
  std::string name() const override { return product_->record().text(); }

  void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda,
            const double* b, int64_t ldb, double* c, int64_t ldc) override {
    GemmArgs<double> args;
    args.transpose_a = transpose_a;
    args.transpose_b = transpose_b;
    args.m = m;
    args.n = n;
    args.k = k;
    args.a = a;
    args.lda = lda;
    args.b = b;
    args.ldb = ldb;
    args.c = c;
    args.ldc = ldc;
    status_ = {};
    if (product_->takes(args)) {
      status_ = product_->gemm_f64(args);
    } else {
      fallback_.gemm(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
    }
  }
  Status status() const override { return status_; }

 private:
  std::unique_ptr<MatrixProduct> product_;
  correct::OrderedProduct fallback_;
  Status status_;
};

}  // namespace isobit::kernels
