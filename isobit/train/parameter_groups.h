// Parameter groups: parameters whose learning rate and weight decay are not those of the others.
#pragma once

#include <span>
#include <vector>

#include "isobit/models/model.h"
#include "isobit/train/job.h"

namespace isobit::train {

// What the optimizer does otherwise for one parameter than for another.
struct ParameterPace {
  double lr_factor = 1;  // of the step's learning rate: one product of binary64
  double weight_decay = 0;
  bool operator==(const ParameterPace&) const = default;
};

// By parameter that is trained. The first group of the job whose pattern is the parameter's name counts, for all that
// it says; what it leaves out, and parameters of no group, have factor 1, and the job's weight decay where they are
// matrices or kernels and none where they are biases and norms. Errors (kUnreadable): a group of which no parameter is;
// the message names the nearest one, or the earlier groups that have them all.
Expected<std::vector<ParameterPace>> paces_of(const Job& job, std::span<const models::Parameter> parameters);

}  // namespace isobit::train
