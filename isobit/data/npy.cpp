#include "isobit/formats/npy.h"

#include <algorithm>
#include <bit>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/image_dataset.h"
#include "isobit/data/labels.h"
#include "isobit/data/openers.h"

namespace isobit::data {
namespace {

constexpr int64_t kMaxClasses = 1000000;

struct Paths {
  std::string inputs, labels, test_inputs, test_labels;  // the test pair may be empty
};

Expected<Paths> paths_in_folder(const DataConfig& config) {
  for (const auto& [field, value] :
       {std::pair{"labels_path", &config.labels_path}, std::pair{"test_path", &config.test_path},
        std::pair{"test_labels_path", &config.test_labels_path}}) {
    if (!value->empty()) {
      return unreadable(text_of("data.", field, ": found \"", *value, "\", expected none since data.path is a folder; ",
                                "remove it or let data.path name the inputs' file"));
    }
  }
  const fs::path folder = config.path;
  Paths paths{(folder / "inputs.npy").string(), (folder / "labels.npy").string(), "", ""};
  std::error_code ignored;
  if (fs::exists(folder / "test_inputs.npy", ignored) || fs::exists(folder / "test_labels.npy", ignored)) {
    paths.test_inputs = (folder / "test_inputs.npy").string();
    paths.test_labels = (folder / "test_labels.npy").string();
  }
  return paths;
}

Expected<Paths> paths_of(const DataConfig& config) {
  std::error_code ignored;
  if (fs::is_directory(config.path, ignored)) return paths_in_folder(config);
  const auto missing = [](const char* field, const char* of) {
    return unreadable(text_of("data.", field, ": found nothing, expected the .npy file of the ", of, "; set it"));
  };
  if (config.labels_path.empty()) return missing("labels_path", "labels");
  if (config.test_path.empty() && !config.test_labels_path.empty()) return missing("test_path", "test inputs");
  if (!config.test_path.empty() && config.test_labels_path.empty()) return missing("test_labels_path", "test labels");
  return Paths{config.path, config.labels_path, config.test_path, config.test_labels_path};
}

Status check_inputs(const std::string& file, const Tensor& inputs) {
  if (inputs.dtype() != DType::kFloat32 && inputs.dtype() != DType::kUint8) {
    return unreadable(
        text_of(file, ": found inputs of type ", name_of(inputs.dtype()), ", expected float32 or uint8; convert them"));
  }
  if (inputs.shape().rank() < 2 || inputs.elements() == 0) {
    return unreadable(text_of(file, ": found inputs of shape ", inputs.shape().text(),
                              ", expected [samples, ...] with no axis of 0; reshape them"));
  }
  if (inputs.dtype() == DType::kUint8) return {};
  const auto values = inputs.span<float>();
  const auto not_finite = [](float v) { return (std::bit_cast<uint32_t>(v) & 0x7f800000u) == 0x7f800000u; };
  const auto bad = std::find_if(values.begin(), values.end(), not_finite);
  if (bad == values.end()) return {};
  const int64_t sample = (bad - values.begin()) / inputs.shape().elements(1, inputs.shape().rank());
  return unreadable(
      text_of(file, ": sample ", sample, ": found ", *bad, ", expected finite numbers; remove or replace the sample"));
}

Expected<ImagePart> read_part(const std::string& inputs_file, const std::string& labels_file, FileBudget& budget) {
  ISOBIT_TRY(const Tensor inputs, budget.read_npy(inputs_file));
  ISOBIT_RETURN_IF_ERROR(check_inputs(inputs_file, inputs));
  ISOBIT_TRY(const Tensor labels, budget.read_npy(labels_file));
  ImagePart part{inputs, {}};
  ISOBIT_TRY(part.labels, labels_of(labels, labels_file, inputs.shape()[0], inputs_file, kMaxClasses));
  return part;
}

Shape sample_shape(const Tensor& inputs) {
  const std::vector<int64_t>& dims = inputs.shape().dims();
  return Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()));
}

}  // namespace

// Only the files say it.
std::optional<DataShape> shape_of_npy(const DataConfig&) { return std::nullopt; }

OpenResult open_npy(const DataConfig& config, FileBudget& budget) {
  ISOBIT_TRY(const Paths paths, paths_of(config));
  ISOBIT_TRY(ImagePart train, read_part(paths.inputs, paths.labels, budget));
  ImageSpec spec{"npy", sample_shape(train.samples), train.samples.dtype(), 0, "f32", {}};
  if (spec.stored == DType::kUint8) {
    spec.preprocessing = "u8/255";
    spec.tables = {divided_by(255.0f)};
  }
  int64_t largest = *std::max_element(train.labels.begin(), train.labels.end());
  ImagePart test{Tensor(spec.stored, Shape{0}), {}};
  if (!paths.test_inputs.empty()) {
    ISOBIT_TRY(test, read_part(paths.test_inputs, paths.test_labels, budget));
    if (test.samples.dtype() != spec.stored || sample_shape(test.samples) != spec.shape) {
      return unreadable(text_of(paths.test_inputs, ": found ", name_of(test.samples.dtype()), " samples of shape ",
                                sample_shape(test.samples).text(), ", expected ", name_of(spec.stored), " ",
                                spec.shape.text(), " as in ", paths.inputs, "; use files that belong together"));
    }
    largest = std::max(largest, *std::max_element(test.labels.begin(), test.labels.end()));
  }
  spec.classes = largest + 1;
  return std::make_unique<ImageDataset>(std::move(spec), std::move(train), std::move(test));
}

}  // namespace isobit::data
