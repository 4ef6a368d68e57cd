// The games that a party plays at once, without sockets: takes what the referee says, opens the game that it is of, has
// one thread compute answers, and hands them to whoever waits. No decisions of its own: whether and what a party
// answers is up to dispute::PartyNode.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "isobit/dispute/party_node.h"
#include "isobit/service/event_log.h"
#include "isobit/service/game_store.h"
#include "isobit/verify/engagement.h"

namespace isobit::service {

// What becomes of a message.
struct Reply {
  enum class Code : uint8_t {
    kHeard,      // with the party's messages, if it has any to this
    kMalformed,  // neither a question nor an ending
    kStranger,   // not signed by the engaged referee
    kOtherGame,  // of a key that challenges nobody here
    kNotNow,     // of another turn, of what was not said, or after the end
    kBusy,       // as many games or calls as there may be
    kCannot,     // computing or saving failed; asked again, it is tried again
    kEnding      // the service stops
  };
  Code code = Code::kHeard;
  std::string why;
  std::vector<Bytes> messages;
};

// Somebody who waits for a reply, for as long as it likes. Any thread may finish it; the first one does.
class Call {
 public:
  using Done = std::function<void(std::shared_ptr<const Reply>)>;
  explicit Call(Done done) : done_(std::move(done)) {}
  void finish(std::shared_ptr<const Reply> reply);
  bool is_finished() const;

 private:
  mutable std::mutex mutex_;
  Done done_;
};

class Games {
 public:
  struct Limits {
    size_t open = 1024;    // games that began and did not end
    size_t in_memory = 8;  // of which so many are held; others go on from what was saved
    size_t calls = 64;     // that wait, and messages that do
  };
  struct Role {
    dispute::Party party = dispute::Party::kTrainer;
    const verify::Engagement& engagement;  // outlives the games
    std::vector<commit::SecretKey> keys;   // the trainer's; or a challenger's, of whose games each has one
    std::function<dispute::PartyNode::Answer(const commit::SecretKey& key)> new_game;
  };

  // REQUIRES a referee in the engagement, and a store of its run. MachineCannot where no thread starts.
  Games(Role role, GameStore store, const Limits& limits, EventLog& log);
  ~Games();
  Games(const Games&) = delete;
  Games& operator=(const Games&) = delete;

  // Finishes the call at once or when it is answered. Any thread.
  void receive(ByteView message, const std::shared_ptr<Call>& call);
  // Takes nothing more and lets who waits go. Whether what is being computed was done, and saved, within that time; if
  // not, the destructor waits for it.
  bool stop(std::chrono::milliseconds grace);

  struct Counts {
    uint64_t answered = 0, repeated = 0, refused = 0, ended = 0;
    uint64_t in_memory = 0, waiting = 0;  // now
  };
  Counts counts() const;

 private:
  struct Game;
  struct Work {
    Bytes message;
    std::vector<std::shared_ptr<Call>> calls;
  };

  void refuse(const std::shared_ptr<Call>& call, Reply::Code code, std::string why);
  const commit::SecretKey* key_of(const commit::PublicKey& challenger) const;
  void take_closing(ByteView message, const std::shared_ptr<Call>& call);
  void take_question(ByteView message, const std::shared_ptr<Call>& call);
  bool has_room();
  void run();
  Expected<Game*> find(const commit::PublicKey& challenger);
  void put_away_idle();
  void work_on(const commit::PublicKey& challenger, Work& work);
  std::shared_ptr<const Reply> ask(Game& game, ByteView message);
  dispute::PartyNode::Answer answer_of(Game& game, const commit::SecretKey& key);

  const Role role_;
  const GameStore store_;
  const Limits limits_;
  EventLog& log_;

  mutable std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<commit::PublicKey> order_;        // of the work that waits
  std::map<commit::PublicKey, Work> waiting_;  // one of a game; what comes later takes its place
  std::optional<commit::PublicKey> running_;
  Work work_;                // the running one
  bool takes_more_ = false;  // who asks the same may still wait for it
  bool ended_while_running_ = false, stopping_ = false;
  Counts counts_;

  // Under the lock, too. A game itself is used by the worker alone.
  std::map<commit::PublicKey, std::unique_ptr<Game>> games_;
  std::set<commit::PublicKey> known_;  // that this process opened before, and that did not end
  size_t open_ = 0;
  uint64_t uses_ = 0;
  std::thread worker_;
};

}  // namespace isobit::service
