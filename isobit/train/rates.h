// What a step takes beside state and batch, as a function of the job alone: for somebody who runs no step.
#pragma once

#include <cstdint>

#include "isobit/tensor/tensor.h"
#include "isobit/train/job.h"

namespace isobit::train {

// A rate of step `step` (1 for the first), as the step graph is fed it: of int64 the number of steps before; of float64
// the learning rate, the power of beta1 and that of beta2, in this order: `before` says how many of them come before
// it. REQUIRES one of the rates of the job's step graph, 1 <= step <= job.steps.
Tensor rate_of(const Job& job, uint64_t step, DType dtype, uint64_t before);

}  // namespace isobit::train
