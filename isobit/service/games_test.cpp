// The games of a party: what is refused before anything is done for it, what waits and for how long, what is kept, and
// that nobody is answered twice in different words.
#include "isobit/service/games.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <future>

#include "isobit/base/temporary_folder.h"
#include "isobit/base/text.h"
#include "isobit/dispute/link.h"
#include "isobit/verify/testing.h"

namespace isobit::service {
namespace {

using dispute::Party;
using verify::testing::digest_of;
using verify::testing::key_of;
using Code = Reply::Code;

constexpr uint8_t kClient = 1, kTrainer = 2, kReferee = 3, kStranger = 9, kFirstChallenger = 20;

verify::Engagement engagement() {
  verify::EngagementTerms terms;
  terms.job_root = digest_of("job");
  terms.run_id.fill(9);
  terms.trainer_keys = {key_of(kTrainer).public_key()};
  terms.referee_key = key_of(kReferee).public_key();
  return *verify::make_engagement(terms, key_of(kClient), key_of(kTrainer));
}
const verify::Engagement kEngagement = engagement();

// The first question of the trainer, in the game of this challenger; `part` tells questions of one turn apart.
Bytes question(uint8_t challenger = kFirstChallenger, uint64_t part = 1, uint8_t signer = kReferee) {
  dispute::Asked a;
  a.challenger = key_of(challenger).public_key();
  a.said = {{Party::kChallenger, digest_of("challenge")}};
  a.question.turn = 1;
  a.question.kind = dispute::Kind::kParts;
  a.question.asked = {true, false};
  a.question.part = {0, part};
  a.question.history = dispute::next_history(dispute::first_history(kEngagement.terms, a.challenger),
                                             Party::kChallenger, digest_of("challenge"));
  verify::EngagementTerms terms = kEngagement.terms;
  terms.referee_key = key_of(signer).public_key();
  return encode(dispute::sign_question(a, terms, key_of(signer)));
}

Bytes closing(uint8_t challenger = kFirstChallenger) {
  return encode(dispute::sign_closing({key_of(challenger).public_key(), 2, {}, dispute::Outcome::kChallengerWrong, {}},
                                      kEngagement.terms, key_of(kReferee)));
}

using Said = std::shared_ptr<const Reply>;

// A trainer whose answers wait until the test lets them go.
class GamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sink_ = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    log_.emplace(sink_.get());
    start();
  }
  void TearDown() override { stop(); }

  void stop() {
    if (!games_) return;
    let_go(1000);
    games_.reset();
  }

  void start(Games::Limits limits = {}) {
    stop();
    let_go_ = 1000;
    auto store = GameStore::open(folder_.path(), kEngagement.terms.run_id, "answers", "lock");
    ASSERT_TRUE(store) << store.error().message;
    const auto new_game = [this](const commit::SecretKey&) -> dispute::PartyNode::Answer {
      return [this](const dispute::Question&) -> Expected<dispute::Body> {
        std::unique_lock lock(mutex_);
        ++began_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return let_go_ > 0; });
        --let_go_;
        if (fails_) return unavailable("the data are gone");
        return dispute::PartRoots{{digest_of(text_of("answer ", ++answers_))}};
      };
    };
    games_ = std::make_unique<Games>(Games::Role{Party::kTrainer, kEngagement, {key_of(kTrainer)}, new_game},
                                     std::move(*store), limits, *log_);
  }

  void let_go(int answers) {
    const std::scoped_lock lock(mutex_);
    let_go_ = answers;
    changed_.notify_all();
  }
  void wait_until_began(int answers) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return began_ >= answers; });
  }

  // An answer is handed out before the worker has put its game away.
  void expect_in_memory(uint64_t games) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (games_->counts().in_memory != games && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_EQ(games_->counts().in_memory, games);
  }

  std::future<Said> send(const Bytes& message, std::shared_ptr<Call>* call = nullptr) {
    auto promise = std::make_shared<std::promise<Said>>();
    auto made = std::make_shared<Call>([promise](Said said) { promise->set_value(std::move(said)); });
    if (call != nullptr) *call = made;
    games_->receive(message, made);
    return promise->get_future();
  }
  Code code(const Bytes& message) { return send(message).get()->code; }

  TemporaryFolder folder_ = *TemporaryFolder::make("games");
  Descriptor sink_;
  std::optional<EventLog> log_;
  std::unique_ptr<Games> games_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int let_go_ = 1000, began_ = 0, answers_ = 0;
  bool fails_ = false;
};

