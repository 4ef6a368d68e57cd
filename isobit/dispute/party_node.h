// A party to a dispute on a network: answers the questions of its referee, each once and for good. What it answered is
// saved before it is sent, so that a question that comes again, also after a crash, gets the same bytes: whatever the
// network and the machine do, an honest party never signs two answers to one question. A state machine: messages, the
// time and saved bytes come in, messages and bytes to save go out.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "isobit/commit/signature.h"
#include "isobit/dispute/link.h"

namespace isobit::dispute {

// Why a party does not answer, in the order in which that is looked for.
enum class Ignored : uint8_t {
  kMalformed,   // neither a question nor the end of a game
  kOtherGame,   // of another challenger
  kNotReferee,  // not signed by the engaged referee, or its history is not that of what was said
  kOver,        // after the end
  kOld,         // of a turn before the last that was answered
  kOther,       // of what was said before it other answers of this party's than it gave; or a second question of a turn
  kNotAsked,    // asked of the other party
  kCannot,      // the answer could not be computed; asked again, it is tried again
  kNotSaved     // the answer could not be saved, and so is not given; likewise
};
inline constexpr size_t kIgnored = 9;
const char* name_of(Ignored why);

class PartyNode {
 public:
  // Of a question of its game; the challenger's gives the challenge, too (Kind::kChallenge).
  using Answer = std::function<Expected<Body>(const Question& question)>;
  // Keeps these bytes behind those kept before, for good before it returns; on an error nothing of them.
  using Save = std::function<Status(ByteView more)>;
  struct Role {
    Party party = Party::kTrainer;
    commit::PublicKey challenger;  // whose game it is
    commit::SecretKey key;         // signs the answers
  };

  // saved: all that was kept of this game, in order; nothing at its beginning. restarted: the party lost its memory,
  // and says so to the referee with the first question that it has no answer to. Nothing is owned but the functions and
  // the key. kUnreadable: the saved bytes are not such; an incomplete end, as a kill or a power cut leaves it, is none:
  // cut the file to whole() bytes before more is kept.
  static Expected<PartyNode> open(const verify::EngagementTerms& terms, Role role, Answer answer, Save save,
                                  ByteView saved, bool restarted);

  // What is to be sent to the referee.
  std::vector<Bytes> receive(ByteView message, uint64_t now);
  // Who has heard nothing for `silence` seconds says its last answer again.
  std::vector<Bytes> tick(uint64_t now, uint64_t silence);

  const std::optional<Closing>& closing() const { return closing_; }
  uint64_t whole() const { return whole_; }
  struct Counts {
    uint64_t answered = 0, repeated = 0;
    std::array<uint64_t, kIgnored> ignored{};
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Given {
    Question question;
    Bytes message;
    commit::Digest body{};
  };
  PartyNode(const verify::EngagementTerms& terms, Role role, Answer answer, Save save)
      : terms_(terms), role_(std::move(role)), answer_(std::move(answer)), save_(std::move(save)) {}
  Status restore(ByteView saved);
  Expected<Given> read_given(ByteView entry) const;
  std::vector<Bytes> ignore(Ignored why);
  bool knows(const std::vector<Referee::Said>& said, size_t answers) const;
  std::vector<Bytes> take_question(const Asked& asked);

  const verify::EngagementTerms& terms_;
  Role role_;
  Answer answer_;
  Save save_;
  std::vector<Given> given_;  // in the order of the turns
  bool announces_ = false;
  uint64_t whole_ = 0, heard_ = 0;
  std::optional<Closing> closing_;
  Counts counts_;
};

}  // namespace isobit::dispute
