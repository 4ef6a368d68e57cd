// A pretended job for tests: state and results of a step are digests of the ones before, so any change shows in all
// that follows, as in training.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/signature.h"
#include "isobit/verify/auditor.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/replay.h"
#include "isobit/verify/transcript.h"

namespace isobit::verify::testing {

inline commit::Digest digest_of(const std::string& text) { return commit::sha256(as_bytes(text)); }

inline commit::SecretKey key_of(uint8_t number) {
  commit::SecretKey::Seed seed{};
  seed.fill(number);
  return commit::SecretKey::from_seed(seed);
}

// What is wrong with a run, seen from the honest one.
struct Cheat {
  uint64_t swapped_batch_at = 0;  // the step whose batch is another one
  uint64_t wrong_loss_at = 0;     // a loss that was not computed
  uint64_t wrong_state_at = 0;    // the state after this step is another one, and all that follows
  bool wrong_start = false;
  bool wrong_evaluation = false;
  bool replaced_at_end = false;  // other weights in the final leaf
};

class FakeReplayer : public Replayer {
 public:
  FakeReplayer(TranscriptRules rules, Cheat cheat = {}) : rules_(rules), cheat_(cheat) {
    state_ = digest_of(cheat.wrong_start ? "other start" : "start");
  }

  Expected<commit::Digest> state_root() override { return state_; }

  Expected<StepOutcome> advance() override {
    ++step_;
    StepOutcome outcome;
    outcome.step = step_;
    outcome.batch = digest_of(text_of(cheat_.swapped_batch_at == step_ ? "swapped " : "batch ", step_));
    ByteWriter writer;
    writer.fixed(state_);
    writer.fixed(outcome.batch);
    const commit::Digest mixed = commit::sha256(writer.view());
    const uint32_t bits = mixed[0] | mixed[1] << 8 | mixed[2] << 16 | 0x3f000000u;
    outcome.loss = {rules_.loss_dtype, bits};
    if (cheat_.wrong_loss_at == step_) outcome.loss.bits ^= 1;
    if (rules_.logged) outcome.log_segment = commit::sha256(mixed);
    state_ = mixed;
    if (cheat_.wrong_state_at == step_) state_[7] ^= 0x10;
    return outcome;
  }

  Expected<Evaluation> evaluate() override {
    train::SampleScores e{{"loss", "top1", "top5"}, {}};
    for (int sample = 0; sample < 5; ++sample) {
      e.sums.push_back({numerics::ExactTotal::of(0.125f * state_[0]), 1});
      e.sums.push_back({numerics::ExactTotal::of(sample % 2 == 0 || cheat_.wrong_evaluation ? 1 : 0), 1});
      e.sums.push_back({numerics::ExactTotal::of(1), 1});
    }
    return EvaluationTree(e).evaluation();
  }

  uint64_t step() const { return step_; }

 private:
  TranscriptRules rules_;
  Cheat cheat_;
  commit::Digest state_{};
  uint64_t step_ = 0;
};

inline commit::Digest fake_job_root() { return digest_of("job"); }
inline TranscriptRules fake_rules(uint64_t every) { return {25, every, DType::kFloat32, false}; }
inline AuditOptions fake_options(const TranscriptRules& rules) {
  AuditOptions options;
  options.rules = rules;
  options.job_root = fake_job_root();
  options.batch = [](uint64_t step) -> Expected<commit::Digest> { return digest_of(text_of("batch ", step)); };
  return options;
}

// The leaves of a run, as a trainer makes them.
inline std::vector<Leaf> fake_leaves(const TranscriptRules& rules, const Cheat& cheat = {}) {
  FakeReplayer run(rules, cheat);
  std::vector<Leaf> leaves{InitialLeaf{fake_job_root(), *run.state_root()}};
  for (uint64_t t = 1; t <= rules.steps; ++t) {
    const StepOutcome o = *run.advance();
    StepLeaf leaf{t, o.batch, o.loss, o.log_segment, std::nullopt};
    if (rules.has_state(t)) leaf.state_root = *run.state_root();
    leaves.push_back(leaf);
  }
  FinalLeaf final{rules.steps, *run.state_root(), *run.evaluate()};
  if (cheat.replaced_at_end) final.state_root[0] ^= 1;
  leaves.push_back(final);
  return leaves;
}

inline Transcript fake_transcript(const TranscriptRules& rules, const Cheat& cheat = {}) {
  Transcript transcript(rules);
  for (const Leaf& leaf : fake_leaves(rules, cheat)) ISOBIT_CHECK(transcript.append(leaf).has_value());
  return transcript;
}

inline constexpr uint8_t kClient = 1;
inline constexpr uint8_t kTrainer = 2;

inline Engagement fake_engagement(uint8_t client = kClient, uint8_t trainer = kTrainer) {
  EngagementTerms terms;
  terms.job_root = fake_job_root();
  terms.run_id.fill(9);
  terms.trainer_keys = {key_of(trainer).public_key()};
  return *make_engagement(terms, key_of(client), key_of(trainer));
}

// Checkpoints of the fake run at the given steps.
class FakeSource : public ReplayerSource {
 public:
  FakeSource(TranscriptRules rules, std::vector<uint64_t> starts, Cheat cheat = {})
      : rules_(rules), starts_(std::move(starts)), cheat_(cheat) {}
  std::vector<uint64_t> starts() const override { return starts_; }
  Expected<std::unique_ptr<Replayer>> open(uint64_t step) override {
    opened_.push_back(step);
    auto replayer = std::make_unique<FakeReplayer>(rules_, cheat_);
    while (replayer->step() < step) ISOBIT_CHECK(replayer->advance().has_value());
    return std::unique_ptr<Replayer>(std::move(replayer));
  }
  const std::vector<uint64_t>& opened() const { return opened_; }

 private:
  TranscriptRules rules_;
  std::vector<uint64_t> starts_;
  Cheat cheat_;
  std::vector<uint64_t> opened_;
};

}  // namespace isobit::verify::testing
