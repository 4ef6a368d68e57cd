// What replays, trials and kernels say of why platforms differ, beside what their records say.
#pragma once

#include "isobit/lab/explain/diagnoses.h"
#include "isobit/lab/explain/kernel_trees.h"
#include "isobit/lab/explain/trial.h"

namespace isobit::lab::explain {

struct CausesRequest {
  ReplayRequest replay;
  std::string python = "python3";           // for the kernels of engines
  std::vector<std::string> overrides = {};  // of a training's job, which `replay` names in place of a model
};

struct Causes {
  Replays replays;
  std::optional<size_t> first;           // of Replays::forks: the first one that is introduced there
  std::vector<Trial> trials;             // at the first one
  std::vector<DiagnosedPair> diagnoses;  // at the first one of every operator
  AskedSum asked;                        // of the first one's kernels
  std::vector<KernelTree> trees;
};

// At most so many kernels are asked: one of each class of the replay, and of the engines that are not replayed.
constexpr size_t kMaxTrees = 8;

// Errors: as Replayer; of a training as replay_training().
Expected<Causes> find_causes(const Explanation& explanation, const deviation::TensorSource& tensors,
                             const CausesRequest& request);

// Whole sentences, the most important first; they say what was tried and claim nothing else.
std::vector<std::string> in_words(const Explanation& explanation, const Causes& causes);

}  // namespace isobit::lab::explain
