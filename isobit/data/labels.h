// Checks shared by the openers.
#pragma once

#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::data {

// A vector of labels as int64, from uint8, int32 or int64 of rank 1. Errors: another type or rank, another count than
// `samples`, or a label outside [0, classes).
Expected<std::vector<int64_t>> labels_of(const Tensor& labels, const std::string& labels_file, int64_t samples,
                                         const std::string& samples_file, int64_t classes);

}  // namespace isobit::data
