// Whether the evaluation that ends a training can be done, looked at before the first step: a training whose scores
// cannot be taken is never finished.
#pragma once

#include "isobit/backends/backend.h"
#include "isobit/data/dataset.h"
#include "isobit/models/network.h"
#include "isobit/platform/platform.h"
#include "isobit/tensor/tensor.h"
#include "isobit/train/job.h"

namespace isobit::train {

// Builds the graph of every batch that is scored, and runs, on all samples that are, what of it can fail by the values
// that it is given: operators that whole numbers of the samples lead to, such as indices of a Gather, and those whose
// shapes follow from data. Of networks that have none no sample is read. `state`: as train::evaluate takes it; only
// what does not depend on values that training changes is known to fail, or not to, as it will in the end.
//
// kUnreadable, with the sample, where the evaluation would fail; other errors: as train::evaluate.
Status check_evaluation(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
                        platform::Engine& engine, backends::Backend& backend, const models::Network& network);

}  // namespace isobit::train
