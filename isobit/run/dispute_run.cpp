#include "isobit/run/dispute_run.h"

#include "isobit/base/text.h"
#include "isobit/run/party_side.h"

namespace isobit::run {
namespace {

using dispute::Party;

class LocalGame {
 public:
  LocalGame(const DisputeRequest& request, RunWitness& trainer, RunWitness& challenger)
      : request_(request),
        speaking_{request.trainer.speaks ? request.trainer.speaks(trainer) : nullptr,
                  request.challenger->speaks ? request.challenger->speaks(challenger) : nullptr},
        subject_(dispute_subject(trainer.session().job, trainer.reader().engagement())),
        referee_(subject_, request.challenger->key->public_key()),
        players_{dispute::Player(subject_, trainer.session().parts, Party::kTrainer, speaker(0, trainer),
                                 &trainer.reader().transcript(), *request.trainer.key, trainer.engine().pool()),
                 dispute::Player(subject_, challenger.session().parts, Party::kChallenger, speaker(1, challenger),
                                 nullptr, *request.challenger->key, challenger.engine().pool())} {
    players_[0].forge_states(request.trainer.forge_states);
    players_[1].forge_states(request.challenger->forge_states);
  }

  Expected<DisputeResult> play(const dispute::Challenge& challenge) {
    ISOBIT_RETURN_IF_ERROR(send(Party::kChallenger, challenge));
    while (!referee_.verdict()) {
      const dispute::Question question = referee_.question();
      if (request_.progress) request_.progress(question);
      for (const Party party : {Party::kTrainer, Party::kChallenger}) {
        if (!question.asked[static_cast<size_t>(party)]) continue;
        const auto answer = players_[static_cast<size_t>(party)].answer(question);
        if (!answer) return unavailable(text_of("the ", name_of(party), " cannot answer: ", answer.error().message));
        ISOBIT_RETURN_IF_ERROR(send(party, *answer, question));
      }
    }
    result_.engagement = subject_.engagement;
    result_.verdict = *referee_.verdict();
    result_.counts = referee_.counts();
    result_.turns = referee_.question().turn;
    result_.record = referee_.record();
    return result_;
  }

 private:
  dispute::Witness& speaker(size_t side, RunWitness& computed) { return speaking_[side] ? *speaking_[side] : computed; }
  double now() const { return request_.seconds ? request_.seconds() : 0.0; }

  Status send(Party party, const dispute::Body& body) { return send(party, body, referee_.question()); }
  Status send(Party party, const dispute::Body& body, const dispute::Question& question) {
    const Bytes message = players_[static_cast<size_t>(party)].sign(question, body);
    const double begin = now();
    const dispute::Referee::Receipt receipt = referee_.receive(message);
    result_.referee_seconds += now() - begin;
    if (receipt.counts) return {};
    return unavailable(text_of("the ", name_of(party), "'s answer does not count: ", receipt.why_not));
  }

  const DisputeRequest& request_;
  const std::array<std::unique_ptr<dispute::Witness>, 2> speaking_;
  const dispute::Subject subject_;
  dispute::Referee referee_;
  std::array<dispute::Player, 2> players_;
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
  LocalGame game(request, *trainer, *challenger);
  return game.play(challenge);
}

}  // namespace isobit::run
