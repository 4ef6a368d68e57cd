#include "isobit/runtime/parameters.h"

#include "isobit/graph/ops/parameters.h"

namespace isobit::runtime {

std::optional<std::vector<int64_t>> parameter_of(const KernelSite& site, const char* name, int input) {
  const Tensor* constant = nullptr;
  if (site.has(input)) {
    constant = site.graph.initializer(site.node.inputs[static_cast<size_t>(input)]);
    ISOBIT_CHECK(constant != nullptr);
  }
  return graph::ops::parameter_numbers(site.attributes(), name, constant);
}

}  // namespace isobit::runtime
