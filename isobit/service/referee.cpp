#include "isobit/service/referee.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "isobit/base/text.h"
#include "isobit/service/game_store.h"
#include "isobit/service/party_caller.h"

namespace isobit::service {
namespace {

using dispute::Party;
using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(200);
constexpr uint64_t kMostToldSeconds = 10;
constexpr uint64_t kRestartBytes = 1 << 10;  // what comes beside an answer

// What the callers heard, for the one thread that plays.
class Inbox {
 public:
  struct Entry {
    Party party;
    PartyCaller::Heard heard;
  };
  void put(Entry entry) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back(std::move(entry));
    ready_.notify_one();
  }
  std::optional<Entry> take() {
    std::unique_lock lock(mutex_);
    if (!ready_.wait_for(lock, kTick, [&] { return !entries_.empty(); })) return std::nullopt;
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    return entry;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Entry> entries_;
};

class Play {
 public:
  explicit Play(const RefereeRequest& request) : request_(request), began_(Clock::now()) {}

  Status open() {
    const verify::EngagementTerms& terms = request_.subject.engagement.terms;
    Bytes saved;
    std::optional<GameStore> store;
    if (!request_.state.empty()) {
      const std::string lock = game_name(terms.run_id, request_.challenger) + ".lock";
      ISOBIT_TRY(store, GameStore::open(request_.state, terms.run_id, "kept", lock));
      ISOBIT_TRY(auto kept, store->read(request_.challenger));
      if (kept) saved = std::move(*kept);
    }
    const auto save = [this](ByteView more) -> Status {
      if (!file_) return {};
      const Status done = file_->save(more);
      if (!done) trouble(done.error().message);
      return done;
    };
    ISOBIT_TRY(node_, dispute::RefereeNode::open(request_.subject, request_.challenger, request_.key,
                                                 repeat_seconds(terms), save, saved, now()));
    if (store) {
      ISOBIT_TRY(file_, store->append_to(request_.challenger, node_->whole()));
      store_ = std::move(store);
    }
    for (const Party party : {Party::kTrainer, Party::kChallenger}) {
      callers_[static_cast<size_t>(party)] =
          std::make_unique<PartyCaller>(request_.addresses[static_cast<size_t>(party)], request_.tls, call_time(terms),
                                        [this, party](PartyCaller::Heard heard) {
                                          inbox_.put({party, std::move(heard)});
                                        });
    }
    return {};
  }

  Expected<std::optional<RefereeResult>> run() {
    while (!is_over()) {
      if (request_.stop != nullptr && *request_.stop) return std::nullopt;
      if (auto entry = inbox_.take()) take(std::move(*entry));
      send(node_->tick(now()));
    }
    RefereeResult result{*node_->referee().verdict(),      node_->record(), node_->referee().counts(),
                         node_->referee().question().turn, seconds_,        told_};
    return std::optional(std::move(result));
  }

 private:
  uint64_t now() const {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_).count());
  }

  void trouble(const std::string& what) const {
    if (request_.trouble) request_.trouble(what);
  }

  // Who cannot be told is not waited for: it hears from whoever has the record.
  bool is_over() {
    if (!node_->closing()) return false;
    if (!closed_at_) closed_at_ = now();
    const uint64_t most = std::min(kMostToldSeconds, request_.subject.engagement.terms.response_seconds);
    return (told_[0] && told_[1]) || now() > *closed_at_ + most;
  }

  void take(Inbox::Entry entry) {
    const auto p = static_cast<size_t>(entry.party);
    if (!entry.heard.said) {
      trouble(text_of(name_of(entry.party), ": ", entry.heard.said.error().message));
      return;
    }
    if (node_->closing() && entry.heard.message == encode(*node_->closing())) told_[p] = true;
    for (const Bytes& message : *entry.heard.said) {
      const auto begin = Clock::now();
      std::vector<dispute::Outgoing> out = node_->receive(message, now());
      seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
      send(std::move(out));
    }
  }

  void send(std::vector<dispute::Outgoing> out) {
    if (out.empty()) return;
    const dispute::Question& open = node_->referee().question();
    if (request_.progress && !node_->closing() && open.turn != shown_) {
      shown_ = open.turn;
      request_.progress(open);
    }
    const uint64_t most = dispute::max_message_bytes(is_list(open.kind), request_.subject.engagement.terms);
    for (dispute::Outgoing& o : out) {
      const auto p = static_cast<size_t>(o.to);
      if (!(node_->closing() && told_[p])) callers_[p]->say(std::move(o.bytes), most + kRestartBytes);
    }
  }

  const RefereeRequest& request_;
  const Clock::time_point began_;
  std::optional<GameStore> store_;  // holds its lock
  std::unique_ptr<GameFile> file_;
  std::unique_ptr<dispute::RefereeNode> node_;
  std::array<bool, 2> told_ = {};
  std::optional<uint64_t> closed_at_, shown_;
  double seconds_ = 0;
  Inbox inbox_;
  std::array<std::unique_ptr<PartyCaller>, 2> callers_;  // gone before what they use
};

}  // namespace

uint64_t repeat_seconds(const verify::EngagementTerms& terms) {
  return std::clamp<uint64_t>(terms.response_seconds / 10, 1, 5);
}

std::chrono::milliseconds call_time(const verify::EngagementTerms& terms) {
  return std::chrono::milliseconds(std::clamp<uint64_t>(terms.response_seconds * 1000 / 4, 1'000, 20'000));
}

Expected<std::optional<RefereeResult>> run_referee(const RefereeRequest& request) {
  Play play(request);
  ISOBIT_RETURN_IF_ERROR(play.open());
  return play.run();
}

}  // namespace isobit::service
