// An operator's own kernel on a node that has been reduced to what one element needs. Internal.
#pragma once

#include <span>

#include "isobit/judge/way.h"
#include "isobit/kernels/context.h"

namespace isobit::judge {

// REQUIRES a plan by one of these ways, and its needs' values. kUnreadable where the reduced node is none that its
// operator takes.
Expected<Bits> run_alone(const kernels::KernelContext& ctx, const Question& q, const Plan& plan,
                         std::span<const Bits> values);

}  // namespace isobit::judge
