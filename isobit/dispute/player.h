// A party to a dispute: answers a referee's questions from what it has computed, and signs the answers. Honest; a
// dishonest one is this one on another witness, or its answers changed before they are signed.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "isobit/commit/signature.h"
#include "isobit/dispute/message.h"
#include "isobit/dispute/question.h"
#include "isobit/dispute/scoring.h"
#include "isobit/dispute/witness.h"
#include "isobit/verify/transcript.h"

namespace isobit::dispute {

// The challenge to the interval that ends with the state `last`, one of those that the job commits to. Of the last
// state of a run whose last step commits to it, too: what the trainer hands out. kUsage where the head, one of the
// transcript's, does not cover it yet: nothing was signed that could be doubted.
Expected<Challenge> make_challenge(const verify::JobRootParts& parts, const verify::Transcript& transcript,
                                   const verify::SignedHead& head, uint64_t last, bool handed_out = false);

// That the leaves of the steps first + 1 .. last are among the first `leaves` of the transcript. REQUIRES them to be.
commit::MultiProof prove_steps(const verify::Transcript& transcript, uint64_t leaves, uint64_t first, uint64_t last);

// The challenge to the evaluation, by who has another one. Errors as above.
Expected<Challenge> make_challenge(const verify::JobRootParts& parts, const verify::Transcript& transcript,
                                   const verify::SignedHead& head, EvaluationClaim claim);

// The challenge to a receipt, by who has these outputs instead.
OutputClaims make_challenge(const std::vector<verify::ReceiptTensor>& outputs);

class Player {
 public:
  // parts: of the engaged job root. transcript: the trainer's, for the trainer alone; else null. Nothing is owned but
  // the key.
  Player(const Subject& subject, const verify::JobRootParts& parts, Party party, Witness& witness,
         const verify::Transcript* transcript, commit::SecretKey key, ThreadPool& pool)
      : subject_(subject),
        parts_(parts),
        party_(party),
        witness_(witness),
        at_(&witness),
        transcript_(transcript),
        key_(std::move(key)),
        pool_(pool),
        graph_parts_(GraphParts::of(parts)) {}

  // What the answer says; the same for the same question, whatever was asked before, so that a party that lost its
  // memory goes on with a player that never answered. One player, one game. REQUIRES a question that this party is
  // asked. kUnavailable: this machine cannot tell, or it is asked for what there is not.
  Expected<Body> answer(const Question& question);
  // ... as a message.
  Bytes sign(const Question& question, const Body& body) const;

  // Of a dishonest party: changes the states of a sum that it commits to.
  using ForgeStates = std::function<void(std::vector<judge::State>& states)>;
  void forge_states(ForgeStates forge) { forge_states_ = std::move(forge); }

 private:
  template <class T>
  static Status stay(std::optional<T>& known, T asked);
  Status go_to(const Question& q);
  Status check(const Question& q) const;
  Expected<Body> steps(const Question& q);
  Expected<Body> values(const Question& q);
  Expected<Body> tiles(const Question& q);
  Expected<Body> parts(const Question& q);
  Expected<Body> leaf(const Question& q);
  Expected<Body> node(const Question& q);
  Expected<Body> states(const Question& q);
  Expected<Body> grounds(const Question& q);
  Expected<Body> loss(const Question& q);
  Expected<Body> sample(const Question& q);
  Expected<Body> log(const Question& q);
  Expected<Body> accusation(const Question& q);
  Expected<Body> sums(const Question& q);
  Expected<Body> score(const Question& q);

  // What answers are made of, computed when first needed.
  Status prepare_roots(const Question& q);
  Status prepare_value(const Question& q);
  Status prepare_node(const Question& q);
  Status prepare_states(const Question& q);
  Status prepare_items(const Question& q);
  const Tensor& tensor(bool of_statistic, uint32_t index) const;
  judge::Bits value_of(const graph::ElementSource& source) const;

  const Subject& subject_;
  const verify::JobRootParts& parts_;
  const Party party_;
  Witness& witness_;
  Witness* at_;  // of the values that are asked for
  const verify::Transcript* transcript_;
  const commit::SecretKey key_;
  ThreadPool& pool_;
  GraphParts graph_parts_;  // what nodes lead to
  // Where the dispute came to.
  std::optional<uint64_t> sample_, step_, entry_, metric_;
  std::optional<int64_t> element_asked_;
  // Of a sample of the evaluation.
  std::optional<Scoring> scoring_;
  std::optional<Subject> scoring_subject_;
  std::optional<verify::EvaluationTree> items_;

  std::vector<commit::TensorRoot> roots_;  // of the disputed step
  std::vector<commit::Digest> digests_;    // theirs
  Tensor value_;                           // the disputed one
  std::vector<commit::Digest> tile_hashes_;
  std::optional<NodeShowing> showing_;
  std::unique_ptr<Element> element_;
  std::map<uint64_t, Tensor> of_trace_;  // operands and statistics, by entry
  std::map<uint32_t, Tensor> given_;     // operands that are no values of the trace, by input
  ForgeStates forge_states_;
  std::vector<judge::State> states_;
  std::vector<commit::Digest> state_hashes_;
};

}  // namespace isobit::dispute
