#include <algorithm>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/npy_dataset.h"
#include "isobit/data/openers.h"

namespace isobit::data {
namespace {

// "" where there is none.
struct Paths {
  InputFiles inputs, test_inputs;  // by name; of the test may be empty
  std::string labels, test_labels;
};

// inputs.npy alone, under the name "input", or inputs.NAME.npy under NAME; with test_ in front for the test.
Expected<InputFiles> inputs_in(const fs::path& folder, const std::string& prefix) {
  InputFiles files;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error) return cannot("list", folder, error.value());
  for (; entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string(), front = prefix + ".", end = ".npy";
    const bool named = name.starts_with(front) && name.ends_with(end) && name.size() > front.size() + end.size() - 1;
    if (named) files[name.substr(front.size(), name.size() - front.size() - end.size())] = entry->path().string();
    if (files.size() > kMaxInputs) break;
  }
  if (error) return cannot("list", folder, error.value());
  const fs::path alone = folder / (prefix + ".npy");
  std::error_code ignored;
  if (!fs::exists(alone, ignored)) return files;
  if (files.empty()) return InputFiles{{"input", alone.string()}};
  return unreadable(text_of(alone.string(), ": found beside ", files.begin()->second, ", expected one file ", prefix,
                            ".npy, or one named ", prefix, ".NAME.npy for each input; remove one or rename it"));
}

Status refuse_beside(const DataConfig& config, const char* beside) {
  const std::pair<const char*, const std::string*> fields[] = {{"labels_path", &config.labels_path},
                                                               {"test_path", &config.test_path},
                                                               {"test_labels_path", &config.test_labels_path}};
  for (const auto& [field, value] : fields) {
    if (!value->empty()) {
      return unreadable(text_of("data.", field, ": found \"", *value, "\", expected none since ", beside));
    }
  }
  return {};
}

Expected<Paths> paths_in_folder(const DataConfig& config) {
  ISOBIT_RETURN_IF_ERROR(
      refuse_beside(config, "data.path is a folder; remove it or let data.path name the inputs' file"));
  const fs::path folder = config.path;
  Paths paths;
  ISOBIT_TRY(paths.inputs, inputs_in(folder, "inputs"));
  ISOBIT_TRY(paths.test_inputs, inputs_in(folder, "test_inputs"));
  if (paths.inputs.empty()) paths.inputs = {{"input", (folder / "inputs.npy").string()}};
  const bool labelled = config.target != TargetRule::kNone;
  if (labelled) paths.labels = (folder / "labels.npy").string();
  std::error_code ignored;
  const fs::path test_labels = folder / "test_labels.npy";
  if (labelled && (!paths.test_inputs.empty() || fs::exists(test_labels, ignored))) {
    paths.test_labels = test_labels.string();
    if (paths.test_inputs.empty()) paths.test_inputs = {{"input", (folder / "test_inputs.npy").string()}};
  }
  return paths;
}

tl::unexpected<Error> missing(const char* field, const char* of) {
  return unreadable(text_of("data.", field, ": found nothing, expected the .npy file of the ", of, "; set it"));
}

// What the labels' fields say, where the inputs have been named.
Status add_labels(const DataConfig& config, Paths& paths) {
  const bool tested = !paths.test_inputs.empty();
  if (config.target == TargetRule::kNone) {
    for (const auto& [field, value] :
         {std::pair{"labels_path", &config.labels_path}, std::pair{"test_labels_path", &config.test_labels_path}}) {
      if (value->empty()) continue;
      return unreadable(
          text_of("data.", field, ": found \"", *value, "\", expected none for data.target = \"none\"; remove it"));
    }
    return {};
  }
  if (config.labels_path.empty()) {
    return unreadable(
        "data.labels_path: found nothing, expected the .npy file of the labels; set it, or data.target = \"none\"");
  }
  if (!tested && !config.test_labels_path.empty()) return missing("test_path", "test inputs");
  if (tested && config.test_labels_path.empty()) return missing("test_labels_path", "test labels");
  paths.labels = config.labels_path;
  paths.test_labels = config.test_labels_path;
  return {};
}

Expected<Paths> paths_of(const DataConfig& config) {
  Paths paths;
  if (!config.inputs.empty() || !config.test_inputs.empty()) {
    for (const auto& [field, value] : {std::pair{"path", &config.path}, std::pair{"test_path", &config.test_path}}) {
      if (value->empty()) continue;
      return unreadable(text_of("data.", field, ": found \"", *value,
                                "\" beside data.inputs or data.test_inputs, expected one or the other; remove one"));
    }
    if (config.inputs.empty()) return missing("inputs", "inputs by their names");
    paths.inputs = config.inputs;
    paths.test_inputs = config.test_inputs;
  } else {
    std::error_code ignored;
    if (fs::is_directory(config.path, ignored)) return paths_in_folder(config);
    paths.inputs = {{"input", config.path}};
    if (!config.test_path.empty()) paths.test_inputs = {{"input", config.test_path}};
  }
  ISOBIT_RETURN_IF_ERROR(add_labels(config, paths));
  return paths;
}

Status check_names(const Paths& paths) {
  if (paths.inputs.size() > kMaxInputs) {
    return unreadable(text_of("data.inputs: found ", paths.inputs.size(), " or more, expected at most ", kMaxInputs,
                              "; put some into one file"));
  }
  for (const auto& [name, file] : paths.inputs) {
    if (name.empty() || name.size() > kMaxInputName) {
      return unreadable(text_of(file, ": found an input name of ", name.size(), " bytes, expected 1 to ", kMaxInputName,
                                "; rename it"));
    }
    if (file.empty()) return unreadable(text_of("data.inputs: \"", name, "\" names no file; set its path"));
  }
  if (paths.test_inputs.empty()) return {};
  for (const auto& [name, file] : paths.inputs) {
    if (!paths.test_inputs.contains(name)) {
      return unreadable(text_of("data.test_inputs: found none for the input \"", name, "\" (", file,
                                "), expected the same names as for training; name its file"));
    }
  }
  for (const auto& [name, file] : paths.test_inputs) {
    if (!paths.inputs.contains(name)) {
      return unreadable(text_of(file, ": found an input \"", name,
                                "\" for the test alone, expected the same names as for training; remove it"));
    }
    if (file.empty()) return unreadable(text_of("data.test_inputs: \"", name, "\" names no file; set its path"));
  }
  return {};
}

Status check_fits(const NpyInput& input) {
  const NpyColumn &train = input.train, &test = *input.test;
  if (test.dtype() == train.dtype() && test.row_shape() == train.row_shape()) return {};
  return unreadable(text_of(test.file(), ": found ", name_of(test.dtype()), " samples of shape ",
                            Shape(test.row_shape()).text(), ", expected ", name_of(train.dtype()), " ",
                            Shape(train.row_shape()).text(), " as in ", train.file(),
                            "; use files that belong together"));
}

Status check_count(const std::string& file, int64_t found, const char* what, const NpyColumn& samples) {
  if (found == samples.rows()) return {};
  return unreadable(text_of(file, ": found ", found, " ", what, ", expected ", samples.rows(),
                            ", one for each sample of ", samples.file(), "; use files that belong together"));
}

Expected<std::vector<NpyInput>> open_inputs(const InputFiles& files, ByteRule rule, FileBudget& budget) {
  std::vector<NpyInput> inputs;
  for (const auto& [name, file] : files) {
    NpyInput input;
    input.name = name;
    ISOBIT_TRY(input.train, NpyColumn::open(file, budget));
    ISOBIT_RETURN_IF_ERROR(check_finite(input.train));
    input.preprocessing = preprocessing_of(input.train.dtype(), rule);
    if (!inputs.empty()) ISOBIT_RETURN_IF_ERROR(check_count(file, input.train.rows(), "samples", inputs[0].train));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Status add_test(const InputFiles& files, std::vector<NpyInput>& inputs, FileBudget& budget) {
  if (files.empty()) return {};
  for (NpyInput& input : inputs) {
    ISOBIT_TRY(input.test, NpyColumn::open(files.at(input.name), budget));
    ISOBIT_RETURN_IF_ERROR(check_fits(input));
    ISOBIT_RETURN_IF_ERROR(check_finite(*input.test));
    ISOBIT_RETURN_IF_ERROR(check_count(input.test->file(), input.test->rows(), "samples", *inputs[0].test));
  }
  return {};
}

Expected<NpyTargets> open_targets(const DataConfig& config, const Paths& paths, FileBudget& budget) {
  if (config.target != TargetRule::kNone) {
    return NpyTargets::open(paths.labels, paths.test_labels, config.target, config.classes, budget);
  }
  if (config.classes == 0) return NpyTargets();
  return unreadable(
      text_of("data.classes: found ", config.classes, ", expected none for data.target = \"none\"; remove it"));
}

}  // namespace

// Only the files say it.
std::optional<DataShape> shape_of_npy(const DataConfig&) { return std::nullopt; }

OpenResult open_npy(const DataConfig& config, FileBudget& budget) {
  ISOBIT_TRY(const Paths paths, paths_of(config));
  ISOBIT_RETURN_IF_ERROR(check_names(paths));
  ISOBIT_TRY(std::vector<NpyInput> inputs, open_inputs(paths.inputs, config.bytes, budget));
  ISOBIT_TRY(NpyTargets targets, open_targets(config, paths, budget));
  ISOBIT_RETURN_IF_ERROR(add_test(paths.test_inputs, inputs, budget));
  const NpyInput& first = inputs.front();
  if (!paths.labels.empty()) {
    ISOBIT_RETURN_IF_ERROR(check_count(paths.labels, targets.rows(Split::kTrain), "labels", first.train));
  }
  if (!paths.test_labels.empty() && first.test) {
    ISOBIT_RETURN_IF_ERROR(check_count(paths.test_labels, targets.rows(Split::kTest), "labels", *first.test));
  }
  return std::make_unique<NpyDataset>(std::move(inputs), std::move(targets));
}

}  // namespace isobit::data
