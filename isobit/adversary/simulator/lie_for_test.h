// What a dishonest party claims: the honest run with something changed, such that the claims hold together as far as
// they can.
#pragma once

#include "isobit/adversary/passing_witness_for_test.h"
#include "isobit/adversary/simulator/material_for_test.h"

namespace isobit::adversary::simulator {

enum class LieKind : uint8_t {
  kNone,        // honest
  kFalseAlarm,  // a challenger who has what the trainer has
  kState,       // one element of the state after a step
  kValues,      // that, and elements of some more values, of whatever kind
  kFed,         // that, and an element of what the step is fed
  kRate,        // that, and a learning rate
  kSum,         // that, and an element of a long sum, with false states of the sum
  kTree,        // that, and a value whose tree is not that of a tensor of its shape
  kTile,        // that, and a value in whose tree something stands that is no tile
  kList,        // a list of values that does not begin or end where it must, or is too short
  kLoss,        // the loss of a step
  kBatch,       // the samples of a step
  kLog,         // of a trainer: an entry of a step's log that may not stand; of a challenger: that there is one
  kScores,      // the evaluation: scores of samples, how many values one has, or the totals
  kInference,   // a score, and elements of values of that sample's inference
};
// As scenarios and schedules have it: "honest", "false-alarm", "state", ...
const char* name_of(LieKind kind);
std::optional<LieKind> lie_kind(std::string_view name);

struct Lie {
  LieKind kind = LieKind::kNone;
  uint64_t step = 0;
  std::map<uint64_t, Tensor> values;              // of this step
  std::map<uint64_t, commit::TensorRoot> roots;   // likewise
  std::map<uint64_t, uint64_t> no_tile;           // by entry, the tile in whose place kNoTile stands
  bool drops_value = false;                       // the last one is missing
  std::map<uint64_t, dispute::StepPoint> points;  // by step
  dispute::Player::ForgeStates forge;
  std::optional<verify::LogTree> log;  // of a trainer, of this step, with
  std::optional<runtime::EntryPlace> forged_entry;
  std::optional<runtime::EntryPlace> accused;  // by a challenger: an entry that may stand
  // Of the evaluation: what it is said to come to, the tree that is shown for it, and values of a sample's inference.
  std::optional<verify::Evaluation> evaluation;
  std::optional<verify::EvaluationTree> tree;
  uint64_t sample = 0;
  std::map<uint64_t, Tensor> scored_values;
  std::map<uint64_t, commit::TensorRoot> scored_roots;

  bool is_of_steps() const { return !points.empty(); }
};

inline constexpr std::string_view kNoTile = "no tile";
// The leaves of the tree that this party commits to, where it has something in it that is no tile.
std::vector<commit::Digest> leaves_with_no_tile(Material& material, const Lie& lie, uint64_t entry);

Lie make_lie(LieKind kind, Material& material, Random& random);

// One element of a value of a step is another one, and of the state after it, so that the lie is found there. Of a long
// sum with the state behind its last chunk false.
Lie lie_about(Material& material, uint64_t step, uint64_t entry, int64_t element);
// The first value of a metric of a sample's scores is another one, and of the sample's inference an element of a value.
Lie lie_about_sample(Material& material, uint64_t sample, size_t metric,
                     std::optional<std::pair<uint64_t, int64_t>> element);

// The transcript of a trainer who lies so.
verify::Transcript claimed_transcript(const Material& material, const Lie& lie);

// What a challenger doubts who lies so or not, where the trainer lies so or not: the first interval between committed
// states in which one of these lies shows, or in which honest parties differ; where there is none the evaluation, if
// they differ in that; else the last interval.
struct Doubt {
  uint64_t last = 0;          // step of the interval
  uint64_t least_leaves = 0;  // under the head that is shown
  bool of_evaluation = false;
};
Doubt doubt_of(const Material& material, const Lie& trainer, const Lie& challenger);
// The challenge to that, under the head over so many leaves.
dispute::Challenge challenge_to(Material& material, const verify::Transcript& claimed, const Doubt& doubt,
                                const Lie& challenger, uint64_t leaves);

class LyingWitness final : public adversary::testing::PassingWitness {
 public:
  // of_trainer: whose log a challenger has before it.
  LyingWitness(dispute::Witness& honest, const Lie& lie, const Lie& of_trainer)
      : PassingWitness(honest), lie_(lie), of_trainer_(of_trainer) {}
  Expected<std::vector<dispute::StepPoint>> points(uint64_t first, uint64_t last) override;
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override;
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override;
  Expected<verify::LogTree> log(uint64_t step) override;
  Expected<std::optional<runtime::EntryPlace>> illegal_entry(uint64_t step) override;
  Expected<const verify::EvaluationTree*> evaluation() override;
  Expected<dispute::Witness*> scored(uint64_t sample) override;

 private:
  class Scored;
  const Lie& lie_;
  const Lie& of_trainer_;
  std::shared_ptr<Scored> scored_;
};

}  // namespace isobit::adversary::simulator
