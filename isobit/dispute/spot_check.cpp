#include "isobit/dispute/spot_check.h"

#include "isobit/base/text.h"
#include "isobit/dispute/claims.h"
#include "isobit/dispute/inference.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {

using Entry = train::TraceEntry;

SpotCheck::SpotCheck(Subject subject, Bytes seed, uint64_t draws, std::optional<uint64_t> step,
                     std::optional<commit::Digest> transcript)
    : subject_(std::move(subject)),
      draw_(std::move(seed)),
      draws_(draws),
      wanted_step_(step),
      wanted_transcript_(transcript) {
  const verify::TranscriptRules& rules = subject_.rules;
  question_.history = first_spot_history(subject_.engagement.terms);
  if (subject_.receipt) {
    question_.stage = SpotStage::kInference;
    question_.step = 1;
    leaves_.parts = parts_of(subject_);
    asked_ = encode(question_);
    return;
  }
  const uint64_t in_interval = step ? *step : 1 + draw_.below(rules.steps, question_.history);
  first_step_ = rules.committed_step_at_or_before(in_interval - 1);
  last_step_ = std::min(first_step_ + rules.commit_every, rules.steps);
  question_.step = last_step_;
  asked_ = encode(question_);
}

SpotCheck::~SpotCheck() = default;

SpotCheck::Receipt SpotCheck::receive(ByteView message) {
  const Status taken = take(message);
  return {taken.has_value(), taken ? "" : taken.error().message};
}

Status SpotCheck::take(ByteView bytes) {
  if (done_) return rejected("all is answered");
  const bool is_list = question_.stage != SpotStage::kElement && question_.stage != SpotStage::kChunk;
  const uint64_t most = max_message_bytes(is_list, subject_.engagement.terms);
  if (bytes.size() > most) return rejected(text_of("the message has ", bytes.size(), " bytes, at most ", most));
  ISOBIT_TRY(const Message message, decode_message(bytes, "message"));
  if (message.key != subject_.engagement.trainer_key) return rejected("the key is not that of the run's trainer");
  if (message.turn != question_.turn || message.history != spot_history_of(asked_)) {
    return rejected("the message answers another question");
  }
  if (!verify_message(message, subject_.engagement.terms)) return rejected("the signature is not valid");
  ISOBIT_TRY(SpotAnswer answer, decode_spot_answer(message.body, question_.stage, subject_.rules, "message"));
  ISOBIT_RETURN_IF_ERROR(std::visit([&](auto& a) { return take_answer(std::move(a)); }, answer));
  bytes_ += bytes.size();
  if (is_list) list_bytes_ += bytes.size();
  if (!is_list) checked_.back().bytes += bytes.size();
  ask(message.body);
  return {};
}

// Of what was decided already: to what the next question is, but for turn and history.
void SpotCheck::ask(ByteView last_answer) {
  question_.history = spot_history_after(asked_, last_answer);
  ++question_.turn;
  if (finding_) done_ = true;
  if (done_) return;
  const commit::Digest& history = question_.history;
  switch (question_.stage) {
    case SpotStage::kSteps:
      question_.stage = SpotStage::kValues;
      // Drawn whether or not a step is named: the draws behind it are the same (docs/formats/dispute.md).
      question_.step = first_step_ + 1 + draw_.below(last_step_ - first_step_, history);
      if (wanted_step_) question_.step = *wanted_step_;
      break;
    case SpotStage::kValues:
    case SpotStage::kInference: {
      const auto units = spot_units(schema_, subject_.receipt.has_value());
      units_ = units.size();
      if (units.empty()) {  // an inference without a node has nothing to be drawn
        done_ = true;
        return;
      }
      for (uint64_t i = 0; i < draws_; ++i) places_.push_back(draw_.place(units, schema_, history));
      question_.places = places_;
      question_.stage = SpotStage::kElement;
      break;
    }
    case SpotStage::kElement:
      question_.places.clear();
      if (!element_) {
        next_place();
      } else {
        question_.stage = SpotStage::kChunk;
        question_.chunk = draw_.below(static_cast<uint64_t>(element_->chunks()), history);
      }
      break;
    case SpotStage::kChunk:
      element_.reset();
      next_place();
      break;
  }
  asked_ = encode(question_);
}

void SpotCheck::next_place() {
  question_.stage = SpotStage::kElement;
  question_.chunk = 0;
  ++question_.at;
  done_ = question_.at == places_.size();
}

