// What a training was like, step by step, for whoever watches it: one JSON object a line (docs/formats/metrics.md). The
// file is for people and their tools: nothing in it is committed or signed, and nothing here reads it back but the
// number of the step that begins each line.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/bundle/disk.h"
#include "isobit/train/evaluation.h"

namespace isobit::run {

// The scores of a state on the test samples.
struct Scores {
  uint64_t samples = 0;
  std::vector<train::Metric> metrics;
};

// After a step.
struct StepMetrics {
  int64_t step = 0;
  double epoch = 0;  // samples taken so far / training samples
  float loss = 0;
  double lr = 0;
  double seconds = 0;  // of the step alone, without commitments and files; 0: there is no clock
  double samples_per_second = 0;
  std::optional<Scores> scores;  // where the state was scored after this step
};

// The line, with its end. A number that JSON has no text for (a NaN, an infinity) is null.
std::string line_of(const StepMetrics& metrics);

// Lines of strictly increasing steps. Each is one write, and is made durable when somebody asks for that.
class MetricsFile {
 public:
  // Of a run that begins. kUsage where there is something in a file of that name, where it is no regular file, and in
  // the folder of a run; kUnavailable where it cannot be made.
  static Expected<MetricsFile> begin(const fs::path& path);
  // Of a run that goes on after `step`: lines of later steps, which are computed again, and a last one that was not
  // finished are cut off. A file that is not there is made, and begins after that step. kUnreadable, and nothing is
  // changed, where a line is none of such a file; else as begin().
  static Expected<MetricsFile> go_on(const fs::path& path, int64_t step);

  // kUnavailable when the disk is full: the line is not there then.
  Status append(const StepMetrics& metrics);
  // What has been appended is there after a loss of power. kUnavailable when the disk fails.
  Status sync() { return file_.sync(); }
  // Of the last line, or the step that the file begins after.
  int64_t last_step() const { return last_step_; }

 private:
  MetricsFile(bundle::AppendFile file, int64_t last_step) : file_(std::move(file)), last_step_(last_step) {}

  bundle::AppendFile file_;
  int64_t last_step_;
};

}  // namespace isobit::run
