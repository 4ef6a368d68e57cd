// Datasets: what is opened once and then read by index. Samples are pure functions of (split, index, draw).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/data/augment.h"
#include "isobit/tensor/tensor.h"

namespace isobit::data {

// What the targets of an npy dataset are taken for: docs/formats/samples.md says what goes by type and shape.
enum class TargetRule : uint8_t { kByType, kNone, kClass, kClassPerToken, kMultiLabel, kRegression };
const std::vector<std::string>& target_rule_names();  // "by-type", "none", "class", ...

// What elements of type uint8 are fed as: float32, v / 255; float32, v; or as they are.
enum class ByteRule : uint8_t { kScaled, kFloat32, kAsStored };
const std::vector<std::string>& byte_rule_names();  // "scaled", "float32", "as-stored"

// What a text becomes: its bytes, or tokens of GPT-2's kind by a vocabulary and merges of the user's own.
enum class Tokenizer : uint8_t { kBytes, kGpt2 };
const std::vector<std::string>& tokenizer_names();  // "bytes", "gpt2"

// Files by the name of the input that they are of.
using InputFiles = std::map<std::string, std::string>;

// The [data] part of a job. Fields that a dataset does not know must be empty; open_dataset says so otherwise.
struct DataConfig {
  std::string dataset;  // "digits", "mnist", "cifar10", "npy", "images" or "text"

  // digits    nothing: it is part of the program.
  // mnist     path: the folder of the four IDX files, each plain or .gz.
  // cifar10   path: a folder with data_batch_1.bin .. data_batch_5.bin and test_batch.bin, or with other files whose
  //           names end in data_batch_N.bin and test_batch.bin; or files and test_files: record files by name.
  // npy       path, labels_path, test_path, test_labels_path: one .npy file each; or inputs and test_inputs in place of
  //           path and test_path: several inputs by name; or path alone: a folder with inputs.npy (or inputs.NAME.npy
  //           for each input), labels.npy, test_inputs.npy (test_inputs.NAME.npy) and test_labels.npy. What is of the
  //           test may be absent, and the labels are where target is kNone.
  // images    path: a folder with train/CLASS/*.png or .jpg and the same under test/, which may be absent.
  // text      path: any file, read as bytes; or in UTF-8, with encoder and merges: the files of a tokenizer.
  std::string path;
  std::string labels_path;
  std::string test_path;
  std::string test_labels_path;
  std::vector<std::string> files;
  std::vector<std::string> test_files;
  InputFiles inputs, test_inputs;

  int64_t context = 0;                      // text: tokens per sample, >= 1
  Tokenizer tokenizer = Tokenizer::kBytes;  // text
  std::string encoder, merges;              // text, of kGpt2: formats/byte_pairs.h
  std::string token_cache;                  // the same: a file that keeps the tokens; made when there is none
  std::vector<std::string> augment;         // any of "crop", "flip"; images only
  TargetRule target = TargetRule::kByType;  // npy
  int64_t classes = 0;                      // npy: labels are in [0, classes); 0: as many as are found
  ByteRule bytes = ByteRule::kScaled;       // npy, images
  // images: the size that every image is brought to (0: all have the same), and the channels (0: as the files have).
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

enum class Split : uint8_t { kTrain = 0, kTest = 1 };

// One thing that the model is fed, without the batch axis.
struct SampleInput {
  std::string name;  // unique within the dataset; "input" where nobody named it
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape = {};
  bool operator==(const SampleInput&) const = default;
};

// What the model is to come to. The values are part of docs/formats/samples.md.
enum class TargetKind : uint8_t {
  kNone = 0,           // nothing
  kClass = 1,          // int64 scalar in [0, classes)
  kClassPerToken = 2,  // int64 of the shape, each in [0, classes)
  kMultiLabel = 3,     // float32 of the shape, each 0 or 1
  kRegression = 4,     // float32 of the shape
};
const std::vector<std::string>& target_kind_names();  // "none", "class", ...
std::optional<TargetKind> kind_of(TargetRule rule);   // none for kByType

struct Target {
  TargetKind kind = TargetKind::kClass;
  DType dtype = DType::kInt64;
  std::vector<int64_t> shape = {};  // of one sample
  int64_t classes = 0;              // 0 where there are none: regression, nothing; of several labels their number
  bool operator==(const Target&) const = default;
};

// More inputs, classes, and bytes in the name of an input a dataset does not have.
inline constexpr size_t kMaxInputs = 64;
inline constexpr int64_t kMaxClasses = 1000000;
inline constexpr size_t kMaxInputName = 256;

// Whether crop and flip mean something: one input, float32 [channels, height, width], and a target that does not
// speak of places in it.
bool takes_augmentation(const std::vector<SampleInput>& inputs, const Target& target);

// Immutable after opening; every member may be called from many threads at once. Samples may lie in memory or on the
// disk; those that lie on the disk are read when they are asked for, which may fail: kUnavailable for a disk that
// fails, kUnreadable for a file that is not any more what it was when it was opened.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const std::string& name() const = 0;  // as in DataConfig::dataset
  // At least one, at most kMaxInputs. Images: float32, [channels, height, width]. Text: int64, [context].
  virtual const std::vector<SampleInput>& inputs() const = 0;
  virtual const Target& target() const = 0;
  virtual int64_t count(Split split) const = 0;  // test may be 0 for npy
  int64_t train_count() const { return count(Split::kTrain); }
  int64_t test_count() const { return count(Split::kTest); }
  // What of the samples and targets lies in memory.
  virtual uint64_t held_bytes() const = 0;

  // Canonical bytes (docs/formats/samples.md) for the dataset commitment: what every sample shares ...
  virtual Bytes header_bytes() const = 0;
  // ... and the decoded sample before preprocessing; replaces `out`. REQUIRES 0 <= index < count(split).
  virtual Status sample_bytes(Split split, int64_t index, Bytes& out) const = 0;

  // One sample as the model is fed: decoded, preprocessed, then augmented. Writes to to_inputs[i] the elements of
  // inputs()[i], and to to_target those of target(); of kNone nothing, and to_target may be null.
  // REQUIRES 0 <= index < count(split), and an identity draw unless takes_augmentation().
  virtual Status fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
                      void* to_target) const = 0;

  bool takes_augmentation() const { return data::takes_augmentation(inputs(), target()); }
};

// More than any set that is meant to be held in memory.
inline constexpr uint64_t kMaxDatasetBytes = uint64_t{64} << 30;

// Reads everything into memory and checks it. Errors: kUnreadable for unknown names, missing or malformed files, counts
// that differ, labels out of range, fields that do not apply, paths of pipes, devices and the like; kUnavailable for
// .gz in a build without zlib and for files of more than `max_bytes` in all, which is looked at before they are read.
Expected<std::unique_ptr<Dataset>> open_dataset(const DataConfig& config, uint64_t max_bytes = kMaxDatasetBytes);

// The names open_dataset knows.
const std::vector<std::string>& dataset_names();
// Whether that field of DataConfig may be set for that dataset; false for an unknown name.
bool dataset_takes(const std::string& dataset, std::string_view field);

}  // namespace isobit::data