SpotFinding SpotCheck::finding_at(Level level, std::string reason) const {
  SpotFinding f;
  f.level = level;
  f.reason = std::move(reason);
  f.step = question_.step;
  if (question_.stage != SpotStage::kElement && question_.stage != SpotStage::kChunk) return f;
  const SpotPlace& place = places_[question_.at];
  const Entry& e = schema_[place.entry];
  f.entry = place.entry;
  f.value = e.name;
  f.dtype = e.dtype;
  if (e.node >= 0) f.node = static_cast<uint64_t>(e.node);
  if (element_) f.op = element_->node().node().op;
  f.element = place.element;
  f.claimed = claimed_;
  return f;
}

void SpotCheck::judge(const ElementRuling& ruling, Level level) {
  if (ruling.right) return;
  finding_ = finding_at(level, ruling.why);
  finding_->right = ruling.expected;
}

Status SpotCheck::take_answer(SpotSteps answer) {
  if (answer.leaves.evaluation) return rejected("the leaves come with an evaluation, and are asked for without one");
  ISOBIT_RETURN_IF_ERROR(check_challenge(answer.leaves, subject_));
  if (wanted_transcript_ && verify::transcript_root(answer.leaves.head.tree) != *wanted_transcript_) {
    return rejected("the states shown are of another transcript than the run's");
  }
  if (state_of(answer.leaves.before.leaf)->step != first_step_ ||
      state_of(answer.leaves.behind.leaf)->step != last_step_ || first_step_ == last_step_) {
    return rejected("the leaves shown are not those around the steps that were drawn");
  }
  ISOBIT_RETURN_IF_ERROR(check_step_list(answer.steps, first_step_, last_step_, answer.leaves, subject_));
  if (std::string problem = problem_of_beginning(answer.leaves, subject_); !problem.empty()) {
    finding_ = finding_at(Level::kRun, std::move(problem));
  }
  leaves_ = std::move(answer.leaves);
  points_ = std::move(answer.steps.points);
  return {};
}

Status SpotCheck::check_list(const verify::TraceList& list, const std::vector<Entry>& schema) const {
  if (list.step != question_.step) return rejected("the list is of another step");
  ISOBIT_RETURN_IF_ERROR(verify::verify_trace_list(list, subject_.engagement));
  if (list.signed_by->key != subject_.engagement.trainer_key) return rejected("the list is not signed by the trainer");
  if (verify::schema_root(schema) != *leaves_.parts.trace_schema) {
    return rejected(text_of("the schema is not that of the ", of_inference() ? "receipt" : "job"));
  }
  if (list.tensor_roots.size() == schema.size()) return {};
  return rejected(text_of("the list has ", list.tensor_roots.size(), " values, expected ", schema.size()));
}

Status SpotCheck::take_answer(SpotValues answer) {
  const uint64_t t = question_.step;
  const verify::TraceList& list = answer.list;
  ISOBIT_RETURN_IF_ERROR(check_list(list, answer.schema));
  const StepPoint& point = points_[t - first_step_ - 1];
  const commit::Digest before =
      t == first_step_ + 1 ? state_of(leaves_.before.leaf)->root : points_[t - first_step_ - 2].state_root;
  // What is shown must be what it says before anything is held against the trainer.
  ISOBIT_TRY(const commit::Digest batch, batch_of(answer.batch, subject_.job, leaves_.parts, t));
  ISOBIT_TRY(const LossOfValues loss, loss_of_values(answer.loss, leaves_.parts, answer.schema, list.tensor_roots));
  schema_ = std::move(answer.schema);
  roots_ = list.tensor_roots;
  if (std::string problem = problem_of_values(schema_, roots_, t, before, point.state_root); !problem.empty()) {
    finding_ = finding_at(Level::kTrace, "the trainer: " + problem);
  } else if (batch != point.batch) {
    finding_ = finding_at(Level::kStep, "the batch of the step is of other samples than the job draws");
  } else if (loss.loss != point.loss) {
    finding_ = finding_at(Level::kValue, "the step claims another loss than the one among its values");
  }
  for (uint64_t i = 0; i < schema_.size() && !finding_; ++i) {
    if (schema_[i].kind != Entry::Kind::kRate || rate_root(schema_, i, subject_.job, t) == roots_[i]) continue;
    finding_ = finding_at(Level::kValue, text_of("'", schema_[i].name, "' is another one by the job's schedule"));
  }
  return {};
}

Status SpotCheck::take_answer(SpotInference answer) {
  ISOBIT_RETURN_IF_ERROR(check_list(answer.list, answer.schema));
  const verify::Computation& of = subject_.receipt->of;
  ISOBIT_RETURN_IF_ERROR(check_inference_schema(answer.schema, of));
  schema_ = std::move(answer.schema);
  roots_ = std::move(answer.list.tensor_roots);
  std::string problem = problem_of_inference(schema_, roots_, of, InferenceClaim::of(*subject_.receipt));
  if (!problem.empty()) finding_ = finding_at(Level::kTrace, "the server: " + problem);
  return {};
}

