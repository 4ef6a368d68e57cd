// A spot check of a run on the disk: what the auditor knows before it asks, the trainer's side, and the questions and
// answers between them.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "isobit/dispute/spot_check.h"
#include "isobit/dispute/spot_trainer.h"
#include "isobit/run/dispute_run.h"

namespace isobit::run {

// What an auditor knows of a run by its front alone (open_front). Everything else comes in answers.
struct SpotKnown {
  dispute::Subject subject;                  // engagement, and the job as the auditor has it
  std::optional<commit::Digest> transcript;  // of a finished run: what its trainer signed that it is
};
// REQUIRES a client in the request, whose engagement counts.
Expected<SpotKnown> spot_known(const OpenRequest& request);

// Who answers. conduct, forge_states and speaks as in a dispute.
class SpotSide {
 public:
  // Errors: those of RunWitness::open; kUsage: the key is not the run's trainer's, or the run has no head yet.
  static Expected<std::unique_ptr<SpotSide>> open(const DisputeSide& side);
  Expected<Bytes> answer(ByteView question) { return trainer_->answer(question); }

 private:
  SpotSide() = default;
  std::unique_ptr<RunWitness> computed_;
  std::unique_ptr<dispute::Witness> speaking_;
  std::optional<dispute::Subject> subject_;
  std::optional<dispute::SpotTrainer> trainer_;
};

// Asks until the check is done. kUnavailable where an answer does not count; else the errors of `ask`, which gives the
// message that answers a question. progress: after each answer. messages: where those that counted go, unless null.
Status run_spot_check(dispute::SpotCheck& check, const std::function<Expected<Bytes>(const Bytes& question)>& ask,
                      const std::function<void()>& progress = nullptr, std::vector<Bytes>* messages = nullptr);

}  // namespace isobit::run
