// What the tests of runs share: a small job, keys from fixed seeds, a folder of their own.
#pragma once

#include <unistd.h>

#include <string>

#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/manifest.h"
#include "isobit/formats/npy.h"
#include "isobit/run/audit_run.h"
#include "isobit/run/train_run.h"

namespace isobit::run::testing {

inline commit::SecretKey key(uint8_t seed) {
  commit::SecretKey::Seed bytes{};
  bytes.fill(seed);
  return commit::SecretKey::from_seed(bytes);
}

inline commit::RunId run_id(uint8_t fill) {
  commit::RunId id{};
  id.fill(fill);
  return id;
}

class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::temp_directory_path() / text_of("isobit_", name, "_", ::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

// Twelve steps of a small residual network on the digits.
inline train::Job small_job(const std::vector<std::string>& overrides = {}) {
  constexpr char kJob[] = R"(
[job]
name = "small"
seed = 11
steps = 12
[model]
builder = "resnet"
width = 4
[data]
dataset = "digits"
batch = 8
augment = ["crop"]
[optimizer]
name = "sgd"
lr = 0.05
momentum = 0.9
[schedule]
name = "cosine"
warmup = 2
[commit]
every = 1
[checkpoint]
every = 4
keep = 2
)";
  return train::parse_job(kJob, "small", "", overrides).value();
}

// Data in a folder that only a job of `npy` can read: sample i is one at feature i % features, and of class i %
// classes.
inline void write_npy_data(const fs::path& folder, int64_t samples, int64_t features, int64_t classes) {
  Tensor inputs = Tensor::zeros(DType::kFloat32, {samples, features}), labels(DType::kInt64, {samples});
  for (int64_t i = 0; i < samples; ++i) {
    inputs.data<float>()[i * features + i % features] = 1;
    labels.data<int64_t>()[i] = i % classes;
  }
  fs::create_directories(folder);
  ISOBIT_CHECK(formats::write_npy(folder / "inputs.npy", inputs).has_value());
  ISOBIT_CHECK(formats::write_npy(folder / "labels.npy", labels).has_value());
}
inline std::string npy_path(const fs::path& folder) { return text_of("data.path=\"", (folder / "").string(), "\""); }

// Four steps on them, each committed and kept.
inline train::Job npy_job(const std::vector<std::string>& overrides) {
  constexpr char kJob[] = R"(
[job]
name = "npy"
seed = 1
steps = 4
[model]
builder = "logistic"
[data]
dataset = "npy"
batch = 2
[optimizer]
name = "sgd"
lr = 0.1
[commit]
every = 1
[checkpoint]
every = 1
keep = 4
)";
  return train::parse_job(kJob, "npy", "", overrides).value();
}

inline TrainRequest train_request(const fs::path& out, const train::Job& job, const std::string& platform = "ordered") {
  TrainRequest request;
  request.out = out;
  request.job = job;
  request.platform = platform::parse_platform(platform).value();
  request.client = key(1);
  request.trainer = key(2);
  return request;
}

// Signs the folder of a finished run as it is now, as a dishonest trainer would.
inline void sign_again(const fs::path& run, uint8_t trainer = 2) {
  const Bytes before = read_file(run / bundle::kManifestFile, bundle::kMaxManifestBytes).value();
  bundle::Manifest manifest = bundle::decode_manifest(before, "test").value();
  manifest.files.clear();
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    const std::string name = fs::relative(entry.path(), run).string();
    if (!entry.is_regular_file() || !bundle::is_bundle_file(name)) continue;
    manifest.files[name] = bundle::digest_of_file(entry.path(), UINT64_MAX).value();
  }
  const Bytes bytes = bundle::encode(manifest);
  const auto signature = bundle::sign_manifest(bytes, manifest.job_root, manifest.run_id, key(trainer));
  ISOBIT_CHECK(write_file_durably(run / bundle::kManifestFile, bytes).has_value());
  ISOBIT_CHECK(write_file_durably(run / bundle::kManifestSignatureFile, bundle::encode(signature)).has_value());
}

inline AuditRequest audit_request(const fs::path& run, const std::string& platform = "ordered@portable/1t") {
  AuditRequest request;
  request.run = run;
  request.client = key(1).public_key();
  request.platform = platform::parse_platform(platform).value();
  return request;
}

// The ways in which an audit comes by the states that it compares: "whole", "from" the checkpoint of a step, "sample".
inline constexpr const char* kWays[] = {"whole", "from", "sample"};
inline AuditRequest audit_request(const fs::path& run, const std::string& way, uint64_t from_step) {
  AuditRequest request = audit_request(run);
  if (way == "from") request.from_step = from_step;
  if (way == "sample") request.sample = 1;
  if (way == "sample") request.sample_seed = Bytes(32, 5);
  return request;
}

}  // namespace isobit::run::testing
