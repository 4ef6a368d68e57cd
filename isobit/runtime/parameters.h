// What a kernel with parameters is bound with, whether they are attributes or operands (graph/ops/parameters.h).
#pragma once

#include <optional>
#include <vector>

#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

// The numbers of a parameter that the node has as an attribute `name` or as input number `input`. nullopt: it has
// neither. REQUIRES that shape inference has read it by shape_parameter: an operand is then a constant by the time that
// a kernel is bound, since the executor binds a node that waits for one in the run, when it is known.
std::optional<std::vector<int64_t>> parameter_of(const KernelSite& site, const char* name, int input);

}  // namespace isobit::runtime
