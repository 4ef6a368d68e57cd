// One element: the node that makes it, for a long sum the chunk at which the two sums part, and then the few values
// that decide.
#include "isobit/base/text.h"
#include "isobit/dispute/claims.h"
#include "isobit/dispute/game.h"

namespace isobit::dispute {

Status Game::take_body(Party, NodeShowing body) {
  ISOBIT_TRY(ResolvedNode node, resolve(body.node, static_cast<uint64_t>(entry().node), graph_parts_, schema_));
  ISOBIT_TRY(element_, Element::open(scoring_subject_ ? *scoring_subject_ : subject_, std::move(node), schema_,
                                     trainer().roots, question_.entry, question_.element, body.guides));
  op_ = element_->node().node().op;
  return {};
}

void Game::begin_element() {
  if (is_accused_ && !element_->is_logged()) {
    return conclude(true, false, Level::kLog,
                    text_of("the trainer's log has an entry for a node of which there are none, ", op_));
  }
  if (element_->chunks() > 1) return ask(Kind::kStates, true, true);
  question_.chunk = 0;
  ask(Kind::kGrounds, false, true);
}

Status Game::take_body(Party party, StateTree body) {
  ISOBIT_RETURN_IF_ERROR(check_state_tree(body, static_cast<uint64_t>(element_->chunks())));
  side(party).states = body.states;
  side(party).last = std::move(body.last);
  return {};
}

void Game::compare_states() {
  if (trainer().states != challenger().states) return begin_descent(true);
  question_.chunk = element_->chunks() - 1;  // they agree on the sum, and differ in what it makes
  ask(Kind::kGrounds, false, true);
}

void Game::compare_state_leaves() {
  const uint64_t chunk = question_.part.begin;
  std::array<bool, 2> malformed = {};
  for (size_t p = 0; p < 2; ++p) {
    auto state = read_state_leaf(sides_[p].leaf, chunk, "state");
    malformed[p] = !state;
    if (state) sides_[p].state = std::move(*state);
  }
  if (malformed[0] || malformed[1]) {
    return conclude(found_of(malformed[0], malformed[1],
                             text_of("what stands at the place of state ", chunk, " of its sum is no state")),
                    Level::kSum);
  }
  question_.chunk = static_cast<int64_t>(chunk);
  ask(Kind::kGrounds, false, true);
}

Status Game::take_body(Party, Grounds body) {
  ISOBIT_TRY(Element::Values values, element_->values(question_.chunk, body.shown));
  const bool parts = states_differ();
  if (body.before.has_value() != (parts && question_.chunk > 0)) {
    return rejected("the state before the chunk is shown where there is none, or is missing");
  }
  if (body.before) {
    // The challenger's tree is the trainer's up to there.
    ISOBIT_RETURN_IF_ERROR(
        check_state(*body.before, static_cast<uint64_t>(question_.chunk) - 1, body.inclusion, challenger().states));
  }
  // Whether it can be computed at all is seen before anybody is judged by it.
  if (parts) {
    const judge::State before = body.before ? std::move(*body.before) : element_->begin(values);
    ISOBIT_TRY(behind_, element_->partial(question_.chunk, values, before));
  } else if (element_->chunks() == 1) {
    ISOBIT_RETURN_IF_ERROR(element_->rule(values, trainer().claim));
  }
  // Which of two values that may both be right it is.
  if (element_->is_logged() && !parts) {
    const bool is_long = element_->chunks() > 1;
    auto exact = element_->exact(values, is_long ? &trainer().last : nullptr);
    if (exact) exact_ = std::move(*exact);
  }
  values_ = std::move(values);
  return {};
}

bool Game::states_differ() const { return element_->chunks() > 1 && sides_[0].states != sides_[1].states; }

std::array<bool, 2> Game::false_states() const {
  return {states_differ() && sides_[0].state != behind_, states_differ() && sides_[1].state != behind_};
}

std::string Game::why_state_is_false() const {
  return text_of("its state of the sum behind chunk ", question_.chunk, " is not what the chunk's terms make");
}

void Game::settle_element() {
  if (is_accused_) return settle_accusation();
  const bool is_long = element_->chunks() > 1;
  std::optional<judge::Bits> right;
  const auto [of_trainer, of_challenger] = false_states();
  Found found = found_of(of_trainer, of_challenger, why_state_is_false());
  const Level level = of_trainer || of_challenger ? Level::kSum : Level::kElement;
  for (size_t p = 0; p < 2; ++p) {
    const Side& s = sides_[p];
    const auto ruling = is_long ? element_->rule(*values_, s.last, s.claim) : element_->rule(*values_, s.claim);
    if (ruling && ruling->right) continue;
    if (ruling && !states_differ()) right = ruling->expected;
    if (found[p].empty()) found[p] = ruling ? ruling->why : "the state behind its last chunk is none";
  }
  if (found[0].empty() && found[1].empty()) {
    // Of a rounded product more than one value may be right: which of them the trainer has, its log says.
    if (!scoring_ && subject_.rules.logged && subject_.rounding.log == log::Kind::kSparse)
      return ask(Kind::kLog, true, false);
    return conclude(Outcome::kNobodyWrong, level, "both values are ones that an honest party may have");
  }
  conclude(found, level);
  verdict_->element->right = right;
  if (states_differ()) verdict_->chunk = question_.chunk;
}

}  // namespace isobit::dispute
