#include "isobit/platform/vendor_product.h"

#include <type_traits>

#include "isobit/base/text.h"
#include "isobit/kernels/product/plain_inner_products.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::platform {

namespace {

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

std::vector<std::string> vendor_libraries() { return kernels::vendor_libraries(); }

Expected<std::unique_ptr<kernels::MatrixProduct>> open_vendor_product(const std::string& library,
                                                                      const std::string& core, int threads,
                                                                      const kernels::KernelContext& fallback) {
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product,
             open_product(library, core, threads, "arithmetic correct-1"));
  product->fall_back_on(fallback);
  return product;
}

template <class T>
Expected<std::unique_ptr<kernels::InnerProducts<T>>> open_vendor_inner_products(
    const std::string& library, const std::string& core, int threads, const kernels::KernelContext& fallback) {
  const char* needs_f64 = std::is_same_v<T, double> ? "a computation in float64" : nullptr;
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product, open_product(library, core, threads, needs_f64));
  return std::unique_ptr<kernels::InnerProducts<T>>(new kernels::PlainInnerProducts<T>(std::move(product), fallback));
}
template Expected<std::unique_ptr<kernels::InnerProducts<float>>> open_vendor_inner_products(
    const std::string&, const std::string&, int, const kernels::KernelContext&);
template Expected<std::unique_ptr<kernels::InnerProducts<double>>> open_vendor_inner_products(
    const std::string&, const std::string&, int, const kernels::KernelContext&);

}  // namespace isobit::platform
