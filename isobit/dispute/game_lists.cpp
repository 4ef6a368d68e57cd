// From the challenge to one value: which step, and which value of it, in the order in which a step makes them.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/dispute/claims.h"
#include "isobit/dispute/game.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {

using Entry = train::TraceEntry;

Status Game::take_body(Party, Challenge body) {
  ISOBIT_RETURN_IF_ERROR(check_challenge(body, subject_));
  if (body.evaluation) {
    ISOBIT_TRY(samples_, scored_samples(subject_.job, body.parts, body.evaluation->graphs));
  }
  challenge_ = std::move(body);
  graph_parts_ = GraphParts::of(challenge_.parts);
  return {};
}

void Game::compare_runs() {
  const CommittedState before = *state_of(challenge_.before.leaf), behind = *state_of(challenge_.behind.leaf);
  if (std::string problem = problem_of_beginning(challenge_, subject_); !problem.empty()) {
    return conclude(true, false, Level::kRun, std::move(problem));
  }
  if (challenge_.evaluation && (before.step != behind.step || before.root == behind.root)) return begin_evaluation();
  if (before.step == behind.step) {
    const bool same = before.root == behind.root;
    return conclude(!same, same, Level::kRun,
                    same ? "the state that the trainer hands out is that after its last step"
                         : "the state that the trainer hands out is not that after its last step");
  }
  question_.first_step = before.step;
  question_.last_step = behind.step;
  question_.leaves = challenge_.head.tree.size;
  ask(Kind::kSteps, true, true);
}

Status Game::take_body(Party party, StepList body) {
  const uint64_t first = question_.first_step, last = question_.last_step;
  if (body.in_transcript.has_value() != (party == Party::kTrainer)) {
    return rejected("the trainer's list, and no other, is shown in its transcript");
  }
  if (party == Party::kTrainer) {
    ISOBIT_RETURN_IF_ERROR(check_step_list(body, first, last, challenge_, subject_));
  } else if (body.points.size() != last - first) {
    return rejected(text_of("found ", body.points.size(), " steps, expected ", last - first));
  }
  side(party).points = std::move(body.points);
  return {};
}

// Of an inference there is nothing to go through but its values.
Status Game::take_body(Party party, OutputClaims body) {
  const size_t expected = subject_.receipt->outputs.size();
  if (body.roots.size() != expected) {
    return rejected(text_of("found ", body.roots.size(), " outputs, expected ", expected));
  }
  side(party).outputs.outputs = std::move(body.roots);
  return {};
}

void Game::begin_inference() {
  question_.step = 1;
  ask(Kind::kValues, true, true);
}

// The log is the trainer's, and both compute by it: a challenger that names another one says that some entry of it may
// not stand.
void Game::compare_steps() {
  const auto& points = trainer().points;
  const auto found = std::ranges::mismatch(points, challenger().points).in1;
  if (found == points.end()) {
    return conclude(false, true, Level::kStep, "the challenger has the same steps as the trainer");
  }
  const auto at = static_cast<uint64_t>(found - points.begin());
  question_.step = question_.first_step + 1 + at;
  if (points[at].batch != challenger().points[at].batch) return ask(Kind::kBatch, false, true);
  state_before_ = at == 0 ? state_of(challenge_.before.leaf)->root : points[at - 1].state_root;
  ask(Kind::kValues, true, true);
}

Status Game::take_body(Party party, ValueList body) {
  // That of an evaluation follows from the graph.
  if (body.schema.has_value() != (party == Party::kChallenger && !scoring_)) {
    return rejected("the challenger's list of a step, and no other, comes with the schema");
  }
  if (body.schema && verify::schema_root(*body.schema) != *challenge_.parts.trace_schema) {
    return rejected("the schema is not the job's");
  }
  if (body.schema && subject_.receipt) {
    ISOBIT_RETURN_IF_ERROR(check_inference_schema(*body.schema, subject_.receipt->of));
  }
  if (body.schema) schema_ = std::move(*body.schema);
  side(party).roots = std::move(body.roots);
  return {};
}

// Why a list is none of a step from the agreed state to the state that its party claims; "" where it may be one.
std::string Game::problem_of_list(const Side& side) const {
  if (subject_.receipt) return problem_of_inference(schema_, side.roots, subject_.receipt->of, side.outputs);
  if (scoring_) {
    const size_t found = side.roots.size(), expected = schema_.size();
    return found == expected ? "" : text_of("its list has ", found, " values, expected ", expected);
  }
  const uint64_t t = question_.step;
  return problem_of_values(schema_, side.roots, t, state_before_, side.points[t - question_.first_step - 1].state_root);
}

void Game::compare_values() {
  const Found problems = {problem_of_list(trainer()), problem_of_list(challenger())};
  if (problems != Found()) return conclude(problems, Level::kTrace);
  const auto found = std::ranges::mismatch(trainer().roots, challenger().roots).in1;
  if (found == trainer().roots.end()) {
    if (subject_.receipt) {
      return conclude(false, true, Level::kTrace, "the challenger has the same values as the trainer");
    }
    if (scoring_) return begin_score();
    // The steps differ, their batches, states and values do not.
    const uint64_t at = question_.step - question_.first_step - 1;
    const bool loss = trainer().points[at].loss != challenger().points[at].loss;
    return ask(loss ? Kind::kLoss : Kind::kEntry, false, true);
  }
  question_.entry = static_cast<uint64_t>(found - trainer().roots.begin());
  has_entry_ = true;
  if (entry().kind == Entry::Kind::kRate) return settle_rate();
  ask(Kind::kTiles, true, true);
}

void Game::settle_rate() {
  const uint64_t i = question_.entry;
  const commit::Digest root = rate_root(schema_, i, subject_.job, question_.step);
  conclude(found_of(trainer().roots[i] != root, challenger().roots[i] != root,
                    text_of("its '", entry().name, "' is another one than by the job's schedule")),
           Level::kValue);
}

Status Game::take_body(Party, LossShowing body) {
  ISOBIT_TRY(const LossOfValues found, loss_of_values(body, challenge_.parts, schema_, trainer().roots));
  question_.entry = found.entry;
  op_ = body.producer.node.op;
  loss_ = found.loss;
  return {};
}

void Game::settle_loss() {
  has_entry_ = true;
  const uint64_t at = question_.step - question_.first_step - 1;
  const bool a = trainer().points[at].loss != loss_, b = challenger().points[at].loss != loss_;
  conclude(found_of(a, b, "it claims another loss than the one among the step's values"), Level::kValue);
}

}  // namespace isobit::dispute
