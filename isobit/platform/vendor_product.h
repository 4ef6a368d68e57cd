// Products of vendors' libraries as platforms: openblas@haswell/2t, eigen@avx2, mkl, onednn (float32 only), ...
// A build without vendor adapters (the core) knows none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/product/matrix_product.h"

namespace isobit::platform {

// Libraries this build has adapters for, installed or not.
std::vector<std::string> vendor_libraries();

// What a library says of itself. Errors: as below.
struct LibraryRecord {
  std::string version;
  std::string core;  // in use
};
Expected<LibraryRecord> library_record(const std::string& library, const std::string& core, int threads);

// Opens the library with this core type ("": its own choice) and thread count for the rest of the process, after a
// child process has tried it. `fallback` computes a product of a size beyond the library's integers: under correct-1
// the result is the same. One that left another floating-point environment is an error of its step. kUnavailable: not
// installed, core type not there or substituted, no float64 in that library (onednn).
Expected<std::unique_ptr<kernels::MatrixProduct>> open_vendor_product(const std::string& library,
                                                                      const std::string& core, int threads,
                                                                      const kernels::KernelContext& fallback);

// The library's own inner products, uncorrected (kernels/product/plain_inner_products.h says what they promise), T
// float or double. `fallback` has the pool for packing and computes what is too large for the library; its pool must
// outlive the result. kUnavailable: as above, and a library without products of type T.
template <class T>
Expected<std::unique_ptr<kernels::InnerProducts<T>>> open_vendor_inner_products(const std::string& library,
                                                                                const std::string& core, int threads,
                                                                                const kernels::KernelContext& fallback);

}  // namespace isobit::platform
