// Who answers a spot check: the trainer, from what it computes again. The step is computed once for the list of its
// values, and once for all that is drawn (once more where indices or conditions say where elements are from); of the
// values nothing is kept but the tiles that are shown.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "isobit/commit/signature.h"
#include "isobit/dispute/kept_tiles.h"
#include "isobit/dispute/spot_message.h"
#include "isobit/dispute/witness.h"
#include "isobit/verify/head.h"
#include "isobit/verify/transcript.h"

namespace isobit::dispute {

class SpotTrainer {
 public:
  // What was signed of a run; the head is one that covers the transcript.
  struct SignedRun {
    const verify::Transcript& transcript;
    verify::SignedHead head;
  };
  // Nothing is owned but the key and the head. run: none of an inference, whose server answers.
  SpotTrainer(const Subject& subject, const verify::JobRootParts& parts, Witness& witness, std::optional<SignedRun> run,
              commit::SecretKey key, ThreadPool& pool);
  ~SpotTrainer();

  // The message that answers. Of one check: each question must follow from the answers before it, so that nobody has
  // more computed, or shown, than one draw. kUnreadable for what is no question, kUsage for one that nobody with this
  // job asks, or not then, kUnavailable: this machine cannot tell.
  Expected<Bytes> answer(ByteView question);

  // Of a dishonest trainer: changes the states of a sum that it commits to.
  using ForgeStates = std::function<void(std::vector<judge::State>& states)>;
  void forge_states(ForgeStates forge) { forge_states_ = std::move(forge); }

 private:
  struct Place;
  Expected<SpotAnswer> steps(const SpotQuestion& q);
  Expected<SpotAnswer> values(const SpotQuestion& q);
  Expected<SpotAnswer> element(const SpotQuestion& q);
  Expected<SpotAnswer> chunk(const SpotQuestion& q);
  Expected<SpotAnswer> inference(const SpotQuestion& q);
  // Of all values of the step, each of which `see` is shown.
  Expected<std::vector<commit::Digest>> all_roots(uint64_t step, const Witness::See& see);
  void stand_by(uint64_t step, std::vector<commit::Digest> roots);

  Status check(const SpotQuestion& q) const;
  Status check_turn(const SpotQuestion& q) const;
  Status prepare(const SpotQuestion& q);
  Expected<std::vector<ResolvedNode>> find_guides(const SpotQuestion& q);
  Expected<bool> find_guides_of(Place& place, const ResolvedNode& node, std::set<uint64_t>& missing);
  const Tensor* operand_at_hand(const Operand& operand, std::set<uint64_t>& missing);
  Status open_elements(const SpotQuestion& q, std::vector<ResolvedNode> nodes);
  Status collect(const SpotQuestion& q);
  Status add_up(Place& place);
  const KeptTiles& kept(const Place& place, bool of_statistic, uint32_t index) const;
  std::vector<ShownPart> shown(const Place& place, int64_t chunk) const;

  const Subject& subject_;
  const verify::JobRootParts& parts_;
  Witness& witness_;
  const std::optional<SignedRun> run_;
  const commit::SecretKey key_;
  ThreadPool& pool_;
  ForgeStates forge_states_;

  std::optional<SpotQuestion> last_;  // that was answered
  commit::Digest history_;            // which the next question has

  uint64_t step_ = 0;  // of the roots
  std::vector<commit::Digest> roots_;
  bool is_prepared_ = false;  // the rest is for what was drawn
  std::vector<Place> places_;
  std::map<uint64_t, Tensor> guides_;          // values that say where, by entry
  std::map<std::string, Tensor> given_;        // operands that are no values of the step, by name
  std::map<uint64_t, KeptTiles> of_trace_;     // by entry
  std::map<std::string, KeptTiles> of_given_;  // by name
};

}  // namespace isobit::dispute
