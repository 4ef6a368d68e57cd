#include "isobit/run/dispute_run.h"

#include "isobit/base/text.h"
#include "isobit/run/party_side.h"

namespace isobit::run {
namespace {

using dispute::Party;

// What is said goes to the referee as bytes.
class LocalGame {
 public:
  LocalGame(dispute::Referee& referee, std::array<dispute::Player, 2>& players,
            const std::function<void(const dispute::Question&)>& progress, const std::function<double()>& seconds)
      : referee_(referee), players_(players), progress_(progress), seconds_(seconds) {}

  Expected<DisputeResult> play(const dispute::Body& challenge) {
    ISOBIT_RETURN_IF_ERROR(send(Party::kChallenger, challenge, referee_.question()));
    while (!referee_.verdict()) {
      const dispute::Question question = referee_.question();
      if (progress_) progress_(question);
      for (const Party party : {Party::kTrainer, Party::kChallenger}) {
        if (!question.asked[static_cast<size_t>(party)]) continue;
        const auto answer = players_[static_cast<size_t>(party)].answer(question);
        if (!answer) return unavailable(text_of("the ", name_of(party), " cannot answer: ", answer.error().message));
        ISOBIT_RETURN_IF_ERROR(send(party, *answer, question));
      }
    }
    result_.engagement = referee_.subject().engagement;
    result_.verdict = *referee_.verdict();
    result_.counts = referee_.counts();
    result_.turns = referee_.question().turn;
    result_.record = referee_.record();
    return result_;
  }

 private:
  double now() const { return seconds_ ? seconds_() : 0.0; }

  Status send(Party party, const dispute::Body& body, const dispute::Question& question) {
    const Bytes message = players_[static_cast<size_t>(party)].sign(question, body);
    const double begin = now();
    const dispute::Referee::Receipt receipt = referee_.receive(message);
    result_.referee_seconds += now() - begin;
    if (receipt.counts) return {};
    return unavailable(text_of("the ", name_of(party), "'s answer does not count: ", receipt.why_not));
  }

  dispute::Referee& referee_;
  std::array<dispute::Player, 2>& players_;
  const std::function<void(const dispute::Question&)>& progress_;
  const std::function<double()>& seconds_;
  DisputeResult result_;
};

}  // namespace

dispute::Subject dispute_subject(const train::Job& job, const verify::Engagement& engagement) {
  return {engagement, transcript_rules(job), arithmetic_of(job), rounding_rules(job), job};
}

Expected<verify::SignedHead> last_head(const bundle::BundleReader& reader) {
  if (reader.heads().empty()) return usage_error("the run has no signed head yet: nothing is committed to");
  return reader.heads().back();
}

Status check_trainer_key(const commit::SecretKey& key, const verify::Engagement& engagement) {
  if (key.public_key() == engagement.trainer_key) return {};
  return usage_error(text_of("the key given is ", hex_of(key.public_key()), ", and the run's trainer is ",
                             hex_of(engagement.trainer_key)));
}

Expected<DisputeResult> dispute_runs(const DisputeRequest& request) {
  const DisputeSide& a = request.trainer;
  const DisputeSide& b = *request.challenger;
  ISOBIT_TRY(const std::unique_ptr<RunWitness> trainer, RunWitness::open(a.open, a.platform, {true, a.conduct}));
  const verify::Engagement& engagement = trainer->reader().engagement();
  ISOBIT_RETURN_IF_ERROR(check_trainer_key(*a.key, engagement));
  ISOBIT_RETURN_IF_ERROR(dispute::Referee::check_challenger(b.key->public_key(), engagement));
  const train::Job& job = trainer->session().job;
  ISOBIT_RETURN_IF_ERROR(check_disputable(job));
  const RunWitness* judged = arithmetic_of(job).logs && !b.conduct ? trainer.get() : nullptr;
  ISOBIT_TRY(const std::unique_ptr<RunWitness> challenger,
             RunWitness::open(b.open, b.platform, {false, b.conduct, judged}));
  if (challenger->session().root != trainer->session().root) {
    return usage_error("the runs are of different jobs, or of different data");
  }
  ISOBIT_TRY(const dispute::Challenge challenge, find_challenge(trainer->reader(), *challenger));
  const std::array<std::unique_ptr<dispute::Witness>, 2> speaking = {a.speaks ? a.speaks(*trainer) : nullptr,
                                                                     b.speaks ? b.speaks(*challenger) : nullptr};
  const dispute::Subject subject = dispute_subject(trainer->session().job, engagement);
  dispute::Referee referee(subject, b.key->public_key());
  const auto player = [&](Party party, RunWitness& computed, const DisputeSide& side) {
    const auto& speaker = speaking[static_cast<size_t>(party)];
    return dispute::Player(subject, computed.session().parts, party, speaker ? *speaker : computed,
                           party == Party::kTrainer ? &computed.reader().transcript() : nullptr, *side.key,
                           computed.engine().pool());
  };
  std::array<dispute::Player, 2> players = {player(Party::kTrainer, *trainer, a),
                                            player(Party::kChallenger, *challenger, b)};
  players[0].forge_states(a.forge_states);
  players[1].forge_states(b.forge_states);
  return play_locally(referee, players, challenge, request.progress, request.seconds);
}

Expected<DisputeResult> play_locally(dispute::Referee& referee, std::array<dispute::Player, 2>& players,
                                     const dispute::Body& challenge,
                                     const std::function<void(const dispute::Question&)>& progress,
                                     const std::function<double()>& seconds) {
  return LocalGame(referee, players, progress, seconds).play(challenge);
}

}  // namespace isobit::run
