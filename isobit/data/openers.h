// One entry per dataset: all that depends on its name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/data/data_shape.h"

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
  // The same of what is needed for a moment only: nothing is taken.
  Status allow(const std::string& file, uint64_t bytes) const;
  // The whole of a file. kUnreadable for a longer one than `most` bytes; kUnavailable as take() gives it.
  Expected<Bytes> read(const std::string& file, uint64_t most);
  // The array in a file, all of which is read. kUnreadable also for what is no array (formats/npy.h).
  Expected<Tensor> read_npy(const std::string& file);

 private:
  tl::unexpected<Error> refused(const std::string& file, std::string_view what, uint64_t bytes,
                                std::string_view instead) const;

  uint64_t allowed_, left_;
};

struct DatasetEntry {
  std::string name;
  // The fields that are set in the configuration have been checked: they apply to this dataset.
  OpenResult (*open)(const DataConfig&, FileBudget&);
  // What the configuration alone says, but for the name: see declared_shape.
  std::optional<DataShape> (*declared)(const DataConfig&);
  std::vector<std::string> fields;  // of DataConfig that may be set
};
// Null for an unknown name.
const DatasetEntry* find_dataset(const std::string& name);

OpenResult open_digits(const DataConfig& config, FileBudget& budget);
OpenResult open_mnist(const DataConfig& config, FileBudget& budget);
OpenResult open_cifar10(const DataConfig& config, FileBudget& budget);
OpenResult open_npy(const DataConfig& config, FileBudget& budget);
OpenResult open_images(const DataConfig& config, FileBudget& budget);
OpenResult open_text(const DataConfig& config, FileBudget& budget);

std::optional<DataShape> shape_of_digits(const DataConfig& config);
std::optional<DataShape> shape_of_mnist(const DataConfig& config);
std::optional<DataShape> shape_of_cifar10(const DataConfig& config);
std::optional<DataShape> shape_of_npy(const DataConfig& config);
std::optional<DataShape> shape_of_images(const DataConfig& config);
std::optional<DataShape> shape_of_text(const DataConfig& config);

}  // namespace isobit::data
