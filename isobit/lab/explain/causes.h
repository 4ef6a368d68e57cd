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

// Two kernels that add alike at one element and were recorded with different bits, asked where these two differ.
struct AskedAgain {
  AskedSum asked;
  std::vector<KernelTree> trees;  // two
  bool is_settled() const;        // they add in different ways there
};

struct Causes {
  Replays replays;
  std::optional<size_t> first;           // of Replays::forks: the first one that is introduced there
  std::vector<Trial> trials;             // at the first one
  std::vector<DiagnosedPair> diagnoses;  // at the first one of every operator
  AskedSum asked;                        // of the first one's kernels
  std::vector<KernelTree> trees;
  std::vector<size_t> not_asked;  // platforms whose kernels were one too many, see kMaxTrees
  // Platforms that recorded the same inputs of it as the reference: what others made of it may be inherited.
  std::vector<size_t> same_inputs;
  std::vector<AskedAgain> again;

  // Of Explanation::forks: the first that is introduced by the records, where that is before the first one that replays
  // show, because platforms differ there that this program cannot replay; and how their kernels add.
  std::optional<size_t> earlier;
  AskedSum earlier_asked;
  std::vector<KernelTree> earlier_trees;
};

// At most so many kernels are asked: one of each class of the replay, then those of the engines that are not replayed,
// of which each has its first setting before any has another. And so many pairs once more.
constexpr size_t kMaxTrees = 16;
constexpr size_t kMaxAgain = 6;

// `model`: that of measured_model(), of a caller who has it; none: it is loaded here. Not looked at of a training.
// Errors: those of measured_model() and of Replayer; of a training as replay_training().
Expected<Causes> find_causes(const Explanation& explanation, const deviation::TensorSource& tensors,
                             const CausesRequest& request, std::optional<onnx::Model> model = {});

// Whole sentences, the most important first; they say what was tried and claim nothing else.
std::vector<std::string> in_words(const Explanation& explanation, const Causes& causes);

}  // namespace isobit::lab::explain