TEST_F(GamesTest, ARefusalComesBeforeAnythingIsOpened) {
  EXPECT_EQ(code(Bytes{1, 2, 3}), Code::kMalformed);
  EXPECT_EQ(code(question(kFirstChallenger, 1, kStranger)), Code::kStranger);
  EXPECT_EQ(code(question(kTrainer)), Code::kOtherGame);
  EXPECT_EQ(code(question(kReferee)), Code::kOtherGame);
  Bytes bent = closing();
  bent.back() ^= 1;
  EXPECT_EQ(code(bent), Code::kStranger);
  bent.pop_back();
  EXPECT_EQ(code(bent), Code::kMalformed);
  EXPECT_EQ(games_->counts().in_memory, 0u);
  EXPECT_EQ(games_->counts().refused, 6u);
  EXPECT_EQ(began_, 0);
}

TEST_F(GamesTest, AnAnswerIsTheSameForWhoAsksAgainAlsoAfterAnotherStart) {
  const Said first = send(question()).get();
  ASSERT_EQ(first->code, Code::kHeard);
  ASSERT_EQ(first->messages.size(), 1u);
  EXPECT_EQ(send(question()).get()->messages, first->messages);
  EXPECT_EQ(code(question(kFirstChallenger, 2)), Code::kNotNow);  // another question of that turn
  start();
  EXPECT_EQ(send(question()).get()->messages, first->messages);
  EXPECT_EQ(answers_, 1);
}

