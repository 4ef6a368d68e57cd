// The trainer's rounding log in a dispute: which of two values that may both be right it names, and whether an entry of
// it may stand at all. The exact value judges it, by the rule that auditors have.
//
// Nobody is wrong where the exact value and the log differ and the log may: who has no log that can be read has the
// exact value. Nor is a trainer wrong by an entry that is missing under a calibrated bound, since its platform may be
// beyond that bound without having noticed; under the sound one every platform of classical sums writes it.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/dispute/game.h"
#include "isobit/judge/words.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {

using runtime::Standing;

constexpr const char* kIllegalEntry = "its log has an entry for the element that no sum of its terms allows";

// The one that the disputed step's leaf commits to.
const commit::Digest& Game::log_root() const {
  return *sides_[0].points[question_.step - question_.first_step - 1].log_segment;
}

Status Game::take_body(Party, LogShowing body) {
  const auto node = static_cast<uint32_t>(entry().node);
  ISOBIT_TRY(log_entry_, verify::shown_entry(body.entry, node, static_cast<uint64_t>(question_.element), question_.step,
                                             log_root()));
  return {};
}

void Game::settle_by_log() {
  const runtime::Ruling ruling = element_->rule_on_entry(*exact_, log_entry_ ? &*log_entry_ : nullptr);
  const judge::Bits nearest = judge::word_of(exact_->output.rounded), said = judge::word_of(ruling.value);
  const bool is_other = trainer().claim != said;
  Found found;
  if (!ruling.taken()) {
    found[0] = kIllegalEntry;
  } else if (is_other && log_entry_) {
    found[0] = "its value is another one than its own log says";
  } else if (is_other && subject_.rounding.sound) {
    found[0] =
        "its value is not what the exact one rounds to, and its log has no entry, which by the sound bound every "
        "platform writes";
  }
  if (challenger().claim != nearest && (!ruling.taken() || challenger().claim != said)) {
    found[1] = "its value is neither that of the trainer's log nor the exact one's";
  }
  if (found != Found()) {
    conclude(found, Level::kElement);
  } else {
    conclude(Outcome::kNobodyWrong, Level::kElement,
             is_other ? "the trainer's value is not what the exact one rounds to, and its log has no entry for it; "
                        "the job's bound is not one by proof, so that this convicts nobody"
                      : "the trainer's value is that of its log, and the challenger's that of the exact sum");
    if (is_other) verdict_->finding = "missing";
    if (ruling.standing == Standing::kBeyond) verdict_->finding = "beyond_bound";
  }
  verdict_->element->right = ruling.taken() && log_entry_ ? said : nearest;
}

Status Game::take_body(Party, Accusation body) {
  ISOBIT_RETURN_IF_ERROR(verify::verify_log_chunk(body.chunk, question_.step, log_root()));
  const auto* entries = std::get_if<std::vector<log::SparseEntry>>(&body.chunk.chunk.log);
  if (entries == nullptr) return rejected("the entry is of the other kind of log, of which no entry is judged alone");
  if (body.place >= entries->size()) {
    return rejected(text_of("entry ", body.place, " of a chunk that has ", entries->size()));
  }
  log_entry_ = (*entries)[body.place];
  accused_node_ = body.chunk.chunk.node;
  return {};
}

// Of an element that the step has: down to what it is made of.
void Game::begin_accusation() {
  is_accused_ = true;
  const auto found = std::ranges::find_if(schema_, [&](const train::TraceEntry& e) {
    return e.kind == train::TraceEntry::Kind::kOutput && e.place == 0 && e.node == static_cast<int64_t>(accused_node_);
  });
  if (found == schema_.end() || log_entry_->position >= static_cast<uint64_t>(verify::shape_of(*found).elements())) {
    return conclude(true, false, Level::kLog,
                    text_of("the trainer's log has an entry for element ", log_entry_->position, " of node ",
                            accused_node_, ", which there is not"));
  }
  question_.entry = static_cast<uint64_t>(found - schema_.begin());
  question_.element = static_cast<int64_t>(log_entry_->position);
  has_entry_ = true;
  ask(Kind::kNode, false, true);
}

void Game::settle_accusation() {
  if (const auto wrong = false_states(); wrong[0] || wrong[1]) {
    conclude(found_of(wrong[0], wrong[1], why_state_is_false()), Level::kSum);
    verdict_->chunk = question_.chunk;
    return;
  }
  if (!exact_) return conclude(found_of(true, true, "its state behind the last chunk is none"), Level::kSum);
  const runtime::Ruling ruling = element_->rule_on_entry(*exact_, &*log_entry_);
  has_element_ = true;
  trainer().claim = judge::word_of(ruling.value);
  challenger().claim = judge::word_of(exact_->output.rounded);
  conclude(
      ruling.taken() ? Found{"", "the entry of the trainer's log that it names may stand"} : Found{kIllegalEntry, ""},
      Level::kLog);
  verdict_->element->right = challenger().claim;
}

}  // namespace isobit::dispute
