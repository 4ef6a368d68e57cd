// One opener per dataset; open_dataset has already checked that the fields set in the config apply to it.
#pragma once

#include <memory>

#include "isobit/data/dataset.h"

namespace isobit::data {

using OpenResult = Expected<std::unique_ptr<Dataset>>;

// More than any data set that is meant to be held in memory.
inline constexpr uint64_t kMaxDataFile = uint64_t{16} << 30;

OpenResult open_digits(const DataConfig& config);
OpenResult open_mnist(const DataConfig& config);
OpenResult open_cifar10(const DataConfig& config);
OpenResult open_npy(const DataConfig& config);
OpenResult open_text(const DataConfig& config);

}  // namespace isobit::data
