#include "isobit/run/spot_run.h"

#include "isobit/base/text.h"

namespace isobit::run {

Expected<SpotKnown> spot_known(const OpenRequest& request) {
  ISOBIT_TRY(const OpenedFront opened, open_front(request));
  SpotKnown known{dispute_subject(opened.job, opened.front.engagement()), std::nullopt};
  if (opened.front.finished()) known.transcript = opened.front.manifest()->transcript_root;
  return known;
}

Expected<std::unique_ptr<SpotSide>> SpotSide::open(const DisputeSide& side) {
  std::unique_ptr<SpotSide> opened(new SpotSide());
  ISOBIT_TRY(opened->computed_, RunWitness::open(side.open, side.platform, {true, side.conduct}));
  RunWitness& computed = *opened->computed_;
  const verify::Engagement& engagement = computed.reader().engagement();
  ISOBIT_RETURN_IF_ERROR(check_trainer_key(*side.key, engagement));
  ISOBIT_TRY(const verify::SignedHead head, last_head(computed.reader()));
  if (side.speaks) opened->speaking_ = side.speaks(computed);
  opened->subject_ = dispute_subject(computed.session().job, engagement);
  dispute::Witness& witness = opened->speaking_ ? *opened->speaking_ : computed;
  opened->trainer_.emplace(*opened->subject_, computed.session().parts, witness,
                           dispute::SpotTrainer::SignedRun{computed.reader().transcript(), head}, *side.key,
                           computed.engine().pool());
  opened->trainer_->forge_states(side.forge_states);
  return opened;
}

Status run_spot_check(dispute::SpotCheck& check, const std::function<Expected<Bytes>(const Bytes& question)>& ask,
                      const std::function<void()>& progress, std::vector<Bytes>* messages) {
  while (!check.done()) {
    ISOBIT_TRY(Bytes message, ask(check.question()));
    const dispute::SpotCheck::Receipt receipt = check.receive(message);
    if (!receipt.counts) return unavailable(text_of("the trainer's answer does not count: ", receipt.why_not));
    if (messages != nullptr) messages->push_back(std::move(message));
    if (progress) progress();
  }
  return {};
}

}  // namespace isobit::run
