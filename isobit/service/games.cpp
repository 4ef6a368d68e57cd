#include "isobit/service/games.h"

#include <algorithm>
#include <new>

#include "isobit/base/fp_env.h"
#include "isobit/base/frame.h"
#include "isobit/base/machine_cannot.h"
#include "isobit/base/text.h"

namespace isobit::service {
namespace {

using dispute::Ignored;
using dispute::Party;

std::shared_ptr<const Reply> reply(Reply::Code code, std::string why, std::vector<Bytes> messages = {}) {
  return std::make_shared<const Reply>(Reply{code, std::move(why), std::move(messages)});
}

Reply::Code code_of(Ignored why) {
  switch (why) {
    case Ignored::kMalformed:
      return Reply::Code::kMalformed;
    case Ignored::kNotReferee:
      return Reply::Code::kStranger;
    case Ignored::kOtherGame:
      return Reply::Code::kOtherGame;
    case Ignored::kCannot:
    case Ignored::kNotSaved:
      return Reply::Code::kCannot;
    case Ignored::kOver:
    case Ignored::kOld:
    case Ignored::kOther:
    case Ignored::kNotAsked:
      break;
  }
  return Reply::Code::kNotNow;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void Call::finish(std::shared_ptr<const Reply> reply) {
  Done done;
  {
    const std::scoped_lock lock(mutex_);
    done = std::exchange(done_, nullptr);
  }
  if (done) done(std::move(reply));
}

bool Call::is_finished() const {
  const std::scoped_lock lock(mutex_);
  return done_ == nullptr;
}

struct Games::Game {
  commit::PublicKey challenger;
  std::unique_ptr<GameFile> file;
  std::optional<dispute::PartyNode> node;
  std::string saved_badly, failed;  // why what was asked last was not saved, or not computed
  bool announces = false;           // says that it started again before it computes anything
  bool announced = false;
  bool broken = false;  // what it remembers may be half of what it should: to be opened again
  uint64_t used = 0;
};

Games::Games(Role role, GameStore store, const Limits& limits, EventLog& log)
    : role_(std::move(role)), store_(std::move(store)), limits_(limits), log_(log), open_(store_.count_open()) {
  try {
    worker_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    throw MachineCannot("the system starts no thread to compute answers");
  }
}

Games::~Games() {
  stop({});
  worker_.join();
}

bool Games::stop(std::chrono::milliseconds grace) {
  std::vector<std::shared_ptr<Call>> calls;
  std::unique_lock lock(mutex_);
  stopping_ = true;
  for (auto& [key, work] : waiting_) std::ranges::move(work.calls, std::back_inserter(calls));
  waiting_.clear();
  order_.clear();
  wake_.notify_all();
  const bool done = idle_.wait_for(lock, grace, [&] { return !running_; });
  std::ranges::move(work_.calls, std::back_inserter(calls));
  work_.calls.clear();
  lock.unlock();
  for (const auto& call : calls) call->finish(reply(Reply::Code::kEnding, "the service stops"));
  return done;
}

Games::Counts Games::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void Games::refuse(const std::shared_ptr<Call>& call, Reply::Code code, std::string why) {
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.refused;
  }
  log_.limited("refused", {{"reason", why}});
  call->finish(reply(code, std::move(why)));
}

// Of the party in that game; none where it plays no such game.
const commit::SecretKey* Games::key_of(const commit::PublicKey& challenger) const {
  if (role_.party == Party::kTrainer) {
    return dispute::Referee::check_challenger(challenger, role_.engagement) ? &role_.keys.front() : nullptr;
  }
  const auto own = std::ranges::find(role_.keys, challenger, &commit::SecretKey::public_key);
  return own == role_.keys.end() ? nullptr : &*own;
}

void Games::receive(ByteView message, const std::shared_ptr<Call>& call) {
  has_tag(message, dispute::kClosingTag) ? take_closing(message, call) : take_question(message, call);
}

void Games::take_closing(ByteView message, const std::shared_ptr<Call>& call) {
  const auto closing = dispute::decode_closing(message, "closing");
  if (!closing) return refuse(call, Reply::Code::kMalformed, closing.error().message);
  if (key_of(closing->challenger) == nullptr) return refuse(call, Reply::Code::kOtherGame, "of no game of this party");
  if (!verify_closing(*closing, role_.engagement.terms)) {
    return refuse(call, Reply::Code::kStranger, "the ending is not signed by the engaged referee");
  }
  std::vector<std::shared_ptr<Call>> calls;
  {
    std::unique_lock lock(mutex_);
    // Of a game in which nothing was asked of this party there is nothing to keep.
    if (store_.has_begun(closing->challenger) && !store_.is_closed(closing->challenger)) {
      if (const Status closed = store_.close(*closing); !closed) {
        lock.unlock();
        return refuse(call, Reply::Code::kCannot, closed.error().message);
      }
      ++counts_.ended;
      if (open_ > 0) --open_;
      log_.event("ended", {{"game", hex_of(closing->challenger)}, {"outcome", name_of(closing->outcome)}});
    }
    if (const auto work = waiting_.find(closing->challenger); work != waiting_.end()) {
      calls = std::move(work->second.calls);
      waiting_.erase(work);
      std::erase(order_, closing->challenger);
    }
    if (running_ == closing->challenger) {
      ended_while_running_ = true;
    } else {
      games_.erase(closing->challenger);
      known_.erase(closing->challenger);
    }
    counts_.in_memory = games_.size();
  }
  for (const auto& waits : calls) waits->finish(reply(Reply::Code::kNotNow, "the game is over"));
  call->finish(reply(Reply::Code::kHeard, ""));
}

// Whether one call more may wait. REQUIRES the lock.
bool Games::has_room() {
  size_t calls = 0;
  const auto live = [&](Work& work) {
    std::erase_if(work.calls, [](const auto& call) { return call->is_finished(); });
    calls += work.calls.size();
  };
  for (auto& [key, work] : waiting_) live(work);
  live(work_);
  return calls < limits_.calls && waiting_.size() < limits_.calls;
}

void Games::take_question(ByteView message, const std::shared_ptr<Call>& call) {
  const auto asked = dispute::decode_question(message, "question");
  if (!asked) return refuse(call, Reply::Code::kMalformed, asked.error().message);
  const commit::PublicKey& game = asked->challenger;
  if (key_of(game) == nullptr) return refuse(call, Reply::Code::kOtherGame, "of no game of this party");
  // Before anything is opened or computed for it.
  if (const Status valid = dispute::verify_question(*asked, role_.engagement.terms); !valid) {
    return refuse(call, Reply::Code::kStranger, valid.error().message);
  }
  if (store_.is_closed(game)) return refuse(call, Reply::Code::kNotNow, "the game is over");
  std::vector<std::shared_ptr<Call>> displaced;
  {
    std::unique_lock lock(mutex_);
    if (stopping_) {
      lock.unlock();
      return refuse(call, Reply::Code::kEnding, "the service stops");
    }
    if (!has_room()) {
      lock.unlock();
      return refuse(call, Reply::Code::kBusy, text_of("as many calls wait as may: ", limits_.calls));
    }
    if (running_ == game && takes_more_ && std::ranges::equal(work_.message, message)) {
      work_.calls.push_back(call);
      return;
    }
    const auto [work, is_new] = waiting_.try_emplace(game);
    if (is_new) order_.push_back(game);
    if (!std::ranges::equal(work->second.message, message)) {
      displaced = std::exchange(work->second.calls, {});
      work->second.message.assign(message.begin(), message.end());
    }
    work->second.calls.push_back(call);
    counts_.waiting = waiting_.size();
    wake_.notify_one();
  }
  for (const auto& waits : displaced) waits->finish(reply(Reply::Code::kNotNow, "another question came"));
}

void Games::run() {
  pin_fp_environment();
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || !order_.empty(); });
    if (stopping_) return;
    const commit::PublicKey challenger = order_.front();
    order_.pop_front();
    work_ = std::move(waiting_.at(challenger));
    waiting_.erase(challenger);
    running_ = challenger;
    takes_more_ = true;
    counts_.waiting = waiting_.size();
    Work work{work_.message, {}};
    lock.unlock();
    work_on(challenger, work);
    lock.lock();
    running_.reset();
    work_ = {};
    const auto game = games_.find(challenger);
    if (game != games_.end() && (ended_while_running_ || game->second->broken)) games_.erase(game);
    if (ended_while_running_) known_.erase(challenger);
    ended_while_running_ = false;
    put_away_idle();
    counts_.in_memory = games_.size();
    idle_.notify_all();
  }
}

