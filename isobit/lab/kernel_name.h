// What computes an operator on a platform of our own executor, by name.
#pragma once

#include <string>

#include "isobit/platform/platform.h"
#include "isobit/runtime/executor.h"

namespace isobit::lab {

class KernelNames {
 public:
  explicit KernelNames(const platform::Platform& platform);
  // Of a node that an observer has just seen: "isobit avx512" for our own kernels, "openblas@haswell" for the inner
  // products of a library, "winograd4" for the algorithm of a convolution, "" for a view.
  std::string of(const runtime::NodeRun& run) const;

 private:
  const std::string own_, products_;  // what computes: our kernels, and inner products
};

}  // namespace isobit::lab
