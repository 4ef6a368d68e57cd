// Who fed its step something else than the job's samples.
#include "isobit/base/text.h"
#include "isobit/dispute/claims.h"
#include "isobit/dispute/game.h"

namespace isobit::dispute {

Status Game::take_body(Party, BatchShowing body) {
  ISOBIT_TRY(batch_, batch_of(body, subject_.job, challenge_.parts, question_.step));
  return {};
}

void Game::settle_batch() {
  const uint64_t at = question_.step - question_.first_step - 1;
  const bool a = trainer().points[at].batch != batch_, b = challenger().points[at].batch != batch_;
  conclude(found_of(a, b, "its batch of the step is of other samples than the job draws"), Level::kStep);
}

Status Game::take_body(Party, SampleShowing body) {
  if (scoring_) {
    ISOBIT_TRY(fed_, scored_element(body, *scoring_, question_.entry, question_.element, challenge_.parts));
    return {};
  }
  ISOBIT_TRY(fed_, fed_element(body, schema_, question_.entry, question_.element, subject_.job, challenge_.parts,
                               question_.step));
  return {};
}

void Game::settle_sample() {
  const bool a = trainer().claim != fed_, b = challenger().claim != fed_;
  conclude(
      found_of(a, b,
               text_of("it feeds ", scoring_ ? "the evaluation" : "its step", " something else than the job's sample")),
      Level::kElement);
  verdict_->element->right = fed_;
}

}  // namespace isobit::dispute
