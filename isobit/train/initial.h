// What a network begins with.
#pragma once

#include <vector>

#include "isobit/models/network.h"
#include "isobit/train/step_graph.h"

namespace isobit::train {

// The same values in float64, unless they are no float32 values or float32 is what is wanted.
Tensor in_type(DType wanted, Tensor tensor);

struct InitialValues {
  std::vector<NamedTensor> state;   // in the order of StepGraph::slots
  std::vector<NamedTensor> frozen;  // in that of StepGraph::frozen
};

// Functions of the job's seed and of what the network is given, in the types of the step graph; optimizer state is +0.
// Errors: Network::given_values; kUnreadable for a value that is not among them, or has another type or shape.
Expected<InitialValues> initial_values(const Job& job, const StepGraph& step, const models::Network& network);

// The frozen ones alone.
Expected<std::vector<NamedTensor>> frozen_values(const Job& job, const StepGraph& step, const models::Network& network);

}  // namespace isobit::train
