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
};

inline constexpr std::string_view kNoTile = "no tile";
// The leaves of the tree that this party commits to, where it has something in it that is no tile.
std::vector<commit::Digest> leaves_with_no_tile(Material& material, const Lie& lie, uint64_t entry);

Lie make_lie(LieKind kind, Material& material, Random& random);

// One element of a value of a step is another one, and of the state after it, so that the lie is found there. Of a long
// sum with the state behind its last chunk false.
Lie lie_about(Material& material, uint64_t step, uint64_t entry, int64_t element);

// The transcript of a trainer who lies so.
verify::Transcript claimed_transcript(const Material& material, const Lie& lie);

// The last step of the first interval between committed states in which one of these lies shows, or in which honest
// parties differ; the job's where neither does.
uint64_t doubted_step(const Material& material, std::initializer_list<const Lie*> lies);
// The challenge to the interval that ends there, under the head over so many leaves.
dispute::Challenge challenge_to(const Material& material, const verify::Transcript& claimed, uint64_t last,
                                uint64_t leaves);

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

 private:
  const Lie& lie_;
  const Lie& of_trainer_;
};

}  // namespace isobit::adversary::simulator
