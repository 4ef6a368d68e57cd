// A job: the one file a client and a trainer agree on. Every field that fixes the result or the transcript is in it;
// where and how fast it runs is not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/data/dataset.h"
#include "isobit/log/kind.h"
#include "isobit/models/model.h"
#include "isobit/platform/arithmetic.h"

namespace isobit::train {

enum class Optimizer { kSgd, kAdam, kAdamW };
enum class Schedule { kConstant, kStep, kCosine, kLinear };
// What a step makes smaller (step_graph.h), and thereby what is measured of samples (metrics.h).
enum class Loss { kCrossEntropy, kMse, kL1, kHuber, kBceWithLogits, kOutput };
enum class DivergenceBound { kCalibrated, kSound };

using Numbers = std::map<std::string, double>;  // by operator

// Parameters that are trained at a pace of their own (parameter_groups.h).
struct ParameterGroup {
  std::string match;                   // of which names: a pattern (matches_glob)
  double lr_factor = 1;                // their learning rate is this one times that of the step
  std::optional<double> weight_decay;  // of all of them, biases and norms too; none: as for parameters of no group
  bool operator==(const ParameterGroup&) const = default;
};
using ParameterGroups = std::vector<ParameterGroup>;

// Of the arithmetics that round: `rounded` and `logged-1`. How far the float64 results of two platforms may lie apart
// is given by proof (bound = kSound) or as measured, with its margin, per operator (divergences) or else for all
// (divergence), and never above what proof gives. Decisions of an ovt log are written down from a distance of the
// rounded value on, per operator (thresholds) or else for all (threshold).
struct Rounding {
#define ISOBIT_ROUNDING(type, member, initial, ...) type member = initial;
#include "isobit/train/job_fields.inc"
  bool operator==(const Rounding&) const = default;
};

// Its members are declared in job_fields.inc, with their ranges and meanings.
struct Job {
#define ISOBIT_JOB(type, member, initial, ...) type member = initial;
#include "isobit/train/job_fields.inc"
  Rounding rounding;
  models::ModelConfig model;  // batch, input_shape, inputs, classes, training and seed are filled from the rest
  data::DataConfig data;
};

// The arithmetic of the job. REQUIRES one of parse_job.
const platform::Arithmetic& arithmetic_of(const Job& job);

// Reads TOML. `source` names it in messages; `overrides` are "table.key=value" as --set gives them; relative paths in
// the job are resolved against `folder`. Errors: kUnreadable for malformed TOML (with line and column), an unknown key
// (with the nearest known one), a wrong type, a value out of range; kUsage for a malformed override.
Expected<Job> parse_job(std::string_view toml, const std::string& source, const std::string& folder,
                        const std::vector<std::string>& overrides = {});
Expected<Job> load_job(const std::string& path, const std::vector<std::string>& overrides = {});

// TOML that parses back to the same job, every field written out.
std::string job_to_toml(const Job& job);

inline constexpr std::string_view kJobTag = "isobit.job";
inline constexpr uint32_t kJobVersion = 2;

// The canonical bytes of what fixes the result, as named and typed fields (docs/formats/job.md), without the dataset
// and the graph, which the job root binds by their digests. The same bytes whether files spell defaults out or not, in
// whatever order data.augment is, with or without what means nothing for the job. Digest: run/job_digest.h.
Bytes canonical_job_bytes(const Job& job);

// The job with its length in steps: job.epochs, where it is given, as data::steps_of_epochs of `train_count` training
// samples, and 0 then, so that the job is the same, byte for byte, as one that gives these steps. Whoever opens data or
// compares digests does this first. Errors (kUnreadable): more steps than a job may have, a warm-up as long as they
// are.
Expected<Job> in_steps(Job job, int64_t train_count);
// kUnreadable, naming `source`, for a job that gives its length in epochs: one that somebody trained never does.
Status check_in_steps(const Job& job, const std::string& source);

// The learning rate of step t (0 .. steps - 1), in binary64, each operation rounded once:
//   t < warmup:  lr * (t + 1) / warmup
//   constant:    lr
//   step:        lr * decay_factor, once for every full decay_every steps after the warm-up
//   linear:      p = (t - warmup) / (steps - 1 - warmup), 0 where that is 0 / 0; (1 - p) * lr + p * min_lr:
//                lr at the first step after the warm-up, min_lr at the last one, exactly
//   cosine:      p = (t - warmup) / (steps - warmup); c = cr_cos(float32(pi) * float32(p)), one float32 product;
//                min_lr + 0.5 * (lr - min_lr) * (1 + c)
double learning_rate(const Job& job, int64_t t);

}  // namespace isobit::train
