#include "isobit/train/job_paths.h"

#include <algorithm>
#include <filesystem>

namespace isobit::train {
namespace {

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

std::vector<std::string> absolute(std::vector<std::string> paths) {
  for (std::string& path : paths) path = absolute(path);
  return paths;
}

data::InputFiles absolute(data::InputFiles files) {
  for (auto& [name, path] : files) path = absolute(path);
  return files;
}

}  // namespace

bool JobPaths::names_data() const {
  const auto named = [](const std::string& p) { return !p.empty(); };
  return named(path) || named(labels_path) || named(test_path) || named(test_labels_path) || !files.empty() ||
         !test_files.empty() || !inputs.empty() || !test_inputs.empty() || names_tokenizer();
}

bool JobPaths::names_tokenizer() const { return !encoder.empty() || !merges.empty() || !token_cache.empty(); }

JobPaths paths_of(const Job& job) {
  const data::DataConfig& d = job.data;
  return {absolute(d.path),        absolute(d.labels_path),  absolute(d.test_path),       absolute(d.test_labels_path),
          absolute(d.files),       absolute(d.test_files),   absolute(job.salt_path),     absolute(d.inputs),
          absolute(d.test_inputs), absolute(job.model.onnx), absolute(job.model.weights), absolute(d.encoder),
          absolute(d.merges),      absolute(d.token_cache)};
}

Job without_paths(Job job) {
  data::DataConfig& d = job.data;
  d.path = d.labels_path = d.test_path = d.test_labels_path = job.salt_path = "";
  d.encoder = d.merges = d.token_cache = "";
  d.files.clear();
  d.test_files.clear();
  job.model.onnx = job.model.weights = "";
  d.inputs.clear();
  d.test_inputs.clear();
  return job;
}

Job with_paths(Job job, const JobPaths& paths) {
  data::DataConfig& d = job.data;
  if (!paths_of(job).names_data()) {
    d.path = paths.path;
    d.labels_path = paths.labels_path;
    d.test_path = paths.test_path;
    d.test_labels_path = paths.test_labels_path;
    d.files = paths.files;
    d.test_files = paths.test_files;
    d.inputs = paths.inputs;
    d.test_inputs = paths.test_inputs;
    d.encoder = paths.encoder;
    d.merges = paths.merges;
    d.token_cache = paths.token_cache;
  }
  if (job.salt_path.empty()) job.salt_path = paths.salt;
  if (job.model.onnx.empty()) job.model.onnx = paths.onnx;
  if (job.model.weights.empty()) job.model.weights = paths.weights;
  return job;
}

}  // namespace isobit::train
