#include "isobit/platform/vendor_product.h"

namespace isobit::platform {

std::vector<std::string> vendor_libraries() { return {}; }

Expected<std::unique_ptr<kernels::correct::Float64Product>> open_vendor_product(const std::string& library,
                                                                                const std::string&, int,
                                                                                const kernels::KernelContext&) {
  return unavailable("platform '" + library + "': this build has no vendor libraries");
}

}  // namespace isobit::platform
