#include "isobit/verify/transcript.h"

#include "isobit/base/text.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kTranscriptTag = "isobit.transcript";
constexpr uint32_t kTranscriptVersion = 1;

std::string expected_at(uint64_t index, const TranscriptRules& rules) {
  if (index == 0) return "the initial leaf";
  if (index <= rules.steps) return text_of("the leaf of step ", index);
  if (index == rules.steps + 1) return "the final leaf";
  return "no leaf after the final one";
}

bool fits_loss(const LossBits& loss, const TranscriptRules& rules) {
  return loss.dtype == rules.loss_dtype && (loss.dtype == DType::kFloat64 || loss.bits >> 32 == 0);
}

bool has_place(const Leaf& leaf, uint64_t index, const TranscriptRules& rules) {
  if (index == 0) return std::holds_alternative<InitialLeaf>(leaf);
  if (index <= rules.steps) {
    const auto* step = std::get_if<StepLeaf>(&leaf);
    return step != nullptr && step->step == index;
  }
  const auto* final = std::get_if<FinalLeaf>(&leaf);
  return index == rules.steps + 1 && final != nullptr && final->steps == rules.steps;
}

// What is wrong with the fields of a leaf in its place; empty when nothing is.
std::string field_problem(const Leaf& leaf, const TranscriptRules& rules) {
  if (const auto* step = std::get_if<StepLeaf>(&leaf)) {
    if (!fits_loss(step->loss, rules)) return text_of("the loss is not a ", name_of(rules.loss_dtype));
    if (step->log_segment.has_value() != rules.logged) {
      return rules.logged ? "lacks its log segment" : "has a log segment, and the job keeps no log";
    }
    if (step->state_root.has_value() != rules.has_state(step->step)) {
      return text_of(step->state_root ? "has" : "lacks", " a state root, and the job commits to the state every ",
                     rules.commit_every, " steps");
    }
  } else if (const auto* final = std::get_if<FinalLeaf>(&leaf)) {
    return metrics_problem(final->evaluation.metrics);
  }
  return {};
}

}  // namespace

Status TranscriptRules::check(std::string_view what) const {
  if (steps > kMaxSteps) {
    return unreadable(text_of(what, ": field 'steps': found ", steps, ", expected at most ", kMaxSteps));
  }
  if (commit_every == 0) return unreadable(text_of(what, ": field 'commit_every': found 0, expected at least 1"));
  if (loss_dtype != DType::kFloat32 && loss_dtype != DType::kFloat64) {
    return unreadable(text_of(what, ": field 'loss_dtype': found ", static_cast<uint8_t>(loss_dtype),
                              ", expected float32 or float64"));
  }
  return {};
}

Transcript::Transcript(TranscriptRules rules) : rules_(rules) { ISOBIT_CHECK(rules_.check("rules").has_value()); }

Status Transcript::fits(const Leaf& leaf, uint64_t index) const {
  if (!has_place(leaf, index, rules_)) {
    return rejected(
        text_of("transcript: leaf ", index, ": found ", describe(leaf), ", expected ", expected_at(index, rules_)));
  }
  const std::string problem = field_problem(leaf, rules_);
  if (!problem.empty()) return rejected(text_of("transcript: ", describe(leaf), ": ", problem));
  return {};
}

Status Transcript::append(const Leaf& leaf) {
  ISOBIT_RETURN_IF_ERROR(fits(leaf, size()));
  const commit::Digest hash = commit::leaf_hash(encode(leaf));
  leaves_.push_back(leaf);
  hashes_.push_back(hash);
  tree_.append(hash);
  return {};
}

uint64_t Transcript::steps() const {
  if (leaves_.empty()) return 0;
  return complete() ? rules_.steps : leaves_.size() - 1;
}

std::optional<commit::Digest> Transcript::committed_state(uint64_t step) const {
  if (leaves_.empty() || step > steps()) return std::nullopt;
  if (step == 0) return initial().state_root;
  const auto& root = this->step(step).state_root;
  if (!root && step == rules_.steps && complete()) return final().state_root;
  return root;
}

commit::SizedRoot Transcript::sized_root(uint64_t size) const {
  ISOBIT_CHECK(size <= this->size());
  if (size == this->size()) return sized_root();
  return {size, commit::merkle_root(std::span(hashes_).first(size))};
}

commit::Digest transcript_root(const commit::SizedRoot& tree) {
  return tree.commitment(kTranscriptTag, kTranscriptVersion);
}

commit::Digest Transcript::transcript_root() const { return verify::transcript_root(sized_root()); }

}  // namespace isobit::verify
