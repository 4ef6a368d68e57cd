// The convolution algorithms by name: the one list of them, from which the names of platforms
// (`openblas/1t+winograd4`), `isobit platforms --algorithms` and the tests come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isobit/kernels/product/matrix_product.h"
#include "isobit/kernels/vendor/algorithms/over_own.h"

namespace isobit::kernels::algorithms {

inline constexpr const char* kAutotune = "autotune";  // Fastest over all the others

struct Entry {
  std::string name;
  std::string words;    // what it is, a line
  std::string applies;  // to which convolutions
};

// In the order in which the autotuner races them; kAutotune is the last.
const std::vector<Entry>& catalogue();

// What an algorithm may stand on.
struct PlatformParts {
  // The float32 products of a library; null: the ordered kernels.
  std::shared_ptr<MatrixProduct> product;
  KernelContext kernel;  // threads, and our own kernels
};

// The platform's inner products with that algorithm over them. REQUIRES a name of the catalogue, and a clock for
// kAutotune, which leaves out what is not installed, and what the platform's own is anyway (explicit-gemm with a
// library). Errors: kUnavailable for a library that is not installed.
Expected<std::unique_ptr<InnerProducts<float>>> open(const std::string& name, const PlatformParts& platform,
                                                     Clock clock);

}  // namespace isobit::kernels::algorithms
