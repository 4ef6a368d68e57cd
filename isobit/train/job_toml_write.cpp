#include <array>
#include <filesystem>
#include <sstream>

#define TOML_ASSERT(condition) static_cast<void>(0)  // see job_toml.cpp
#include <toml++/toml.h>

#include "isobit/base/file.h"
#include "isobit/train/job_names_internal.h"

namespace isobit::train {
namespace {

toml::table rounding_table(const Job& job) {
  const Rounding& r = job.rounding;
  toml::table table{{"bits", r.bits}};
  if (!arithmetic_of(job).logs) return table;
  auto numbers = [](const std::map<std::string, double>& map) {
    toml::table t;
    for (const auto& [name, value] : map) t.insert(name, value);
    return t;
  };
  table.insert("log", kLogs[static_cast<size_t>(r.log)]);
  table.insert("bound", kBounds[static_cast<size_t>(r.bound)]);
  const bool measured = r.bound == DivergenceBound::kCalibrated;  // else a job file must not speak of it
  if (measured) table.insert("divergence", r.divergence);
  if (measured && !r.divergences.empty()) table.insert("divergences", numbers(r.divergences));
  table.insert("threshold", r.threshold);
  if (r.log == log::Kind::kOvt) table.insert("distance", r.distance);
  if (!r.thresholds.empty()) table.insert("thresholds", numbers(r.thresholds));
  return table;
}

}  // namespace

std::string job_to_toml(const Job& job) {
  auto strings = [](const std::vector<std::string>& list) {
    toml::array array;
    for (const std::string& s : list) array.push_back(s);
    return array;
  };
  auto absolute = [](std::vector<std::string> paths) {
    for (std::string& p : paths) p = fs::absolute(p).lexically_normal().string();
    return paths;
  };
  toml::table model{{"builder", job.model.builder}};
  if (job.model.builder == "resnet") {
    model.insert("blocks", job.model.blocks);
    model.insert("width", job.model.width);
    model.insert("running_variance", kRunningVariances[static_cast<size_t>(job.model.running_variance)]);
  }
  if (job.model.builder == "gpt") {
    model.insert("layers", job.model.layers);
    model.insert("heads", job.model.heads);
    model.insert("channels", job.model.channels);
    model.insert("dropout", job.model.dropout);
  }
  toml::table data{{"dataset", job.data.dataset}, {"batch", job.batch}};
  if (job.data.context > 0) data.insert("context", job.data.context);
  if (!job.data.augment.empty()) data.insert("augment", strings(in_order(job.data.augment)));
  const std::array<std::pair<const char*, const std::string*>, 5> paths = {
      {{"path", &job.data.path},
       {"labels_path", &job.data.labels_path},
       {"test_path", &job.data.test_path},
       {"test_labels_path", &job.data.test_labels_path},
       {"salt", &job.salt_path}}};
  for (const auto& [key, path] : paths) {
    if (!path->empty()) data.insert(key, fs::absolute(*path).lexically_normal().string());
  }
  if (!job.data.files.empty()) data.insert("files", strings(absolute(job.data.files)));
  if (!job.data.test_files.empty()) data.insert("test_files", strings(absolute(job.data.test_files)));
  toml::table optimizer{{"name", kOptimizers[static_cast<size_t>(job.optimizer)]},
                        {"lr", job.lr},
                        {"weight_decay", job.weight_decay},
                        {"clip_norm", job.clip_norm}};
  if (job.optimizer == Optimizer::kSgd) {
    optimizer.insert("momentum", job.momentum);
    optimizer.insert("nesterov", job.nesterov);
  } else {
    optimizer.insert("beta1", job.beta1);
    optimizer.insert("beta2", job.beta2);
    optimizer.insert("epsilon", job.epsilon);
  }
  toml::table schedule{{"name", kSchedules[static_cast<size_t>(job.schedule)]}, {"warmup", job.warmup}};
  if (job.schedule == Schedule::kStep) {
    schedule.insert("every", job.decay_every);
    schedule.insert("factor", job.decay_factor);
  }
  if (job.schedule == Schedule::kCosine) schedule.insert("min_lr", job.min_lr);
  toml::table root{{"job", toml::table{{"name", job.name},
                                       {"seed", static_cast<int64_t>(job.seed)},
                                       {"steps", job.steps},
                                       {"arithmetic", job.arithmetic}}},
                   {"model", model},
                   {"data", data},
                   {"optimizer", optimizer},
                   {"schedule", schedule},
                   {"commit", toml::table{{"every", job.commit_every}}},
                   {"checkpoint", toml::table{{"every", job.checkpoint_every}, {"keep", job.checkpoint_keep}}},
                   {"evaluate", toml::table{{"samples", job.evaluate_samples}}}};
  if (arithmetic_of(job).rounds) root.insert("rounding", rounding_table(job));
  std::ostringstream out;
  out << root << "\n";
  return out.str();
}

}  // namespace isobit::train
