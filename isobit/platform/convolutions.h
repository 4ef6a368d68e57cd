// Forward convolutions by other algorithms than the platform's own: openblas/1t+winograd4, ordered/2t+fft
// (kernels/vendor/algorithms says what they compute and promise). A build without vendor adapters (the core) knows
// none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/platform/platform.h"

namespace isobit::platform {

// The names that may stand behind the plus of a platform, whether or not what they need is installed.
std::vector<std::string> convolution_algorithms();

// The platform's inner products in float32 with its algorithm over them. `plain`: its threads and our own kernels; the
// pool must outlive the result. `clock` is asked by the autotuner alone. REQUIRES an algorithm, one of the above.
// kUnavailable: as for open_vendor_inner_products, and where the algorithm's own library (fft) is not installed.
Expected<std::unique_ptr<kernels::InnerProducts<float>>> open_convolutions(const Platform& platform,
                                                                           const kernels::KernelContext& plain,
                                                                           const Clock& clock);

}  // namespace isobit::platform
