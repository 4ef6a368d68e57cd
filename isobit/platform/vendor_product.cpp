#include "isobit/platform/vendor_product.h"

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::platform {

namespace {

class VendorProduct final : public kernels::correct::Float64Product {
 public:
  VendorProduct(std::unique_ptr<kernels::MatrixProduct> product, const kernels::KernelContext& fallback)
      : product_(std::move(product)), fallback_(fallback) {}

  void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a, int64_t lda,
            const double* b, int64_t ldb, double* c, int64_t ldc) override {
    kernels::GemmArgs<double> args;
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
    if (product_->gemm_f64(args)) return;
    fallback_.gemm(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
  }

 private:
  std::unique_ptr<kernels::MatrixProduct> product_;
  kernels::correct::OrderedProduct fallback_;
};

}  // namespace

std::vector<std::string> vendor_libraries() {
  std::vector<std::string> libraries;
  for (const char* library : {"openblas", "openblas-openmp", "eigen", "blis", "blis-openmp", "mkl", "netlib"}) {
    libraries.emplace_back(library);
  }
  return libraries;
}

Expected<std::unique_ptr<kernels::correct::Float64Product>> open_vendor_product(
    const std::string& library, const std::string& core, int threads, const kernels::KernelContext& fallback) {
  kernels::VendorOptions options;
  options.threads = threads;
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product, kernels::open_vendor({library, core}, options));
  if (!product->has_f64()) return unavailable(text_of("platform '", library, "': has no float64 product"));
  return std::unique_ptr<kernels::correct::Float64Product>(new VendorProduct(std::move(product), fallback));
}

}  // namespace isobit::platform
