// The kinds of causes at the forks that introduce a difference.
#pragma once

#include "isobit/lab/explain/diagnosis.h"
#include "isobit/lab/explain/training_replay.h"

namespace isobit::lab::explain {

struct DiagnosedPair {
  size_t replay = 0;    // of Replays::forks
  size_t a = 0, b = 0;  // platforms of the comparison: one of the first class of the replay, one of another
  Diagnosis diagnosis;
};

// Of the first fork of every operator that introduces a difference, at most kMaxDiagnosed, each class of its replay
// beside the first, at most kMaxClassesAsked of them. REQUIRES Replayer::replay().
std::vector<DiagnosedPair> diagnose_forks(const Explanation& explanation, const Replayer& replayer,
                                          const Replays& replays);
// The same of a training.
std::vector<DiagnosedPair> diagnose_forks(const Explanation& explanation, const TrainingReplays& training);
constexpr size_t kMaxDiagnosed = 8, kMaxClassesAsked = 8;

}  // namespace isobit::lab::explain