// Those that were asked least recently go on from what was saved when they are asked again. REQUIRES the lock.
void Games::put_away_idle() {
  while (games_.size() > limits_.in_memory) {
    games_.erase(std::ranges::min_element(games_, {}, [](const auto& entry) { return entry.second->used; }));
  }
}

// The game, from memory or from what was saved of it; a new one where nothing was.
Expected<Games::Game*> Games::find(const commit::PublicKey& challenger) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = games_.find(challenger); found != games_.end()) {
      found->second->used = ++uses_;
      return found->second.get();
    }
    if (open_ >= limits_.open && !known_.contains(challenger) && !store_.has_begun(challenger)) {
      return usage_error(text_of("as many games are open as may be: ", limits_.open));
    }
  }
  ISOBIT_TRY(const auto kept, store_.read(challenger));
  auto game = std::make_unique<Game>();
  game->challenger = challenger;
  const commit::SecretKey& key = *key_of(challenger);
  const auto save = [at = game.get()](ByteView more) -> Status {
    const Status saved = at->file->save(more);
    if (!saved) at->saved_badly = saved.error().message;
    return saved;
  };
  // A file without answers is that of a game in which something was being computed when the process ended.
  game->announces = kept && !known_.contains(challenger);
  ISOBIT_TRY(dispute::PartyNode node,
             dispute::PartyNode::open(role_.engagement.terms, {role_.party, challenger, key}, answer_of(*game, key),
                                      save, kept ? ByteView(*kept) : ByteView(), game->announces));
  ISOBIT_TRY(game->file, store_.append_to(challenger, node.whole()));
  game->node.emplace(std::move(node));
  log_.event(kept ? "opened again" : "opened",
             {{"game", hex_of(challenger)}, {"saved_bytes", kept ? kept->size() : 0}});
  const std::scoped_lock lock(mutex_);
  if (!kept) ++open_;
  known_.insert(challenger);
  game->used = ++uses_;
  return (games_[challenger] = std::move(game)).get();
}

