// Calibration of logged arithmetic: what divergences and thresholds a job's [rounding] needs, measured over platforms.
//
// Every platform takes the first steps of the job, and products of normal numbers in the job's shapes, in a child
// process of its own (a library's core type holds for a process). All see the same operands (calibration.h), so that
// what differs is their inner products alone. Each pair of platforms is compared:
//   divergence   of sampled outputs, the largest |x - y| in units of 2^-53 times the magnitude of the output
//   straddles    of all outputs, those that the two round apart; each gives two distances |x - r(x)| in units of the
//                spacing, and the threshold is the largest that still logs every one (distance > threshold)
// Source of the second: Algorithm 3 of M. Srivastava, S. Arora and D. Boneh, Optimistic verifiable training by
// controlling hardware nondeterminism, NeurIPS 2024. Determinism class of a report: none, it measures the platforms.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isobit/data/dataset.h"
#include "isobit/lab/calibration.h"
#include "isobit/platform/platform.h"
#include "isobit/train/job.h"

namespace isobit::lab {

struct ThresholdsRequest {
  train::Job job;                             // of any arithmetic; [rounding] is what the figures are set against
  std::vector<platform::Platform> platforms;  // two or more, no two alike
  int64_t steps = 10;                         // 1 to job.steps
  int64_t draws = 1;                          // of normal numbers, for each shape of a product
  uint64_t samples = 256;                     // outputs sampled of each product
  double margin = 4;                          // at least 1
  std::function<void(size_t done)> progress;  // before each platform: how many are done
};

struct PairFigures {
  size_t first = 0, second = 0;  // platforms of the request
  uint64_t samples = 0;          // compared
  double divergence = 0;
  int64_t divergence_k = 0;  // terms of the sum that showed it
  uint64_t straddles = 0;
  double least_distance = 0.5;  // of the kept ones
};

struct OperatorFigures {
  std::string op;  // as [rounding] names it
  int64_t least_k = 0, most_k = 0;
  uint64_t outputs = 0, samples = 0;       // of one platform
  std::vector<PairFigures> pairs;          // first < second, ascending
  std::vector<double> errors;              // by platform: largest |x - exact|, same units as divergence
  size_t worst_pair = 0;                   // that of the largest divergence
  double divergence = 0;                   // the largest
  double least_bound = 0, most_bound = 0;  // the sound bound 2 gamma_(k+2) at the ends of the range of k
  double bound_share = 0;                  // the largest divergence as a share of the sound bound at its own k
  double allowed = 0;                      // by the job, at the k where it allows least
  uint64_t beyond_job = 0;                 // compared or checked values outside what the job allows
  uint64_t beyond_bound = 0;               // ... outside the sound bound: no classical IEEE sum
  uint64_t straddles = 0;
  double least_distance = 0.5;
  double threshold = 0.25;  // Algorithm 3's, or the job's default when nothing straddled
  // margin x divergence, or what covers half the margin x the largest error if that is more. 0: nothing differed.
  double proposed_divergence = 0;
  double proposed_threshold = 0;  // margin times as far from 0.5, in the same interval. 0: nothing straddled
};

struct ThresholdsReport {
  std::vector<std::string> platforms;
  int64_t steps = 0, draws = 0;
  double margin = 0;
  int bits = 32;                           // kept by the job
  std::vector<OperatorFigures> operators;  // by name
  uint64_t left_out = 0;                   // products of a pair that were not compared, because their operands differed
  bool beyond_job() const;
  bool beyond_bound() const;
};

// Errors: kUsage for a request outside its limits; kUnavailable, kUnreadable: a platform, the data.
// Forks: REQUIRES that this process has opened no vendor's library.
Expected<ThresholdsReport> measure_thresholds(const ThresholdsRequest& request);

// Where the search for a threshold begins: a quarter of a float32 spacing, in units of the spacing of values of so many
// bits, 0.25 * 2^(bits - 32).
double least_threshold(int bits);

// The largest threshold in [0.25 * 2^(bits - 32), 0.5] that logs every distance (distance > threshold), by bisection to
// 2^-32; the lower end where none does.
double largest_threshold(double least_distance, int bits);

// A TOML table [rounding] with the proposals, to be put into a job of arithmetic logged-1; each line of `remarks` is a
// comment above it. Operators without a proposal are left to the job's defaults.
std::string rounding_fragment(const ThresholdsReport& report, const std::vector<std::string>& remarks);

// The part of one platform, in this process: steps and draws one after another.
Expected<std::vector<CalibrationRecord>> record_inner_products(const ThresholdsRequest& request,
                                                               std::shared_ptr<const data::Dataset> dataset,
                                                               const platform::Platform& platform);
// The same in a child process.
Expected<std::vector<CalibrationRecord>> record_in_child(const ThresholdsRequest& request,
                                                         std::shared_ptr<const data::Dataset> dataset,
                                                         const platform::Platform& platform);

// How all of `records` (one list a platform) compare. `ops`: the operator of each node of the step graph. REQUIRES
// lists of the same products in the same order.
ThresholdsReport compare_records(const ThresholdsRequest& request,
                                 const std::vector<std::vector<CalibrationRecord>>& records,
                                 const std::vector<std::string>& ops);

}  // namespace isobit::lab