Status SpotCheck::take_answer(SpotElement answer) {
  const SpotPlace& place = places_[question_.at];
  const Entry& e = schema_[place.entry];
  ISOBIT_TRY(const ShownTensor claimed,
             ShownTensor::open(TensorIdentity::of(e), roots_[place.entry], std::move(answer.claimed)));
  ISOBIT_TRY(claimed_, claimed.bits(place.element));
  return e.kind == Entry::Kind::kBatch ? take_fed(answer) : take_made(answer);
}

Status SpotCheck::take_fed(const SpotElement& answer) {
  if (!answer.sample || answer.node || answer.grounds || answer.states) return rejected("a sample is to be shown");
  const SpotPlace& place = places_[question_.at];
  ISOBIT_TRY(const judge::Bits fed, fed_element(*answer.sample, schema_, place.entry, place.element, subject_.job,
                                                leaves_.parts, question_.step));
  judge({claimed_ == fed, fed, "the step is fed something else than the job's sample"}, Level::kElement);
  checked_.push_back({place, "", 1, 0});
  return {};
}

Status SpotCheck::take_made(const SpotElement& answer) {
  if (!answer.node || answer.sample) return rejected("a node is to be shown");
  const SpotPlace& place = places_[question_.at];
  ISOBIT_TRY(ResolvedNode node, resolve(answer.node->node, static_cast<uint64_t>(schema_[place.entry].node),
                                        GraphParts::of(leaves_.parts), schema_));
  ISOBIT_TRY(std::unique_ptr<Element> element, Element::open(subject_, std::move(node), schema_, roots_, place.entry,
                                                             place.element, answer.node->guides));
  const bool is_long = element->chunks() > 1;
  if (answer.states.has_value() != is_long || answer.grounds.has_value() == is_long) {
    return rejected("of a long sum its states are to be shown, of anything else what it is made of");
  }
  const std::string op = element->node().node().op;
  if (is_long) {
    ISOBIT_RETURN_IF_ERROR(check_state_tree(*answer.states, static_cast<uint64_t>(element->chunks())));
    states_ = *answer.states;
    checked_.push_back({place, op, element->chunks(), 0});
    element_ = std::move(element);
    return {};
  }
  if (answer.grounds->before) return rejected("a state is shown where there is none");
  ISOBIT_TRY(const Element::Values values, element->values(0, answer.grounds->shown));
  ISOBIT_TRY(const ElementRuling ruling, element->rule(values, claimed_));
  checked_.push_back({place, op, 1, 0});
  element_ = std::move(element);
  judge(ruling, Level::kElement);
  element_.reset();
  return {};
}

Status SpotCheck::take_answer(SpotChunk answer) {
  const uint64_t chunk = question_.chunk;
  const auto number = static_cast<int64_t>(chunk);
  ISOBIT_TRY(const Element::Values values, element_->values(number, answer.grounds.shown));
  if (answer.grounds.before.has_value() != (chunk > 0)) {
    return rejected("the state before the chunk is shown where there is none, or is missing");
  }
  if (chunk > 0) {
    ISOBIT_RETURN_IF_ERROR(check_state(*answer.grounds.before, chunk - 1, answer.grounds.inclusion, states_.states));
  }
  if (answer.inclusion.index != chunk) return rejected("the state behind is that of another chunk");
  ISOBIT_RETURN_IF_ERROR(commit::verify_inclusion(answer.inclusion, commit::leaf_hash(answer.behind), states_.states));
  const judge::State before = chunk > 0 ? *answer.grounds.before : element_->begin(values);
  const auto behind = element_->partial(number, values, before);
  const auto ruling = element_->rule(values, states_.last, claimed_);
  if (!behind || state_leaf(chunk, *behind) != answer.behind) {
    // What nothing follows from is the trainer's own: it signed the trees that have it.
    finding_ =
        finding_at(Level::kSum,
                   behind ? text_of("its state of the sum behind chunk ", chunk, " is not what the chunk's terms make")
                          : text_of("nothing follows behind chunk ", chunk, ": ", behind.error().message));
    finding_->chunk = chunk;
  } else if (!ruling) {
    finding_ = finding_at(Level::kSum, "the state behind its last chunk is no state of such a sum");
  } else {
    judge(*ruling, Level::kElement);
  }
  return {};
}

}  // namespace isobit::dispute
