// One side of a dispute by itself, on a machine of its own: what its games need beside messages and a place to keep
// them (dispute/party_node.h).
#pragma once

#include <memory>
#include <optional>

#include "isobit/dispute/party_node.h"
#include "isobit/run/dispute_run.h"

namespace isobit::run {

// kUsage for a job of which no step can be disputed.
Status check_disputable(const train::Job& job);

// What the challenger doubts first of this run, of which no more is looked at than transcript and heads: the earliest
// step in which they differ, or the evaluation; of a logged job under the run's own log, where the challenger judges by
// that. kUsage: they do not differ, or the trainer has not signed for it yet. REQUIRES runs of one job.
Expected<dispute::Challenge> find_challenge(const bundle::BundleReader& doubted, RunWitness& challenger);

class PartySide {
 public:
  // The trainer of a run; side.key is checked to be its. Errors: those of RunWitness::open; kUsage: another's key, no
  // head that is signed yet, or an engagement that names no referee.
  static Expected<std::unique_ptr<PartySide>> trainer(const DisputeSide& side);
  // Whoever disagrees with the run that `doubted` opens, with a run of its own; side.key is not looked at, since each
  // game has one of its own. `doubted` is opened and left again, but for a logged job, whose log decides near-ties.
  // kUsage also where the jobs differ.
  static Expected<std::unique_ptr<PartySide>> challenger(const DisputeSide& side, const OpenRequest& doubted);

  dispute::Party party() const { return party_; }
  const dispute::Subject& subject() const { return *subject_; }
  // What answers the questions of one more game, whose memory it is and in which this key speaks. One at a time; not
  // after this is gone.
  dispute::PartyNode::Answer new_game(const commit::SecretKey& key) const;

 private:
  PartySide(dispute::Party party, const DisputeSide& side) : party_(party), forge_states_(side.forge_states) {}
  Status open(const DisputeSide& side);

  const dispute::Party party_;
  const dispute::Player::ForgeStates forge_states_;
  std::unique_ptr<RunWitness> judged_;  // the run in doubt, where its log decides
  std::unique_ptr<RunWitness> computed_;
  std::unique_ptr<dispute::Witness> speaking_;  // in its place, where there is one
  std::optional<dispute::Subject> subject_;
  std::optional<dispute::Challenge> challenge_;
};

}  // namespace isobit::run
