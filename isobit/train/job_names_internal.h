// How the enumerations of a job are spelt in its file: the place in the list is the value. For reader and writer.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "isobit/train/job.h"

namespace isobit::train {

// Of a list whose order means nothing. Crops and flips are drawn and applied together (data/augment.h).
inline std::vector<std::string> in_order(std::vector<std::string> list) {
  std::ranges::sort(list);
  return list;
}

inline const std::vector<std::string> kOptimizers = {"sgd", "adam", "adamw"};
inline const std::vector<std::string> kSchedules = {"constant", "step", "cosine"};
inline const std::vector<std::string> kRunningVariances = {"biased", "unbiased"};
inline const std::vector<std::string> kLogs = {"sparse", "ovt"};
inline const std::vector<std::string> kBounds = {"calibrated", "sound"};

}  // namespace isobit::train
