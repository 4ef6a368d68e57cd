// How the enumerations of a job are spelt in its file: the place in the list is the value. For reader and writer.
#pragma once

#include <string>
#include <vector>

#include "isobit/train/job.h"

namespace isobit::train {

inline const std::vector<std::string> kOptimizers = {"sgd", "adam", "adamw"};
inline const std::vector<std::string> kSchedules = {"constant", "step", "cosine"};
inline const std::vector<std::string> kRunningVariances = {"biased", "unbiased"};
inline const std::vector<std::string> kLogs = {"sparse", "ovt"};
inline const std::vector<std::string> kBounds = {"calibrated", "sound"};

}  // namespace isobit::train
