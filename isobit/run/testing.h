// What the tests of runs share: a small job, keys from fixed seeds, a folder of their own.
#pragma once

#include <unistd.h>

#include <string>

#include "isobit/base/text.h"
#include "isobit/run/audit_run.h"
#include "isobit/run/train_run.h"

namespace isobit::run::testing {

inline commit::SecretKey key(uint8_t seed) {
  commit::SecretKey::Seed bytes{};
  bytes.fill(seed);
  return commit::SecretKey::from_seed(bytes);
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

inline TrainRequest train_request(const fs::path& out, const train::Job& job, const std::string& platform = "ordered") {
  TrainRequest request;
  request.out = out;
  request.job = job;
  request.platform = platform::parse_platform(platform).value();
  request.keys = LocalKeys{key(1), key(2), false};
  return request;
}

inline AuditRequest audit_request(const fs::path& run, const std::string& platform = "ordered@portable/1t") {
  AuditRequest request;
  request.run = run;
  request.client = key(1).public_key();
  request.platform = platform::parse_platform(platform).value();
  return request;
}

}  // namespace isobit::run::testing
