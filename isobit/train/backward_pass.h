// What the passes over a step's graph hand on to one another until the optimizer is put behind it.
#pragma once

#include <vector>

#include "isobit/models/model.h"
#include "isobit/train/step_graph.h"

namespace isobit::train {

// A network with its loss and the gradients of that. What is frozen is in none of the model's lists.
struct BackwardPass {
  models::Model model;
  std::vector<int64_t> places;  // of Model::parameters: the place of each among those of the whole network
  std::vector<FrozenSlot> frozen;
  std::vector<graph::ValueId> inputs;       // of the samples: the first axis is that of the batch, or of rows of it
  graph::ValueId target = graph::kNoValue;  // likewise; kNoValue where there is none
  graph::ValueId loss = graph::kNoValue;    // the mean of the samples
  std::vector<graph::ValueId> losses;       // of each micro-batch; of a batch that is not cut into any, the loss
  std::vector<graph::ValueId> grads;        // of Model::parameters, in their order
};

}  // namespace isobit::train
