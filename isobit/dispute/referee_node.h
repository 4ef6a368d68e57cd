// A referee on a network: asks until it is answered, sees to deadlines, and tells both parties how the game ended. A
// state machine still: messages, the time and saved bytes come in, messages and bytes to save go out. What counted is
// saved before anything follows from it, so that a referee that starts again goes on where it was, with deadlines that
// begin anew. Time is in seconds since any moment and never goes back; what is due is done in tick(), so that a clock
// that stops only makes the game longer.
//
// Who is asked has response_seconds of the engagement for each turn, or restart_seconds from the moment at which its
// word that it started again came in, once in a turn; who has not answered then forfeits. So a game of n turns ends
// within n * (response_seconds + restart_seconds) of a referee that does not start again, whatever anybody sends.
#pragma once

#include <functional>
#include <memory>

#include "isobit/dispute/link.h"
#include "isobit/dispute/record.h"

namespace isobit::dispute {

struct Outgoing {
  Party to = Party::kTrainer;
  Bytes bytes;
};

class RefereeNode {
 public:
  // Keeps these bytes behind those kept before, for good before it returns; on an error nothing of them, and it is
  // asked again later.
  using Save = std::function<Status(ByteView more)>;
  // The challenger's key: of a game that it was granted. repeat_every: seconds until what was not answered is asked
  // again, at least 1. saved: all that was kept of this game; nothing at its beginning. REQUIRES
  // Referee::check_challenger() and the key that the terms name. kUnreadable: the saved bytes are not such; an
  // incomplete end is none, but cut the file to whole() bytes before more is kept.
  static Expected<std::unique_ptr<RefereeNode>> open(Subject subject, const commit::PublicKey& challenger,
                                                     commit::SecretKey key, uint64_t repeat_every, Save save,
                                                     ByteView saved, uint64_t now);

  std::vector<Outgoing> receive(ByteView message, uint64_t now);
  std::vector<Outgoing> tick(uint64_t now);

  const Referee& referee() const { return referee_; }
  // How it ended, signed; it is sent again for response_seconds, and later to whoever still speaks.
  const std::optional<Closing>& closing() const { return closing_; }
  // For anybody to check. REQUIRES a verdict.
  Record record() const;

  uint64_t whole() const { return whole_; }

  struct Counts {
    uint64_t restarts = 0;          // announced, and granted
    uint64_t dropped_restarts = 0;  // malformed, not signed, of another turn, or a second one
  };
  const Counts& counts() const { return counts_; }

 private:
  enum class Kept : uint8_t { kMessage, kForfeit, kEquivocation };
  RefereeNode(Subject subject, const commit::PublicKey& challenger, commit::SecretKey key, uint64_t repeat_every,
              Save save);
  Status restore(ByteView saved);
  Status restore_entry(ByteView entry);
  void keep(Kept kind, ByteView bytes);
  bool is_saved();
  Closing closing_of(Outcome outcome) const;
  const verify::EngagementTerms& terms() const { return referee_.subject().engagement.terms; }
  bool take_restart(ByteView message, uint64_t now);
  void begin_turn(uint64_t now);
  void close(uint64_t now);
  std::vector<Outgoing> ask();
  std::vector<Outgoing> after(uint64_t now);

  Referee referee_;
  const commit::SecretKey key_;
  const uint64_t repeat_every_;
  const Save save_;
  Bytes unsaved_;
  uint64_t whole_ = 0;
  uint64_t turn_ = 0;  // the one that was begun
  Bytes asked_;        // its question
  std::array<uint64_t, 2> deadline_{};
  std::array<bool, 2> restarted_{};
  uint64_t next_repeat_ = 0, closed_at_ = 0;
  std::optional<Closing> closing_;
  Counts counts_;
};

}  // namespace isobit::dispute
