// A dispute between the trainer of a run and somebody who doubts it, both and the referee in one process: what each
// says goes through the same messages as between strangers.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "isobit/commit/signature.h"
#include "isobit/dispute/player.h"
#include "isobit/dispute/referee.h"
#include "isobit/run/run_witness.h"

namespace isobit::run {

// What everybody knows of a dispute under this engagement. REQUIRES its job.
dispute::Subject dispute_subject(const train::Job& job, const verify::Engagement& engagement);

// The last that the trainer signed. kUsage where it signed none yet.
Expected<verify::SignedHead> last_head(const bundle::BundleReader& reader);

// kUsage unless it is the key of the trainer who accepted.
Status check_trainer_key(const commit::SecretKey& key, const verify::Engagement& engagement);

// One side: the run that it computes again, and how.
struct DisputeSide {
  OpenRequest open;
  platform::Platform platform;
  std::optional<commit::SecretKey> key;       // REQUIRES set: signs its answers
  std::optional<Conduct> conduct;             // of somebody who does not compute as the job says
  dispute::Player::ForgeStates forge_states;  // of somebody who lies about the parts of a sum
  // Of somebody who says something else than it computed: speaks in place of the witness that it is given.
  std::function<std::unique_ptr<dispute::Witness>(dispute::Witness& computed)> speaks;
};

struct DisputeRequest {
  DisputeSide trainer;                                     // of the run that is in doubt
  std::optional<DisputeSide> challenger;                   // of a run of its own, with which it disagrees
  std::function<void(const dispute::Question&)> progress;  // before each turn
  std::function<double()> seconds;                         // a clock, for DisputeResult::referee_seconds
};

struct DisputeResult {
  verify::Engagement engagement;  // of the run in doubt
  dispute::Verdict verdict;
  dispute::Referee::Counts counts;
  uint64_t turns = 0;
  double referee_seconds = 0;
  std::vector<Bytes> record;  // the messages, from which the verdict follows
};

// From the challenger's first word to the verdict. players: the trainer's, the challenger's. progress, seconds: as in
// DisputeRequest. kUnavailable where a party could not answer.
Expected<DisputeResult> play_locally(dispute::Referee& referee, std::array<dispute::Player, 2>& players,
                                     const dispute::Body& challenge,
                                     const std::function<void(const dispute::Question&)>& progress = nullptr,
                                     const std::function<double()>& seconds = nullptr);

// Of two runs of one job: the earliest step in which they differ, or their evaluation. Of a logged job an honest
// challenger computes by the log of the run that is in doubt, whatever its own run's log decided, and by the exact
// values where that log says what it may not, or cannot be read. kUsage: they do not differ, or an honest challenger
// computes now what the trainer says, so that its own run is the false one; they are of different jobs; a key that is
// not the trainer's; a log of kind ovt, whose decisions nobody can judge one by one. Errors: those of RunWitness::open;
// kUnavailable where a party could not answer.
Expected<DisputeResult> dispute_runs(const DisputeRequest& request);

}  // namespace isobit::run
