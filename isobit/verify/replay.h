// The step function as an argument: what an auditor needs of whatever can compute the job again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/log/fault.h"
#include "isobit/verify/transcript.h"

namespace isobit::verify {

// Why a step could not be computed as claimed. kOwnPlatform: this machine must not judge; else the claim is refused.
using StepFault = log::Fault;

// What one step computed; the fields of StepLeaf but for the state root.
struct StepOutcome {
  uint64_t step = 0;
  commit::Digest batch{};
  LossBits loss;
  std::optional<commit::Digest> log_segment;
  std::optional<StepFault> fault;  // then the other fields but `step` and `batch` mean nothing
};

// Stands at a state of the job and goes forward. Every method may fail for this machine's own reasons; such an error is
// passed on and is no verdict.
class Replayer {
 public:
  virtual ~Replayer() = default;
  // Of the state it stands at, commit::StateRoot::digest().
  virtual Expected<commit::Digest> state_root() = 0;
  // One step.
  virtual Expected<StepOutcome> advance() = 0;
  // Over the evaluation set, with the state it stands at.
  virtual Expected<Evaluation> evaluate() = 0;
};

// Replayers at several states of one run: the initial one, and those whose checkpoints are at hand.
class ReplayerSource {
 public:
  virtual ~ReplayerSource() = default;
  // Strictly increasing, the first is 0.
  virtual std::vector<uint64_t> starts() const = 0;
  // Standing at `step`, one of starts(). A Replayer that was opened before must not be used any more: an audit holds
  // one state.
  virtual Expected<std::unique_ptr<Replayer>> open(uint64_t step) = 0;
};

}  // namespace isobit::verify
