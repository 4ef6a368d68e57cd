// The one who settles a dispute, without the network, the data or the run: asks both parties where they part, and in
// the end computes one element from the few values that it is made of. A state machine: messages in, questions out; no
// clock, no files, no sockets. The same messages in the same order give the same verdict on every machine.
//
// What counts is a message that answers the question that is open, by a party to the game, signed over everything that
// was said before; anything else is dropped, and counted. A party is wrong only by what it signed: a list that does not
// lead to what it claims, an element or partial sum that is not what agreed values make, or two different answers to
// one question. Invariants: an honest party is never found wrong; a game with one honest party ends with the other
// wrong or silent; every game ends.
//
// Source: the verification game of Teutsch and Reitwiessner (TrueBit), its descent to one operator after Verde
// (Arun et al.).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/dispute/closing.h"
#include "isobit/dispute/message.h"
#include "isobit/dispute/question.h"
#include "isobit/dispute/subject.h"
#include "isobit/dispute/verdict.h"

namespace isobit::dispute {

class Game;

// Why a message is dropped, in the order in which that is looked for.
enum class Drop : uint8_t {
  kOver,         // after the verdict
  kTooLong,      // longer than an answer to the question may be
  kMalformed,    // no message
  kStranger,     // by a key that is no party's
  kOtherTurn,    // of another turn or history than any that was asked of the party
  kRepeated,     // an answer that was received before
  kSignature,    // not signed by its key
  kEquivocates,  // another answer than the one that was signed before: ends the game
  kBody          // answers another question, or does not lead to what the party stands by
};
inline constexpr size_t kDrops = 9;
const char* name_of(Drop drop);  // "after the end", "too long", ...

class Referee {
 public:
  // challenger: whose game it is. REQUIRES check_challenger().
  Referee(Subject subject, const commit::PublicKey& challenger);
  ~Referee();
  // kRejected for a key that speaks for the trainer or the referee.
  static Status check_challenger(const commit::PublicKey& key, const verify::Engagement& engagement);

  // A message from anybody, which counts only as said above. The first that counts is the challenge.
  struct Receipt {
    bool counts = false;
    std::optional<Drop> drop;  // where it does not
    std::string why_not;
  };
  Receipt receive(ByteView message);
  // The deadline of what is open has passed. kRejected unless the outcome is a forfeit of nobody but those who were
  // asked and have not answered. REQUIRES no verdict.
  Status expire(Outcome forfeit);
  // Two answers of one party, however one comes by them. kRejected where they are none to a question of this game.
  // REQUIRES no verdict.
  Status convict(const Equivocation& equivocation);

  const Question& question() const;
  bool awaits(Party party) const;
  const std::optional<Verdict>& verdict() const;
  const commit::PublicKey& challenger() const { return challenger_; }
  const Subject& subject() const { return subject_; }

  // What counted, in the order in which it makes the history: with the subject it gives the verdict again; after a
  // forfeit also the answer of a turn that did not end.
  const std::vector<Bytes>& record() const { return record_; }
  // What was said so far, as the history binds it.
  struct Said {
    Party party = Party::kTrainer;
    commit::Digest body{};
    bool operator==(const Said&) const = default;
  };
  const std::vector<Said>& said() const { return said_; }
  // By what the game ended, where it is that.
  const std::optional<Equivocation>& equivocation() const { return equivocation_; }
  struct Counts {
    uint64_t counted = 0, dropped = 0;
    std::array<uint64_t, kDrops> by_reason{};  // of those dropped
    uint64_t bytes = 0;                        // received in messages that counted
    uint64_t list_bytes = 0;                   // of these, in lists of steps and values with the schema
  };
  const Counts& counts() const { return counts_; }

 private:
  // What was asked, of whom, and what each was first seen to have signed in answer.
  struct Turn {
    commit::Digest history{};
    std::array<bool, 2> asked = {};
    std::array<std::optional<Statement>, 2> signed_first;
  };
  Receipt dropped(Drop drop, std::string why);
  std::optional<Party> party_of(const commit::PublicKey& key) const;
  void begin_turn();
  void end_turn();

  const Subject subject_;
  const commit::PublicKey challenger_;
  std::unique_ptr<Game> game_;
  std::array<std::optional<Message>, 2> answers_;
  std::vector<Turn> turns_;
  std::vector<Bytes> record_;
  std::vector<Said> said_;
  std::optional<Equivocation> equivocation_;
  Counts counts_;
};

}  // namespace isobit::dispute
