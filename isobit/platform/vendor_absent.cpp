#include "isobit/platform/convolutions.h"
#include "isobit/platform/vendor_product.h"

namespace isobit::platform {

namespace {

tl::unexpected<Error> absent(const std::string& library) {
  return unavailable("platform '" + library + "': this build has no vendor libraries");
}

}  // namespace

std::vector<std::string> vendor_libraries() { return {}; }
std::vector<std::string> convolution_algorithms() { return {}; }

Expected<LibraryRecord> library_record(const std::string& library, const std::string&, int) { return absent(library); }

Expected<std::unique_ptr<kernels::InnerProducts<float>>> open_convolutions(const Platform& platform,
                                                                           const kernels::KernelContext&,
                                                                           const Clock&) {
  return absent(platform.text());
}

Expected<std::unique_ptr<kernels::MatrixProduct>> open_vendor_product(const std::string& library, const std::string&,
                                                                      int, const kernels::KernelContext&) {
  return absent(library);
}

template <class T>
Expected<std::unique_ptr<kernels::InnerProducts<T>>> open_vendor_inner_products(const std::string& library,
                                                                                const std::string&, int,
                                                                                const kernels::KernelContext&) {
  return absent(library);
}
template Expected<std::unique_ptr<kernels::InnerProducts<float>>> open_vendor_inner_products(
    const std::string&, const std::string&, int, const kernels::KernelContext&);
template Expected<std::unique_ptr<kernels::InnerProducts<double>>> open_vendor_inner_products(
    const std::string&, const std::string&, int, const kernels::KernelContext&);

}  // namespace isobit::platform
