// Several labs read as if they were one.
#pragma once

#include <filesystem>

#include "isobit/lab/deviation/comparison.h"
#include "isobit/lab/records/lab_file.h"

namespace isobit::lab::explain {

class Labs {
 public:
  // Errors: those of LabFile::open. REQUIRES a path.
  static Expected<Labs> open(const std::vector<std::filesystem::path>& paths);
  explicit Labs(std::vector<records::LabFile> files) : files_(std::move(files)) {}

  // Each once, in order of first appearance.
  Expected<std::vector<records::Subject>> subjects();
  // Runs that several labs hold count once.
  Expected<std::vector<records::RunRecord>> runs(const records::Subject& subject);
  // Of the first lab that has it.
  Expected<std::vector<records::GraphNode>> graph(const records::Subject& subject);
  // Of the first lab that has it. The source refers to these labs.
  deviation::TensorSource tensors();

 private:
  std::vector<records::LabFile> files_;
};

}  // namespace isobit::lab::explain
