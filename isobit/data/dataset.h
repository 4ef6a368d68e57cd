// Datasets: what is opened once and then read by index. Samples are pure functions of (split, index, draw).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/data/augment.h"
#include "isobit/tensor/tensor.h"

namespace isobit::data {

// The [data] part of a job. Fields that a dataset does not know must be empty; open_dataset says so otherwise.
struct DataConfig {
  std::string dataset;  // "digits", "mnist", "cifar10", "npy" or "text"

  // digits    nothing: it is part of the program.
  // mnist     path: the folder of the four IDX files, each plain or .gz.
  // cifar10   path: a folder with data_batch_1.bin .. data_batch_5.bin and test_batch.bin, or with other files whose
  //           names end in data_batch_N.bin and test_batch.bin; or files and test_files: record files by name.
  // npy       path, labels_path, test_path, test_labels_path: one .npy file each; or path alone: a folder with
  //           inputs.npy, labels.npy, test_inputs.npy, test_labels.npy. The test pair may be absent.
  // text      path: any file, read as bytes.
  std::string path;
  std::string labels_path;
  std::string test_path;
  std::string test_labels_path;
  std::vector<std::string> files;
  std::vector<std::string> test_files;

  int64_t context = 0;               // text: tokens per sample, >= 1
  std::vector<std::string> augment;  // any of "crop", "flip"; images only
};

enum class Split : uint8_t { kTrain = 0, kTest = 1 };
// The values are part of docs/formats/samples.md.
enum class Kind : uint8_t { kImageClassification = 1, kTokenSequence = 2 };

// Immutable after opening; every member may be called from many threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const std::string& name() const = 0;  // as in DataConfig::dataset
  virtual Kind kind() const = 0;
  // What the model is fed, without the batch axis. Images: float32, [channels, height, width] (npy: whatever follows
  // the first axis). Text: int64, [context].
  virtual DType input_dtype() const = 0;
  virtual const Shape& input_shape() const = 0;
  // Images: labels are in [0, classes). Text: the vocabulary, 256.
  virtual int64_t classes() const = 0;
  virtual int64_t count(Split split) const = 0;  // test may be 0 for npy
  int64_t train_count() const { return count(Split::kTrain); }
  int64_t test_count() const { return count(Split::kTest); }

  // Canonical bytes (docs/formats/samples.md) for the dataset commitment: what every sample shares ...
  virtual Bytes header_bytes() const = 0;
  // ... and the decoded sample before preprocessing; replaces `out`. REQUIRES 0 <= index < count(split).
  virtual void sample_bytes(Split split, int64_t index, Bytes& out) const = 0;

  // Images: decoded, preprocessed to float32, then augmented. Writes input_shape().elements() floats and one label.
  // REQUIRES kind() == kImageClassification, 0 <= index < count(split), an identity draw unless the rank is 3.
  virtual void fill_image(Split split, int64_t index, const AugmentDraw& draw, float* input, int64_t* label) const = 0;
  // Text: `context` tokens, and for each the token that follows it.
  // REQUIRES kind() == kTokenSequence, 0 <= index < count(split).
  virtual void fill_tokens(Split split, int64_t index, int64_t* tokens, int64_t* next_tokens) const = 0;
};

// More than any set that is meant to be held in memory.
inline constexpr uint64_t kMaxDatasetBytes = uint64_t{64} << 30;

// Reads everything into memory and checks it. Errors: kUnreadable for unknown names, missing or malformed files, counts
// that differ, labels out of range, fields that do not apply, paths of pipes, devices and the like; kUnavailable for
// .gz in a build without zlib and for files of more than `max_bytes` in all, which is looked at before they are read.
Expected<std::unique_ptr<Dataset>> open_dataset(const DataConfig& config, uint64_t max_bytes = kMaxDatasetBytes);

// The names open_dataset knows.
const std::vector<std::string>& dataset_names();
// What the samples of that dataset are; none for an unknown name.
std::optional<Kind> kind_of(const std::string& dataset);

}  // namespace isobit::data
