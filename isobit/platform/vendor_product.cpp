#include "isobit/platform/vendor_product.h"

#include <type_traits>

#include "isobit/base/text.h"
#include "isobit/kernels/product/plain_inner_products.h"
#include "isobit/kernels/vendor/algorithms/catalogue.h"
#include "isobit/kernels/vendor/vendor.h"
#include "isobit/platform/convolutions.h"

namespace isobit::platform {

namespace {

// what: what needs products of the type T.
template <class T>
Expected<std::unique_ptr<kernels::MatrixProduct>> open_product(const std::string& library, const std::string& core,
                                                               int threads, const char* what) {
  constexpr bool kF64 = std::is_same_v<T, double>;
  kernels::VendorOptions options;
  options.threads = threads;
  options.large_trial = kF64;
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product, kernels::open_vendor({library, core}, options));
  if (kF64 ? product->has_f64() : product->has_f32()) return product;
  return unavailable(text_of("platform '", library, "': this library has no ", kF64 ? "float64" : "float32",
                             " product, which ", what, " needs; use another library, or an arithmetic in ",
                             kF64 ? "float32" : "float64"));
}

}  // namespace

std::vector<std::string> vendor_libraries() { return kernels::vendor_libraries(); }

Expected<LibraryRecord> library_record(const std::string& library, const std::string& core, int threads) {
  ISOBIT_TRY(const auto opened,
             kernels::open_vendor({library, core}, {.threads = threads, .path = "", .large_trial = false}));
  return LibraryRecord{opened->record().version, opened->record().core};
}

Expected<std::unique_ptr<kernels::MatrixProduct>> open_vendor_product(const std::string& library,
                                                                      const std::string& core, int threads,
                                                                      const kernels::KernelContext& fallback) {
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product,
             open_product<double>(library, core, threads, "arithmetic correct-1"));
  product->fall_back_on(fallback);
  return product;
}

std::vector<std::string> convolution_algorithms() {
  std::vector<std::string> names;
  for (const auto& entry : kernels::algorithms::catalogue()) names.push_back(entry.name);
  return names;
}

Expected<std::unique_ptr<kernels::InnerProducts<float>>> open_convolutions(const Platform& platform,
                                                                           const kernels::KernelContext& plain,
                                                                           const Clock& clock) {
  kernels::algorithms::PlatformParts parts{nullptr, plain};
  if (!platform.is_ordered()) {
    ISOBIT_TRY(parts.product,
               open_product<float>(platform.library, platform.core, platform.threads, "a computation in float32"));
  }
  return kernels::algorithms::open(platform.algorithm, parts, clock);
}

template <class T>
Expected<std::unique_ptr<kernels::InnerProducts<T>>> open_vendor_inner_products(
    const std::string& library, const std::string& core, int threads, const kernels::KernelContext& fallback) {
  const char* what = std::is_same_v<T, double> ? "a computation in float64" : "a computation in float32";
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product, open_product<T>(library, core, threads, what));
  return std::unique_ptr<kernels::InnerProducts<T>>(new kernels::PlainInnerProducts<T>(std::move(product), fallback));
}
template Expected<std::unique_ptr<kernels::InnerProducts<float>>> open_vendor_inner_products(
    const std::string&, const std::string&, int, const kernels::KernelContext&);
template Expected<std::unique_ptr<kernels::InnerProducts<double>>> open_vendor_inner_products(
    const std::string&, const std::string&, int, const kernels::KernelContext&);

}  // namespace isobit::platform
