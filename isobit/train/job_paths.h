// Where the data and the network of a job lie on one machine. These paths do not affect the result and are private:
// they are kept out of what a run publishes.
#pragma once

#include <string>
#include <vector>

#include "isobit/train/job.h"

namespace isobit::train {

// As in DataConfig, Job::salt_path and ModelConfig; empty fields are not named.
struct JobPaths {
  std::string path, labels_path, test_path, test_labels_path;
  std::vector<std::string> files, test_files;
  std::string salt;
  data::InputFiles inputs, test_inputs;
  std::string onnx = {}, weights = {};
  std::string encoder = {}, merges = {}, token_cache = {};
  bool operator==(const JobPaths&) const = default;
  // Whether data are named; the salt and the files of the network are apart from them.
  bool names_data() const;
  bool names_tokenizer() const;
};

// Those of the job, absolute.
JobPaths paths_of(const Job& job);

// The same job and no paths: what may be published.
Job without_paths(Job job);

// Fills in what the job does not name: all paths of the data when it names none of them, and each of the salt, the
// network and its weights. So whoever names data anew names all of them.
Job with_paths(Job job, const JobPaths& paths);

}  // namespace isobit::train
