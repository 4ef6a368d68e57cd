// The parts of a comparison, each in a file of its own. All REQUIRE platforms and classes.
#pragma once

#include "isobit/lab/deviation/comparison.h"
#include "isobit/lab/deviation/trace.h"

namespace isobit::lab::deviation {

// pairs, label_flips, overall, churn, dendrogram and groups.
Status measure_pairs(Comparison& comparison, const TensorSource& tensors);

// How two lists of outputs differ, those of one name and step with one another. None where they do not correspond or a
// tensor is not there.
Expected<std::optional<PairFigures>> compare_outputs(const std::vector<records::ValueRecord>& a,
                                                     const std::vector<records::ValueRecord>& b,
                                                     const TensorSource& tensors);

std::vector<FlagCohort> flag_cohorts(const Comparison& comparison);

// values and fork.
void find_fork(Comparison& comparison, const Trace& trace);

}  // namespace isobit::lab::deviation
