#include "isobit/run/party_side.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::run {
namespace {

using dispute::Party;

// Where two transcripts part: the last state of the smallest interval around it, or what is handed out in the end.
struct Doubt {
  uint64_t last = 0;
  bool handed_out = false;
  bool of_evaluation = false;
};

constexpr const char* kNothing = "the runs have the same leaves as far as both go: there is nothing to dispute";
constexpr const char* kNothingByItsLog =
    "the run in doubt is what its own log leads to, as far as it goes: there is nothing to dispute (entries that "
    "change nothing are counted by 'isobit audit')";

Doubt doubt_of_step(const verify::TranscriptRules& rules, uint64_t step) {
  const uint64_t t = std::max<uint64_t>(1, step), every = rules.commit_every;
  return {std::min((t + every - 1) / every * every, rules.steps), false};
}

Doubt doubt_of_last_state(const verify::TranscriptRules& rules) { return {rules.steps, rules.has_state(rules.steps)}; }

Expected<Doubt> first_doubt(const verify::Transcript& a, const verify::Transcript& b) {
  const verify::TranscriptRules& rules = a.rules();
  const uint64_t both = std::min(a.size(), b.size());
  uint64_t leaf = 0;
  while (leaf < both && a.leaf(leaf) == b.leaf(leaf)) ++leaf;
  if (leaf == both) return usage_error(kNothing);
  if (leaf <= rules.steps) return doubt_of_step(rules, leaf);
  if (a.final().state_root != b.final().state_root) return doubt_of_last_state(rules);
  return Doubt{rules.steps, false, true};
}

// The challenger's own transcript does not say what it makes of the trainer's log.
Expected<Doubt> first_doubt_under_the_log(const verify::Transcript& a, RunWitness& challenger) {
  const verify::TranscriptRules& rules = a.rules();
  if (a.leaf(0) != challenger.reader().transcript().leaf(0)) return doubt_of_step(rules, 0);
  ISOBIT_TRY(const auto differs, challenger.first_difference(a, 0));
  if (differs) return doubt_of_step(rules, *differs);
  if (!a.complete()) return usage_error(kNothingByItsLog);
  ISOBIT_TRY(const commit::Digest state, challenger.state_root());
  if (a.final().state_root != state) return doubt_of_last_state(rules);
  ISOBIT_TRY(const verify::EvaluationTree* evaluation, challenger.evaluation());
  if (a.final().evaluation == evaluation->evaluation()) return usage_error(kNothingByItsLog);
  return Doubt{rules.steps, false, true};
}

// What the steps of the interval say, computed now, against what the trainer signed. Who doubts by a run that a machine
// once computed wrongly, or that was changed since, is told so before it signs anything: it would be wrong.
Status check_ground(const verify::Transcript& doubted, const Doubt& doubt, RunWitness& challenger) {
  const verify::TranscriptRules& rules = doubted.rules();
  if (doubted.initial().state_root != challenger.session().parts.initial_state) return {};
  bool differs = false;
  if (doubt.of_evaluation) {
    ISOBIT_TRY(const verify::EvaluationTree* evaluation, challenger.evaluation());
    differs = doubted.final().evaluation != evaluation->evaluation();
  } else if (doubt.handed_out) {
    differs = doubted.final().state_root != doubted.step(doubt.last).state_root;
  } else {
    const uint64_t before = rules.committed_step_at_or_before(doubt.last - 1);
    const uint64_t last = std::min(doubt.last, doubted.steps());
    ISOBIT_TRY(const auto points, challenger.points(before, last));
    for (uint64_t t = before + 1; t <= last; ++t) {
      const dispute::StepPoint& own = points[t - before - 1];
      const verify::StepLeaf& leaf = doubted.step(t);
      const auto state = doubted.committed_state(t);
      differs |= leaf.batch != own.batch || leaf.loss != own.loss || leaf.log_segment != own.log_segment;
      differs |= state.has_value() && *state != own.state_root;
    }
  }
  if (differs) return {};
  return usage_error(text_of(
      "the runs differ ", doubt.of_evaluation ? "in their evaluation" : text_of("at or before step ", doubt.last),
      ", and what is computed there now is what the other run says: your own run is the one that was computed "
      "or stored wrongly ('isobit audit' says where), and there is nothing to dispute"));
}

Status check_referee(const verify::Engagement& engagement) {
  if (engagement.terms.referee_key) return {};
  return usage_error(
      "the run's engagement names no referee, so that nobody may ask about it over a network: client and trainer agree "
      "on one with 'isobit engage offer --referee FILE'");
}

}  // namespace

