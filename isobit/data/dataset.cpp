#include "isobit/data/dataset.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/data/openers.h"

namespace isobit::data {
namespace {

struct Entry {
  std::string name;
  OpenResult (*open)(const DataConfig&, FileBudget&);
  std::vector<std::string> fields;  // of DataConfig that may be set
  bool images;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = {
      {"digits", open_digits, {}, true},
      {"mnist", open_mnist, {"path"}, true},
      {"cifar10", open_cifar10, {"path", "files", "test_files"}, true},
      {"npy", open_npy, {"path", "labels_path", "test_path", "test_labels_path"}, true},
      {"text", open_text, {"path", "context"}, false},
  };
  return kEntries;
}

Status check_fields(const DataConfig& config, const Entry& entry) {
  const std::pair<const char*, bool> fields[] = {
      {"path", !config.path.empty()},           {"labels_path", !config.labels_path.empty()},
      {"test_path", !config.test_path.empty()}, {"test_labels_path", !config.test_labels_path.empty()},
      {"files", !config.files.empty()},         {"test_files", !config.test_files.empty()},
      {"context", config.context != 0},
  };
  for (const auto& [field, set] : fields) {
    if (set && std::find(entry.fields.begin(), entry.fields.end(), field) == entry.fields.end()) {
      return unreadable(
          text_of("data.", field, ": found a value, expected none for dataset \"", entry.name, "\"; remove it"));
    }
  }
  const bool wants_path = std::find(entry.fields.begin(), entry.fields.end(), "path") != entry.fields.end();
  if (wants_path && config.path.empty() && config.files.empty()) {
    return unreadable(
        text_of("data.path: found nothing, expected where dataset \"", entry.name, "\" lies; set it to a path"));
  }
  return {};
}

}  // namespace

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Entry& entry : entries()) names.push_back(entry.name);
    return names;
  }();
  return kNames;
}

Expected<std::unique_ptr<Dataset>> open_dataset(const DataConfig& config, uint64_t max_bytes) {
  const auto entry =
      std::find_if(entries().begin(), entries().end(), [&](const Entry& e) { return e.name == config.dataset; });
  if (entry == entries().end()) {
    const std::string near = nearest_word(config.dataset, dataset_names());
    return unreadable(text_of("data.dataset: found \"", config.dataset, "\", expected ", join_or(dataset_names()),
                              near.empty() ? "; choose one of them" : "; did you mean \"" + near + "\"?"));
  }
  ISOBIT_RETURN_IF_ERROR(check_fields(config, *entry));
  ISOBIT_TRY(const AugmentOptions augment, parse_augment(config.augment));
  if (augment.any() && !entry->images) {
    return unreadable(text_of("data.augment: found \"", config.augment[0], "\", expected none for dataset \"",
                              entry->name, "\"; remove it"));
  }
  FileBudget budget(max_bytes);
  ISOBIT_TRY(std::unique_ptr<Dataset> dataset, entry->open(config, budget));
  if (augment.any() && dataset->input_shape().rank() != 3) {
    return unreadable(text_of("data.augment: found samples of shape ", dataset->input_shape().text(),
                              ", expected [channels, height, width] for crop and flip; remove data.augment"));
  }
  return dataset;
}

}  // namespace isobit::data
