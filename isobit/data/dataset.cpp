#include "isobit/data/dataset.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/data/openers.h"

namespace isobit::data {
namespace {

const std::vector<DatasetEntry>& entries() {
  static const std::vector<DatasetEntry> kEntries = {
      {"digits", open_digits, shape_of_digits, {"augment"}},
      {"mnist", open_mnist, shape_of_mnist, {"path", "augment"}},
      {"cifar10", open_cifar10, shape_of_cifar10, {"path", "files", "test_files", "augment"}},
      {"npy",
       open_npy,
       shape_of_npy,
       {"path", "labels_path", "test_path", "test_labels_path", "inputs", "test_inputs", "augment", "target", "classes",
        "bytes"}},
      {"images", open_images, shape_of_images, {"path", "augment", "bytes", "height", "width", "channels"}},
      {"text", open_text, shape_of_text, {"path", "context", "tokenizer", "encoder", "merges", "token_cache"}},
  };
  return kEntries;
}

Status check_fields(const DataConfig& config, const DatasetEntry& entry) {
  const std::pair<const char*, bool> fields[] = {
      {"path", !config.path.empty()},
      {"labels_path", !config.labels_path.empty()},
      {"test_path", !config.test_path.empty()},
      {"test_labels_path", !config.test_labels_path.empty()},
      {"files", !config.files.empty()},
      {"test_files", !config.test_files.empty()},
      {"context", config.context != 0},
      {"tokenizer", config.tokenizer != Tokenizer::kBytes},
      {"encoder", !config.encoder.empty()},
      {"merges", !config.merges.empty()},
      {"token_cache", !config.token_cache.empty()},
      {"inputs", !config.inputs.empty()},
      {"test_inputs", !config.test_inputs.empty()},
      {"target", config.target != TargetRule::kByType},
      {"classes", config.classes != 0},
      {"bytes", config.bytes != ByteRule::kScaled},
      {"height", config.height != 0},
      {"width", config.width != 0},
      {"channels", config.channels != 0},
  };
  for (const auto& [field, set] : fields) {
    if (set && std::find(entry.fields.begin(), entry.fields.end(), field) == entry.fields.end()) {
      return unreadable(
          text_of("data.", field, ": found a value, expected none for dataset \"", entry.name, "\"; remove it"));
    }
  }
  const bool wants_path = std::find(entry.fields.begin(), entry.fields.end(), "path") != entry.fields.end();
  if (wants_path && config.path.empty() && config.files.empty() && config.inputs.empty()) {
    return unreadable(
        text_of("data.path: found nothing, expected where dataset \"", entry.name, "\" lies; set it to a path"));
  }
  return {};
}

}  // namespace

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const DatasetEntry& entry : entries()) names.push_back(entry.name);
    return names;
  }();
  return kNames;
}

const DatasetEntry* find_dataset(const std::string& name) {
  const auto found = std::ranges::find(entries(), name, &DatasetEntry::name);
  return found == entries().end() ? nullptr : &*found;
}

bool dataset_takes(const std::string& dataset, std::string_view field) {
  const DatasetEntry* entry = find_dataset(dataset);
  return entry != nullptr && std::ranges::find(entry->fields, field) != entry->fields.end();
}

const std::vector<std::string>& target_kind_names() {
  static const std::vector<std::string> kNames = {"none", "class", "class-per-token", "multi-label", "regression"};
  return kNames;
}

const std::vector<std::string>& target_rule_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = target_kind_names();
    names.insert(names.begin(), "by-type");
    return names;
  }();
  return kNames;
}

std::optional<TargetKind> kind_of(TargetRule rule) {
  if (rule == TargetRule::kByType) return std::nullopt;
  return static_cast<TargetKind>(static_cast<int>(rule) - 1);
}

const std::vector<std::string>& tokenizer_names() {
  static const std::vector<std::string> kNames = {"bytes", "gpt2"};
  return kNames;
}

const std::vector<std::string>& byte_rule_names() {
  static const std::vector<std::string> kNames = {"scaled", "float32", "as-stored"};
  return kNames;
}

bool takes_augmentation(const std::vector<SampleInput>& inputs, const Target& target) {
  return inputs.size() == 1 && inputs[0].dtype == DType::kFloat32 && inputs[0].shape.size() == 3 &&
         target.kind != TargetKind::kClassPerToken;
}

Expected<std::unique_ptr<Dataset>> open_dataset(const DataConfig& config, uint64_t max_bytes) {
  const DatasetEntry* entry = find_dataset(config.dataset);
  if (entry == nullptr) {
    const std::string near = nearest_word(config.dataset, dataset_names());
    return unreadable(text_of("data.dataset: found \"", config.dataset, "\", expected ", join_or(dataset_names()),
                              near.empty() ? "; choose one of them" : "; did you mean \"" + near + "\"?"));
  }
  ISOBIT_RETURN_IF_ERROR(check_fields(config, *entry));
  ISOBIT_TRY(const AugmentOptions augment, parse_augment(config.augment));
  if (augment.any() && !dataset_takes(entry->name, "augment")) {
    return unreadable(text_of("data.augment: found \"", config.augment[0], "\", expected none for dataset \"",
                              entry->name, "\"; remove it"));
  }
  FileBudget budget(max_bytes);
  ISOBIT_TRY(std::unique_ptr<Dataset> dataset, entry->open(config, budget));
  if (augment.any() && !dataset->takes_augmentation()) {
    const SampleInput& first = dataset->inputs()[0];
    return unreadable(text_of(
        "data.augment: found samples of shape ", Shape(first.shape).text(), " (", name_of(first.dtype), ", ",
        dataset->inputs().size(), " inputs, target ", target_kind_names()[static_cast<size_t>(dataset->target().kind)],
        "), expected one input of float32 [channels, height, width] for crop and flip; ", "remove data.augment"));
  }
  return dataset;
}

}  // namespace isobit::data
