// The evaluation that the last leaf commits to, where both have the last state: down the tree of its sums to the sample
// in which they differ, whose values are those of one more trace; where they agree on these, to the score.
#include <algorithm>
#include <bit>

#include "isobit/base/text.h"
#include "isobit/dispute/claims.h"
#include "isobit/dispute/game.h"

namespace isobit::dispute {

void Game::begin_evaluation() {
  trainer().evaluation = std::get<verify::FinalLeaf>(challenge_.behind.leaf).evaluation;
  challenger().evaluation = challenge_.evaluation->evaluation;
  if (trainer().evaluation == challenger().evaluation) {
    return conclude(false, true, Level::kRun, "the challenger has the same evaluation as the trainer");
  }
  Found problems;
  for (size_t p = 0; p < 2; ++p) {
    problems[p] = problem_of_evaluation(sides_[p].evaluation, subject_.job, samples_.count);
  }
  if (problems != Found()) return conclude(problems, Level::kRun);
  scoring_subject_.emplace(scoring_subject(subject_));
  question_.part = {0, samples_.count};
  ask(Kind::kSums, true, true);
}

Status Game::take_body(Party party, SumsShowing body) {
  Side& s = side(party);
  const size_t metrics = question_.of_items ? 1 : s.evaluation.metrics.size();
  ISOBIT_TRY(s.claimed_sums, claimed_sums(question_.part, body, metrics));
  s.sums = std::move(body);
  return {};
}

// What is shown must lead to what the party stands by: the tree and the totals of its evaluation, of a single sample's
// values its score, else the node above that it showed before. Why it does not, or does not add up; "" where it does.
std::string Game::problem_of_sums(const Side& s) const {
  const bool of_items = question_.of_items;
  const bool whole = question_.part == Subtree{0, of_items ? items_ : samples_.count};
  const verify::EvaluationNode& top = s.claimed_sums.top;
  if (!whole && top != s.going_down_sums) return "the sums that it shows are not those of the node that it stands by";
  if (whole && of_items && top.sums[0] != s.scores[question_.metric]) {
    return "the values that it shows do not add up to its score of the sample";
  }
  if (whole && !of_items) {
    std::vector<std::string> names;
    std::vector<train::MetricSum> totals;
    for (const train::Metric& m : s.evaluation.metrics) {
      names.push_back(m.name);
      totals.push_back(m.total);
    }
    if (verify::tree_digest(samples_.count, names, top) != s.evaluation.tree) {
      return "the sums that it shows are not those of the tree that its evaluation is of";
    }
    if (top.sums != totals) return "its totals are not the sums of the tree over its samples";
  }
  if (!s.claimed_sums.false_sum) return "";
  const Subtree& at = *s.claimed_sums.false_sum;
  return text_of("its sums of the ", of_items ? "values " : "samples ", at.begin, " to ", at.begin + at.size - 1,
                 " are not what is below them");
}

void Game::compare_sums() {
  const bool of_items = question_.of_items;
  const Found problems = {problem_of_sums(trainer()), problem_of_sums(challenger())};
  if (problems != Found()) return conclude(problems, Level::kSum);
  const auto differ = std::ranges::mismatch(trainer().sums.parts, challenger().sums.parts).in1;
  ISOBIT_CHECK(differ != trainer().sums.parts.end());  // both add up, to what differs
  const auto at = static_cast<size_t>(differ - trainer().sums.parts.begin());
  question_.part = parts_of(question_.part)[at];
  for (Side& s : sides_) s.going_down_sums = s.sums.parts[at];
  if (question_.part.size > 1) return ask(Kind::kSums, true, true);
  for (Side& s : sides_) s.scores = s.going_down_sums.sums;
  if (of_items) {
    question_.element = static_cast<int64_t>(question_.part.begin);
    return ask(Kind::kScore, false, true);
  }
  question_.of_evaluation = true;
  question_.sample = question_.part.begin;
  ask(Kind::kGraph, false, true);
}

Status Game::take_body(Party, GraphShowing body) {
  ISOBIT_TRY(Scoring scoring,
             scoring_of(body, subject_, challenge_.parts, challenge_.evaluation->graphs,
                        std::get<verify::FinalLeaf>(challenge_.behind.leaf).state_root, question_.sample));
  schema_ = scoring.schema;
  graph_parts_ = scoring.parts;
  scoring_.emplace(std::move(scoring));
  return {};
}

// A sample has as many values of a metric as the graph gives it.
void Game::begin_scoring() {
  const auto& metrics = trainer().evaluation.metrics;
  for (uint64_t m = 0; m < metrics.size(); ++m) {
    const auto items = static_cast<uint64_t>(scoring_->items(subject_.job, m));
    const bool a = trainer().scores[m].count != items, b = challenger().scores[m].count != items;
    if (!a && !b) continue;
    metric_ = metrics[m].name;
    return conclude(found_of(a, b,
                             text_of("its score of the sample counts another number of values than the ", items,
                                     " that there are")),
                    Level::kSum);
  }
  ask(Kind::kValues, true, true);
}

// Both have the same values of the sample, and other scores.
void Game::begin_score() {
  const auto found = std::ranges::mismatch(trainer().scores, challenger().scores).in1;
  ISOBIT_CHECK(found != trainer().scores.end());
  question_.metric = static_cast<uint64_t>(found - trainer().scores.begin());
  metric_ = trainer().evaluation.metrics[question_.metric].name;
  items_ = static_cast<uint64_t>(scoring_->items(subject_.job, question_.metric));
  if (items_ == 1) {
    for (Side& s : sides_) s.scores = {s.scores[question_.metric]};
    question_.element = 0;
    return ask(Kind::kScore, false, true);
  }
  question_.of_items = true;
  question_.part = {0, items_};
  ask(Kind::kSums, true, true);
}

Status Game::take_body(Party, ScoreShowing body) {
  ISOBIT_TRY(score_, shown_score(body, *scoring_, subject_.job, trainer().roots, question_.metric, question_.element));
  return {};
}

// The value that is added: its bits, as those of an element of the losses where it is one.
void Game::settle_score() {
  const bool a = trainer().scores[0] != score_, b = challenger().scores[0] != score_;
  const train::ItemParts parts = scoring_->parts_of(subject_.job, question_.metric, question_.element);
  const bool is_loss = parts.losses.count > 0;
  question_.entry = is_loss ? scoring_->losses : scoring_->output;
  question_.element = is_loss ? parts.losses.first : parts.output.first;
  has_entry_ = has_element_ = true;
  if (entry().node >= 0) op_ = scoring_->ops[static_cast<size_t>(entry().node)];
  const auto bits = [](const train::MetricSum& s) -> judge::Bits { return std::bit_cast<uint32_t>(s.sum.quotient(1)); };
  trainer().claim = bits(trainer().scores[0]);
  challenger().claim = bits(challenger().scores[0]);
  conclude(found_of(a, b, "it scores something else for the sample than its values make"), Level::kElement);
  verdict_->element->right = bits(score_);
}

}  // namespace isobit::dispute