TEST_F(GamesTest, WhoStartedAgainSaysSoBeforeItComputes) {
  let_go(0);
  const auto lost = send(question());
  wait_until_began(1);
  EXPECT_FALSE(games_->stop({}));
  EXPECT_EQ(lost.wait_for(std::chrono::seconds(0)),
            std::future_status::ready);  // nobody waits for a service that stops
  fails_ = true;                         // what was computed is lost
  start();
  fails_ = false;
  let_go(0);
  const Said word = send(question()).get();  // while the answer is being computed
  ASSERT_EQ(word->messages.size(), 1u);
  EXPECT_TRUE(dispute::decode_restart(word->messages[0], "test"));
  wait_until_began(2);
  const auto again = send(question());
  EXPECT_EQ(again.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  let_go(1000);
  EXPECT_TRUE(dispute::decode_message(const_cast<std::future<Said>&>(again).get()->messages.back(), "test"));
  EXPECT_EQ(answers_, 1);
}

TEST_F(GamesTest, WhoAsksTheSameWaitsForOneAnswer) {
  let_go(0);
  auto first = send(question());
  wait_until_began(1);
  auto second = send(question());
  let_go(1000);
  EXPECT_EQ(first.get()->messages, second.get()->messages);
  EXPECT_EQ(began_, 1);
}

// The next question comes while the worker still puts away what it did for the one before.
TEST_F(GamesTest, NobodyIsForgottenWhoAsksJustWhenAnAnswerIsHandedOut) {
  const Said first = send(question()).get();
  for (int i = 0; i < 3000; ++i) {
    auto again = send(question());
    ASSERT_EQ(again.wait_for(std::chrono::seconds(60)), std::future_status::ready) << i;
    ASSERT_EQ(again.get()->messages, first->messages) << i;
  }
}

TEST_F(GamesTest, CallsBeyondTheLimitAreRefusedAndThoseThatLeftDoNotCount) {
  start({.calls = 3});
  let_go(0);
  auto running = send(question());
  wait_until_began(1);
  std::shared_ptr<Call> leaves;
  auto left = send(question(kFirstChallenger + 1), &leaves);
  auto waits = send(question(kFirstChallenger + 2));
  EXPECT_EQ(code(question(kFirstChallenger + 3)), Code::kBusy);
  EXPECT_EQ(code(question()), Code::kBusy);
  leaves->finish(std::make_shared<const Reply>());
  auto comes = send(question());
  EXPECT_EQ(code(question(kFirstChallenger + 3)), Code::kBusy);
  let_go(1000);
  EXPECT_EQ(running.get()->messages, comes.get()->messages);
  EXPECT_EQ(waits.get()->code, Code::kHeard);
}

TEST_F(GamesTest, GamesBeyondTheLimitAreNotOpenedUntilOneEnds) {
  start({.open = 2, .in_memory = 1});
  for (const uint8_t more : {0, 1}) EXPECT_EQ(code(question(kFirstChallenger + more)), Code::kHeard);
  expect_in_memory(1);
  EXPECT_EQ(code(question(kFirstChallenger + 2)), Code::kBusy);
  EXPECT_EQ(code(question()), Code::kHeard);  // one that is open, from what was saved
  EXPECT_EQ(answers_, 2);
  start({.open = 2, .in_memory = 1});  // and after another start
  EXPECT_EQ(code(question(kFirstChallenger + 2)), Code::kBusy);
  EXPECT_EQ(code(closing()), Code::kHeard);
  EXPECT_EQ(code(question(kFirstChallenger + 2)), Code::kHeard);
}

TEST_F(GamesTest, AGameThatEndedStaysSo) {
  EXPECT_EQ(code(closing()), Code::kHeard);  // nothing was asked in it: nothing is kept
  EXPECT_EQ(code(question()), Code::kHeard);
  EXPECT_EQ(code(closing()), Code::kHeard);
  EXPECT_EQ(code(closing()), Code::kHeard);
  EXPECT_EQ(games_->counts().ended, 1u);
  expect_in_memory(0);
  EXPECT_EQ(code(question()), Code::kNotNow);
  start();
  EXPECT_EQ(code(question()), Code::kNotNow);
}

TEST_F(GamesTest, AnEndWhileSomethingIsComputedEndsTheGameAfterIt) {
  let_go(0);
  auto running = send(question());
  wait_until_began(1);
  EXPECT_EQ(code(closing()), Code::kHeard);
  let_go(1000);
  running.get();
  EXPECT_EQ(code(question()), Code::kNotNow);
  EXPECT_TRUE(games_->stop(std::chrono::seconds(60)));
  expect_in_memory(0);
}

TEST_F(GamesTest, WhatCannotBeComputedIsTriedAgain) {
  fails_ = true;
  const Said said = send(question()).get();
  EXPECT_EQ(said->code, Code::kCannot);
  EXPECT_NE(said->why.find("the data are gone"), std::string::npos) << said->why;
  fails_ = false;
  EXPECT_EQ(code(question()), Code::kHeard);
}

TEST_F(GamesTest, AServiceThatStopsFinishesWhatItComputesAndLetsTheRestGo) {
  let_go(0);
  auto running = send(question());
  wait_until_began(1);
  auto waits = send(question(kFirstChallenger + 1));
  EXPECT_FALSE(games_->stop(std::chrono::milliseconds(10)));
  EXPECT_EQ(running.get()->code, Code::kEnding);
  EXPECT_EQ(waits.get()->code, Code::kEnding);
  let_go(1000);
  EXPECT_TRUE(games_->stop(std::chrono::seconds(60)));
  EXPECT_EQ(code(question()), Code::kEnding);
  start();  // it was saved
  EXPECT_EQ(send(question()).get()->messages.size(), 1u);
  EXPECT_EQ(answers_, 1);
}

TEST_F(GamesTest, AFolderBelongsToOneAtATime) {
  const auto second = GameStore::open(folder_.path(), kEngagement.terms.run_id, "answers", "lock");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace isobit::service