Status check_disputable(const train::Job& job) {
  if (!arithmetic_of(job).logs || job.rounding.log != log::Kind::kOvt) return {};
  return usage_error(
      "rounding.log: found 'ovt', whose decisions nobody can judge one by one; what can be disputed is 'sparse'");
}

Expected<dispute::Challenge> find_challenge(const bundle::BundleReader& doubted, RunWitness& challenger) {
  const verify::Transcript& transcript = doubted.transcript();
  ISOBIT_TRY(const Doubt doubt, challenger.judges_a_log() ? first_doubt_under_the_log(transcript, challenger)
                                                          : first_doubt(transcript, challenger.reader().transcript()));
  if (!challenger.misbehaves()) ISOBIT_RETURN_IF_ERROR(check_ground(transcript, doubt, challenger));
  ISOBIT_TRY(const verify::SignedHead head, last_head(doubted));
  if (doubt.of_evaluation) {
    ISOBIT_TRY(const verify::EvaluationTree* evaluation, challenger.evaluation());
    ISOBIT_TRY(auto graphs, challenger.scored_graphs());
    return dispute::make_challenge(challenger.session().parts, transcript, head,
                                   {evaluation->evaluation(), std::move(graphs)});
  }
  return dispute::make_challenge(challenger.session().parts, transcript, head, doubt.last, doubt.handed_out);
}

Status PartySide::open(const DisputeSide& side) {
  ISOBIT_TRY(computed_,
             RunWitness::open(side.open, side.platform, {party_ == Party::kTrainer, side.conduct, judged_.get()}));
  if (side.speaks) speaking_ = side.speaks(*computed_);
  return {};
}

Expected<std::unique_ptr<PartySide>> PartySide::trainer(const DisputeSide& side) {
  std::unique_ptr<PartySide> made(new PartySide(Party::kTrainer, side));
  ISOBIT_RETURN_IF_ERROR(made->open(side));
  const verify::Engagement& engagement = made->computed_->reader().engagement();
  ISOBIT_RETURN_IF_ERROR(check_trainer_key(*side.key, engagement));
  ISOBIT_RETURN_IF_ERROR(check_referee(engagement));
  ISOBIT_RETURN_IF_ERROR(check_disputable(made->computed_->session().job));
  ISOBIT_RETURN_IF_ERROR(last_head(made->computed_->reader()));
  made->subject_.emplace(dispute_subject(made->computed_->session().job, engagement));
  return made;
}

Expected<std::unique_ptr<PartySide>> PartySide::challenger(const DisputeSide& side, const OpenRequest& doubted) {
  OpenRequest request = doubted;
  request.checkpoints = bundle::Checkpoints::kLeave;  // none is needed
  ISOBIT_TRY(const OpenedRun theirs, open_run(request));
  const verify::Engagement& engagement = theirs.reader.engagement();
  ISOBIT_RETURN_IF_ERROR(check_referee(engagement));
  ISOBIT_RETURN_IF_ERROR(check_disputable(theirs.job));
  std::unique_ptr<PartySide> made(new PartySide(Party::kChallenger, side));
  if (arithmetic_of(theirs.job).logs && !side.conduct) {
    ISOBIT_TRY(made->judged_, RunWitness::open(doubted, side.platform, {true}));
  }
  ISOBIT_RETURN_IF_ERROR(made->open(side));
  const Session& session = made->computed_->session();
  if (session.root != engagement.terms.job_root) {
    return usage_error("the run in doubt and your own are of different jobs, or of different data");
  }
  ISOBIT_TRY(made->challenge_, find_challenge(theirs.reader, *made->computed_));
  made->subject_.emplace(dispute_subject(session.job, engagement));
  return made;
}

dispute::PartyNode::Answer PartySide::new_game(const commit::SecretKey& key) const {
  dispute::Witness& witness = speaking_ ? *speaking_ : *computed_;
  const verify::Transcript* transcript = party_ == Party::kTrainer ? &computed_->reader().transcript() : nullptr;
  const auto player = std::make_shared<dispute::Player>(*subject_, computed_->session().parts, party_, witness,
                                                        transcript, key, computed_->engine().pool());
  player->forge_states(forge_states_);
  return [this, player](const dispute::Question& question) -> Expected<dispute::Body> {
    if (question.kind != dispute::Kind::kChallenge) return player->answer(question);
    if (challenge_) return *challenge_;
    return usage_error("a trainer challenges nobody");
  };
}

}  // namespace isobit::run
