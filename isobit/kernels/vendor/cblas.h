// The adapter shared by every library with the C interface of BLAS (32-bit integers).
#pragma once

#include <functional>
#include <memory>

#include "isobit/kernels/vendor/library.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::kernels::vendor {

// set_threads is called before every product, on the calling thread: OpenMP keeps the number per thread. May be empty.
Expected<std::unique_ptr<VendorProduct>> make_cblas_product(const Library& library, VendorRecord record,
                                                            std::function<void()> set_threads);

}  // namespace isobit::kernels::vendor
