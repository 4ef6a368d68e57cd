#include <array>

#include "isobit/base/text.h"
#include "isobit/verify/walk_internal.h"

namespace isobit::verify {
namespace {

std::string text_of_bits(const LossBits& loss) {
  std::string hex;
  for (int shift = loss.dtype == DType::kFloat64 ? 56 : 24; shift >= 0; shift -= 8) {
    hex += to_hex(std::array{static_cast<uint8_t>(loss.bits >> shift)});
  }
  return hex;
}

std::string text_of_rules(const TranscriptRules& rules) {
  return text_of("steps ", rules.steps, ", commit every ", rules.commit_every, ", loss ", name_of(rules.loss_dtype),
                 ", log ", rules.logged);
}

std::string text_of_optional(const std::optional<commit::Digest>& digest) {
  return digest ? commit::hex_of(*digest) : "none";
}

std::string where(const FirstDifference& d) {
  if (d.first_step == d.last_step) return text_of("step ", d.step);
  return text_of("step ", d.step, " (the wrong computation is in one of the steps ", d.first_step, " to ", d.last_step,
                 ")");
}

}  // namespace

bool Walk::differ(FirstDifference difference) {
  verdict_.outcome = Outcome::kRejected;
  verdict_.reason = text_of("rejected: the ", name_of(difference.part), " differs at ", where(difference), ": claimed ",
                            difference.claimed, ", found ", difference.found);
  const Part part = difference.part;
  const bool open = part == Part::kLoss || part == Part::kState || part == Part::kEvaluation;
  if (open && !options_.difference_note.empty()) verdict_.reason += "; " + options_.difference_note;
  verdict_.first_difference = std::move(difference);
  return false;
}

bool Walk::refuse(const StepLeaf& leaf, const StepFault& fault) {
  using log::FaultKind;
  const uint64_t t = leaf.step;
  FirstDifference d{t, t, t, Part::kLog, text_of_optional(leaf.log_segment), fault.what, {}};
  if (!fault.op.empty()) d.op = fault.op;
  verdict_.first_difference = std::move(d);
  if (fault.kind == log::FaultKind::kOwnPlatform) {
    verdict_.outcome = Outcome::kInconclusive;
    verdict_.reason = text_of("inconclusive: at step ", t, " this machine cannot judge: ", fault.what);
    return false;
  }
  verdict_.outcome = Outcome::kRejected;
  verdict_.reason = text_of("rejected: the log of step ", t, " cannot be followed: ", fault.what);
  if (fault.kind == log::FaultKind::kIllegal) verdict_.reason += "; trainer and auditor have the same operands here";
  if (fault.kind == log::FaultKind::kDiffers && !options_.difference_note.empty()) {
    verdict_.reason += "; " + options_.difference_note;
  }
  return false;
}

AuditVerdict Walk::verdict() const {
  AuditVerdict verdict = verdict_;
  if (!options_.note.empty()) verdict.reason += "; " + options_.note;
  return verdict;
}

bool Walk::has_the_rules() {
  if (claimed_.rules() == options_.rules) return true;
  return differ({0, 0, 0, Part::kStructure, text_of_rules(claimed_.rules()), text_of_rules(options_.rules), {}});
}

bool Walk::claims_the_job() {
  if (!has_the_rules()) return false;
  if (!claimed_.complete()) {
    const uint64_t steps = claimed_.steps();
    return differ({steps,
                   steps,
                   steps,
                   Part::kStructure,
                   text_of(claimed_.size(), " leaves"),
                   text_of(claimed_.rules().leaves(), " leaves in a whole transcript"),
                   {}});
  }
  return begins_the_job();
}

bool Walk::begins_the_job() {
  if (!has_the_rules()) return false;
  if (claimed_.initial().job_root != options_.job_root) {
    return differ(
        {0, 0, 0, Part::kJob, commit::hex_of(claimed_.initial().job_root), commit::hex_of(options_.job_root), {}});
  }
  return true;
}

Expected<bool> Walk::compare_batches() {
  for (uint64_t t = 1; t <= claimed_.rules().steps; ++t) {
    ISOBIT_TRY(const commit::Digest found, options_.batch(t));
    if (found == claimed_.step(t).batch) continue;
    return differ({t, t, t, Part::kBatch, commit::hex_of(claimed_.step(t).batch), commit::hex_of(found), {}});
  }
  return true;
}

Expected<bool> Walk::begin(Replayer& replayer, uint64_t step) {
  const auto claimed = claimed_.committed_state(step);
  if (!claimed) {
    return usage_error(text_of("cannot audit from step ", step, ": its state is not committed; start at step ",
                               claimed_.rules().committed_step_at_or_before(step)));
  }
  replayer_ = &replayer;
  position_ = agreed_ = step;
  ISOBIT_TRY(const commit::Digest found, replayer.state_root());
  if (found == *claimed) return true;
  const Part part = step == 0 ? Part::kInitialState : Part::kCheckpoint;
  return differ({step, step, step, part, commit::hex_of(*claimed), commit::hex_of(found), {}});
}

Expected<bool> Walk::advance_to(uint64_t step) {
  while (position_ < step) {
    ISOBIT_TRY(const StepOutcome outcome, replayer_->advance());
    if (outcome.step != position_ + 1) {
      return usage_error(text_of("the replay gave step ", outcome.step, ", expected step ", position_ + 1));
    }
    ++position_;
    ++verdict_.steps_checked;
    ISOBIT_TRY(const bool agrees, compare_step(outcome));
    if (options_.progress) options_.progress(verdict_.steps_checked, planned_);
    if (!agrees) return false;
  }
  return true;
}

Expected<bool> Walk::compare_step(const StepOutcome& outcome) {
  const uint64_t t = outcome.step;
  const StepLeaf& leaf = claimed_.step(t);
  // The batch is a function of job and step alone: a difference of it belongs to exactly this step.
  if (leaf.batch != outcome.batch) {
    return differ({t, t, t, Part::kBatch, commit::hex_of(leaf.batch), commit::hex_of(outcome.batch), {}});
  }
  if (outcome.fault) return refuse(leaf, *outcome.fault);
  if (leaf.loss != outcome.loss) {
    return differ({t, agreed_ + 1, t, Part::kLoss, text_of_bits(leaf.loss), text_of_bits(outcome.loss), {}});
  }
  if (leaf.log_segment != outcome.log_segment) {
    return differ(
        {t, agreed_ + 1, t, Part::kLog, text_of_optional(leaf.log_segment), text_of_optional(outcome.log_segment), {}});
  }
  if (!leaf.state_root) return true;
  ISOBIT_TRY(const commit::Digest found, replayer_->state_root());
  if (found != *leaf.state_root) {
    return differ({t, agreed_ + 1, t, Part::kState, commit::hex_of(*leaf.state_root), commit::hex_of(found), {}});
  }
  agreed_ = t;
  return true;
}

Expected<bool> Walk::compare_final() {
  const uint64_t n = claimed_.rules().steps;
  ISOBIT_CHECK(position_ == n);
  const FinalLeaf& leaf = claimed_.final();
  ISOBIT_TRY(const commit::Digest found, replayer_->state_root());
  if (found != leaf.state_root) {
    // A state that agreed at the last step and not here was exchanged after it.
    const uint64_t first = agreed_ == n ? n : agreed_ + 1;
    return differ({n, first, n, Part::kState, commit::hex_of(leaf.state_root), commit::hex_of(found), {}});
  }
  ISOBIT_TRY(const Evaluation evaluation, replayer_->evaluate());
  if (evaluation != leaf.evaluation) {
    return differ(
        {n, n, n, Part::kEvaluation, text_of_evaluation(leaf.evaluation), text_of_evaluation(evaluation), {}});
  }
  return true;
}

void Walk::accept(bool complete, std::string_view rest) {
  verdict_.outcome = Outcome::kAccepted;
  verdict_.complete = complete;
  verdict_.reason = complete ? text_of("accepted: all ", verdict_.steps_checked, " steps and the evaluation agree")
                             : text_of("accepted as far as it was checked: ", verdict_.steps_checked, " of ",
                                       claimed_.rules().steps, " steps", rest, " agree");
}

}  // namespace isobit::verify