dispute::PartyNode::Answer Games::answer_of(Game& game, const commit::SecretKey& key) {
  return [this, at = &game, computes = role_.new_game(key)](const dispute::Question& q) -> Expected<dispute::Body> {
    if (std::exchange(at->announces, false)) {
      at->announced = true;
      return unavailable("first it is said that the service started again");
    }
    const auto begin = std::chrono::steady_clock::now();
    Expected<dispute::Body> body = unavailable("");
    try {
      body = computes(q);
    } catch (const std::bad_alloc&) {
      at->broken = true;
      body = unavailable("this machine has not enough memory");
    } catch (const MachineCannot& error) {
      at->broken = true;
      body = unavailable(error.what());
    }
    EventLog::Fields fields = {{"game", hex_of(at->challenger)},
                               {"turn", q.turn},
                               {"question", name_of(q.kind)},
                               {"seconds", seconds_since(begin)}};
    if (!body) fields["reason"] = at->failed = body.error().message;
    log_.event(body ? "answered" : "not answered", fields);
    return body;
  };
}

std::shared_ptr<const Reply> Games::ask(Game& game, ByteView message) {
  const dispute::PartyNode::Counts before = game.node->counts();
  game.failed.clear();
  game.saved_badly.clear();
  std::vector<Bytes> messages = game.node->receive(message, 0);
  const dispute::PartyNode::Counts& after = game.node->counts();
  {
    const std::scoped_lock lock(mutex_);
    counts_.answered += after.answered - before.answered;
    counts_.repeated += after.repeated - before.repeated;
  }
  if (!messages.empty()) return reply(Reply::Code::kHeard, "", std::move(messages));
  for (size_t i = 0; i < after.ignored.size(); ++i) {
    if (after.ignored[i] == before.ignored[i]) continue;
    const auto why = static_cast<Ignored>(i);
    std::string text = dispute::name_of(why);
    for (const std::string& more : {game.failed, game.saved_badly}) {
      if (!more.empty()) text += ": " + more;
    }
    log_.limited("ignored", {{"game", hex_of(game.challenger)}, {"reason", text}});
    return reply(code_of(why), text);
  }
  return reply(Reply::Code::kHeard, "");
}

void Games::work_on(const commit::PublicKey& challenger, Work& work) {
  const auto finish = [&](const std::shared_ptr<const Reply>& said, bool is_last = true) {
    std::vector<std::shared_ptr<Call>> calls;
    {
      const std::scoped_lock lock(mutex_);
      takes_more_ = !is_last;
      calls = std::exchange(work_.calls, {});
    }
    for (const auto& call : calls) call->finish(said);
  };
  const auto game = find(challenger);
  if (!game) {
    log_.limited("not opened", {{"game", hex_of(challenger)}, {"reason", game.error().message}});
    const bool full = game.error().code == ErrorCode::kUsage;
    return finish(reply(full ? Reply::Code::kBusy : Reply::Code::kCannot, game.error().message));
  }
  std::shared_ptr<const Reply> said = ask(**game, work.message);
  if (std::exchange((*game)->announced, false)) {
    // The word that it started again must be there before the time to answer is over, and computing takes long: it is
    // given to who waits now, the answer to who asks again.
    finish(said, false);
    said = ask(**game, work.message);
  }
  finish(said);
}

}  // namespace isobit::service
