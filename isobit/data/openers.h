// One opener per dataset; open_dataset has already checked that the fields set in the config apply to it.
#pragma once

#include <memory>

#include "isobit/data/dataset.h"

namespace isobit::data {

using OpenResult = Expected<std::unique_ptr<Dataset>>;

// What the files of one dataset may still take in memory. A file counts with its size, before it is read, and a
// compressed one with what it says it holds as well.
class FileBudget {
 public:
  explicit FileBudget(uint64_t bytes) : allowed_(bytes), left_(bytes) {}
  uint64_t left() const { return left_; }
  // kUnavailable, with what is needed and what to do, when that is more than what is left.
  Status take(const std::string& file, uint64_t bytes);
  // The whole of a file of at most `most` bytes.
  Expected<Bytes> read(const std::string& file, uint64_t most);
  Expected<Tensor> read_npy(const std::string& file);

 private:
  uint64_t allowed_, left_;
};

OpenResult open_digits(const DataConfig& config, FileBudget& budget);
OpenResult open_mnist(const DataConfig& config, FileBudget& budget);
OpenResult open_cifar10(const DataConfig& config, FileBudget& budget);
OpenResult open_npy(const DataConfig& config, FileBudget& budget);
OpenResult open_text(const DataConfig& config, FileBudget& budget);

}  // namespace isobit::data
