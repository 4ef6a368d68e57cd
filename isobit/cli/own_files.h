// Options that several commands share: where one's own data and keys lie.
#pragma once

#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/run/train_run.h"

namespace isobit::cli {

class Console;

inline constexpr const char* kKeysHelp =
    "folder of your own keys and registers (default: $ISOBIT_HOME or ~/.config/isobit)";

// `overrides`, and `path` (unless it is empty) as data.path.
std::vector<std::string> with_data_path(std::vector<std::string> overrides, const std::string& path);

// What the overrides set their fields to: whatever files of the job they name is among these.
std::vector<std::string> values_of(const std::vector<std::string>& overrides);

// The trainer's secret key: that of the file, if one is named, else one's own in `home`.
Expected<commit::SecretKey> trainer_key(const std::string& file, const fs::path& home);

// `examples`, and the names of a job's fields, for the help of commands that take --set.
std::string with_job_fields(const char* examples);

// Asked before the work whose result goes to `out`: kUsage where something is in the way that would not be replaced
// (anything at all without `force`, anything but a regular file with it) or where it lies in a run's folder;
// kUnavailable where its folder is missing.
Status check_output(const fs::path& out, bool force);

// kUsage where two outputs are one file, or an output is an input, under whatever names: it would be replaced. Empty
// names are left out. `outputs`: option and file.
Status check_apart(const std::vector<std::pair<std::string, std::string>>& outputs,
                   const std::vector<std::string>& inputs);

// What SQLite reads beside a lab, whether or not it is there.
std::vector<std::string> files_beside_lab(const std::string& lab);

// Files that the fields of a job name: data, networks, weights. Not what lies in folders that they name.
std::vector<std::string> files_named_by(const train::Job& job);

// Whose keys sign a new run: the trainer's own under an accepted engagement (a file's name), else both keys of
// `key_folder`, made where they are missing.
Status sign_with_own_keys(const std::string& key_folder, const std::string& engagement, run::TrainRequest& request,
                          Console& console);

}  // namespace isobit::cli
