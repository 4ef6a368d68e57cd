// A job: the one file a client and a trainer agree on. Every field that fixes the result or the transcript is in it;
// where and how fast it runs is not.
#pragma once

#include <cstdint>
#include <map>
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
enum class Schedule { kConstant, kStep, kCosine };
enum class DivergenceBound { kCalibrated, kSound };

// Of the arithmetics that round: `rounded` and `logged-1`.
struct Rounding {
  int64_t bits = 32;  // kept of a float32: 22 to 32
  // logged-1 only, all of it.
  log::Kind log = log::Kind::kSparse;
  // How far the float64 results of two platforms may lie apart, by proof or as measured. Not of ovt without `distance`.
  DivergenceBound bound = DivergenceBound::kCalibrated;
  // As measured, with its margin; never above what proof gives: in units of 2^-53 times the sum of magnitudes of the
  // terms. Per operator, else `divergence`.
  double divergence = 32;
  std::map<std::string, double> divergences;
  // Ovt: the distance from the rounded value, in units of the spacing of rounded values, from which on a decision is
  // written down. Per operator, else `threshold`.
  double threshold = 0.25;
  std::map<std::string, double> thresholds;
  // Ovt: decisions of inner products obey that bound, too. Without it they are taken as published, unchecked.
  bool distance = true;
  bool operator==(const Rounding&) const = default;
};

struct Job {
  std::string name = "job";
  uint64_t seed = 0;
  int64_t steps = 0;
  std::string arithmetic = "ordered-1";

  Rounding rounding;

  models::ModelConfig model;  // batch, input_shape, classes, training and seed are filled from the rest
  data::DataConfig data;
  int64_t batch = 0;
  std::string salt_path;  // a file of 64 hex digits that salts the sample hashes; "" for public data

  Optimizer optimizer = Optimizer::kSgd;
  double lr = 0;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double clip_norm = 0;  // 0: no clipping

  Schedule schedule = Schedule::kConstant;
  int64_t warmup = 0;
  int64_t decay_every = 0;  // step schedule
  double decay_factor = 0.1;
  double min_lr = 0;  // cosine

  int64_t evaluate_samples = 0;  // of the test split; 0: all
  int64_t commit_every = 1;

  // Not part of what is committed: they change no result.
  int64_t checkpoint_every = 0;  // 0: only at the end
  int64_t checkpoint_keep = 3;
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

// The learning rate of step t (0 .. steps - 1), in binary64, each operation rounded once:
//   t < warmup:  lr * (t + 1) / warmup
//   constant:    lr
//   step:        lr * decay_factor, once for every full decay_every steps after the warm-up
//   cosine:      p = (t - warmup) / (steps - warmup); c = cr_cos(float32(pi) * float32(p)), one float32 product;
//                min_lr + 0.5 * (lr - min_lr) * (1 + c)
double learning_rate(const Job& job, int64_t t);

}  // namespace isobit::train
