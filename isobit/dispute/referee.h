// The one who settles a dispute, without the network, the data or the run: asks both parties where they part, and in
// the end computes one element from the few values that it is made of. A state machine: messages in, questions out; no
// clock, no files, no sockets. The same messages in the same order give the same verdict on every machine.
//
// What counts is a message that answers the question that is open, by a party to the game, signed over everything that
// was said before; anything else is dropped, and counted. A dropped message never convicts. A party is wrong only by
// what it signed: a list that does not lead to what it claims, or an element or partial sum that is not what agreed
// values make. Invariants: an honest party is never found wrong; a game with one honest party ends with the other
// wrong or silent; every game ends.
//
// Source: the verification game of Teutsch and Reitwiessner (TrueBit), its descent to one operator after Verde
// (Arun et al.); ../design pages name what is added.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/dispute/message.h"
#include "isobit/dispute/question.h"
#include "isobit/dispute/subject.h"
#include "isobit/dispute/verdict.h"

namespace isobit::dispute {

class Game;

class Referee {
 public:
  explicit Referee(Subject subject);
  ~Referee();

  // A message from anybody, which counts only as said above; at most so long. The first that counts is the challenge.
  struct Receipt {
    bool counts = false;
    std::string why_not;
  };
  Receipt receive(ByteView message);
  // The deadline of what is open has passed: who was asked and has not answered forfeits. REQUIRES a challenge that
  // counted, and no verdict.
  void expire();

  const Question& question() const;
  bool awaits(Party party) const;
  const std::optional<Verdict>& verdict() const;
  // Whoever made the challenge that counted.
  const std::optional<commit::PublicKey>& challenger() const { return challenger_; }

  // What counted, in the order in which it makes the history: with the subject it gives the verdict again.
  const std::vector<Bytes>& record() const { return record_; }
  struct Counts {
    uint64_t counted = 0, dropped = 0;
    uint64_t bytes = 0;       // received in messages that counted
    uint64_t list_bytes = 0;  // of these, in lists of steps and values with the schema
  };
  const Counts& counts() const { return counts_; }

 private:
  Expected<Party> party_of(const Message& message) const;
  void end_turn();

  const Subject subject_;
  std::unique_ptr<Game> game_;
  std::array<std::optional<Message>, 2> answers_;
  std::optional<commit::PublicKey> challenger_;
  std::vector<Bytes> record_;
  Counts counts_;
};

}  // namespace isobit::dispute
