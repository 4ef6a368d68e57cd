// Honest platforms within the job's bound, a little beyond it and far beyond it, never beyond the sound bound: nobody
// is ever called a liar, within the bound no run differs, and beyond it platforms notice at least as often as is
// stated.
//
// The slow build of this file runs 500 runs of each kind, the fast one some tens.
#include <cstdio>
#include <map>

#include "isobit/runtime/stages/simulated_runs_for_test.h"

namespace isobit::runtime {
namespace {

using namespace testing;

#ifdef ISOBIT_SLOW_TEST
constexpr uint64_t kRuns = 500;
#else
constexpr uint64_t kRuns = 24;
#endif
constexpr int kSteps = 6;
constexpr double kDivergence = 4;
// Of both platforms' two products, in all steps.
constexpr uint64_t kOutputs = 2 * 2 * kSteps * SimulatedRun::kSide * SimulatedRun::kSide;

struct Tally {
  std::map<Ending, uint64_t> endings;
  uint64_t checked = 0;
  log::Counts counts;
  uint64_t of(Ending e) const {
    const auto found = endings.find(e);
    return found == endings.end() ? 0 : found->second;
  }
  uint64_t noticed() const { return of(Ending::kTrainerStopped) + of(Ending::kInconclusive); }
};

Tally tally_of(SimulatedRun& run, const Errors& errors) {
  Tally tally;
  for (uint64_t seed = 1; seed <= kRuns; ++seed) {
    const RunResult r = run(seed, errors, errors, kSteps);
    ++tally.endings[r.ending];
    tally.checked += r.checked;
    tally.counts += r.counts;
  }
  std::printf(
      "%4.1f (%.4f of the outputs %4.1f) x the bound, %llu runs: %llu accepted, %llu stopped by the trainer, "
      "%llu inconclusive, %llu differ, %llu named; %llu entries, %llu corrections, %llu evaluated, %llu findings\n",
      errors.reach, errors.rare_share, errors.rare_reach, static_cast<unsigned long long>(kRuns),
      static_cast<unsigned long long>(tally.of(Ending::kAccepted)),
      static_cast<unsigned long long>(tally.of(Ending::kTrainerStopped)),
      static_cast<unsigned long long>(tally.of(Ending::kInconclusive)),
      static_cast<unsigned long long>(tally.of(Ending::kDiffers)),
      static_cast<unsigned long long>(tally.of(Ending::kNamed)), static_cast<unsigned long long>(tally.counts.entries),
      static_cast<unsigned long long>(tally.counts.corrections),
      static_cast<unsigned long long>(tally.counts.evaluated),
      static_cast<unsigned long long>(tally.counts.findings()));
  return tally;
}

// Errors are even in +-reach times what is allowed, or in the sound bound where that is less.
double share_beyond(double reach) {
  const double most = std::min(reach, sound_divergence(SimulatedRun::kTerms) / 2 / (kDivergence / 2 + 1));
  return most <= 1 ? 0 : 1 - 1 / most;
}

TEST(SimulatedPlatforms, NoHonestRunIsNamedAndPlatformsBeyondTheBoundNotice) {
  for (const log::Kind log : {log::Kind::kSparse, log::Kind::kOvt}) {
    SimulatedRun run(kDivergence, log);
    for (double reach : {0.5, 0.9, 1.2, 2.0, 6.0, 40.0}) {
      const Tally t = tally_of(run, {reach});
      EXPECT_EQ(t.of(Ending::kNamed), 0u) << reach;
      if (reach <= 1) {
        EXPECT_EQ(t.of(Ending::kAccepted), kRuns) << reach;
        EXPECT_EQ(t.counts.findings(), 0u) << reach;
        EXPECT_GT(t.counts.entries, kRuns) << reach;
        EXPECT_GT(t.counts.corrections, 0u) << reach;
      }
      // What near-ties cover (self_check.h): up to here no run differs.
      if (reach <= 2) {
        EXPECT_EQ(t.of(Ending::kDiffers), 0u) << reach;
      }
      // The share of the runs that ended by somebody's notice, against what both samples together come to where errors
      // fall evenly; what is stated of errors wherever they are is no more than that.
      const double even = even_noticing(share_beyond(reach), 2 * 2 * kSteps);
      EXPECT_LE(noticing_probability(share_beyond(reach), kOutputs), even);
      EXPECT_GE(static_cast<double>(t.noticed()), static_cast<double>(kRuns) * (even - 0.05)) << reach;
    }
  }
}

// Few outputs are beyond the bound, but far: most runs go on unnoticed, and some of them part.
TEST(SimulatedPlatforms, WhatGoesUnnoticedIsADifferenceThatNamesNobody) {
  uint64_t differing = 0, accepted = 0;
  for (const log::Kind log : {log::Kind::kSparse, log::Kind::kOvt}) {
    SimulatedRun run(kDivergence, log);
    for (double reach : {2.0, 6.0, 40.0}) {
      for (double share : {0.0002, 0.001, 0.01}) {
        const Tally t = tally_of(run, {0.9, reach, share});
        EXPECT_EQ(t.of(Ending::kNamed), 0u);
        const double even = even_noticing(share * share_beyond(reach), 2 * 2 * kSteps);
        EXPECT_LE(noticing_probability(share * share_beyond(reach), kOutputs), even);
        EXPECT_GE(static_cast<double>(t.noticed()), static_cast<double>(kRuns) * (even - 0.1));
        differing += t.of(Ending::kDiffers);
        accepted += t.of(Ending::kAccepted);
        EXPECT_TRUE(reach > 2 || t.of(Ending::kDiffers) == 0);
      }
    }
  }
  EXPECT_GT(differing, 0u);
  EXPECT_GT(accepted, 0u);
}

}  // namespace
}  // namespace isobit::runtime
