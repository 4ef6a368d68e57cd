#include "isobit/platform/vendor_product.h"

#include <type_traits>

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/inner_products.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::platform {

namespace {

class VendorProduct final : public kernels::correct::Float64Product {
 public:
  VendorProduct(std::unique_ptr<kernels::MatrixProduct> product, const kernels::KernelContext& fallback)
      : product_(std::move(product)), fallback_(fallback) {}
  std::string name() const override { return product_->record().text(); }

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

// needs_f64: what for, or null.
Expected<std::unique_ptr<kernels::MatrixProduct>> open_product(const std::string& library, const std::string& core,
                                                               int threads, const char* needs_f64) {
  kernels::VendorOptions options;
  options.threads = threads;
  options.large_trial = needs_f64 != nullptr;
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product, kernels::open_vendor({library, core}, options));
  if (needs_f64 != nullptr && !product->has_f64()) {
    return unavailable(text_of("platform '", library, "': this library has no float64 product, which ", needs_f64,
                               " needs; use another library, or an arithmetic in float32"));
  }
  return product;
}

}  // namespace

std::vector<std::string> vendor_libraries() {
  std::vector<std::string> libraries;
  for (const char* library :
       {"openblas", "openblas-openmp", "eigen", "onednn", "blis", "blis-openmp", "mkl", "netlib"}) {
    libraries.emplace_back(library);
  }
  return libraries;
}

Expected<std::unique_ptr<kernels::correct::Float64Product>> open_vendor_product(
    const std::string& library, const std::string& core, int threads, const kernels::KernelContext& fallback) {
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product,
             open_product(library, core, threads, "arithmetic correct-1"));
  return std::unique_ptr<kernels::correct::Float64Product>(new VendorProduct(std::move(product), fallback));
}

template <class T>
Expected<std::unique_ptr<kernels::InnerProducts<T>>> open_vendor_inner_products(
    const std::string& library, const std::string& core, int threads, const kernels::KernelContext& fallback) {
  const char* needs_f64 = std::is_same_v<T, double> ? "a computation in float64" : nullptr;
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product, open_product(library, core, threads, needs_f64));
  return std::unique_ptr<kernels::InnerProducts<T>>(new kernels::VendorInnerProducts<T>(std::move(product), fallback));
}
template Expected<std::unique_ptr<kernels::InnerProducts<float>>> open_vendor_inner_products(
    const std::string&, const std::string&, int, const kernels::KernelContext&);
template Expected<std::unique_ptr<kernels::InnerProducts<double>>> open_vendor_inner_products(
    const std::string&, const std::string&, int, const kernels::KernelContext&);

}  // namespace isobit::platform
