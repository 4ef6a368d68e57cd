// What goes over a network beside answers, and the party that answers: no question leads to two signed answers.
#include <gtest/gtest.h>

#include "isobit/base/text.h"
#include "isobit/dispute/party_node.h"
#include "isobit/dispute/record.h"
#include "isobit/dispute/referee_node.h"
#include "isobit/verify/testing.h"

namespace isobit::dispute {
namespace {

using verify::testing::digest_of;
using verify::testing::key_of;

constexpr uint8_t kClient = 1, kTrainer = 2, kReferee = 3, kChallenger = 4, kStranger = 5;

verify::Engagement engagement() {
  verify::EngagementTerms terms;
  terms.job_root = digest_of("job");
  terms.run_id.fill(9);
  terms.trainer_keys = {key_of(kTrainer).public_key()};
  terms.referee_key = key_of(kReferee).public_key();
  terms.response_seconds = 60;
  terms.restart_seconds = 300;
  return *verify::make_engagement(terms, key_of(kClient), key_of(kTrainer));
}
const verify::Engagement kEngagement = engagement();
const verify::EngagementTerms& kTerms = kEngagement.terms;

commit::PublicKey challenger() { return key_of(kChallenger).public_key(); }

Subject subject() { return {kEngagement, {.steps = 4, .commit_every = 1}, {}, {}, {}}; }

// The question of a turn, after these bodies.
Asked asked(uint64_t turn, std::vector<Referee::Said> said, uint8_t signer = kReferee) {
  Asked a;
  a.challenger = challenger();
  a.said = std::move(said);
  a.question.turn = turn;
  a.question.kind = Kind::kParts;
  a.question.asked = {true, true};
  a.question.part = {0, turn + 1};
  a.question.history = first_history(kTerms, challenger());
  for (const auto& s : a.said) a.question.history = next_history(a.question.history, s.party, s.body);
  if (signer == kReferee) return sign_question(a, kTerms, key_of(kReferee));
  verify::EngagementTerms others = kTerms;
  others.referee_key = key_of(signer).public_key();
  return sign_question(a, others, key_of(signer));
}

// A trainer that answers with a number that is another one each time.
struct Trainer {
  Bytes disk;
  bool full = false;
  int answers = 0;
  PartyNode open(bool restarted = false) {
    return *PartyNode::open(
        kTerms, {Party::kTrainer, challenger(), key_of(kTrainer)},
        [this](const Question&) -> Expected<Body> { return PartRoots{{digest_of(text_of("answer ", ++answers))}}; },
        [this](ByteView more) -> Status {
          if (full) return unavailable("the disk is full");
          disk.insert(disk.end(), more.begin(), more.end());
          return {};
        },
        disk, restarted);
  }
};

uint64_t ignored(const PartyNode& node, Ignored why) { return node.counts().ignored[static_cast<size_t>(why)]; }

Referee::Said said_by_trainer(ByteView message) {
  return {Party::kTrainer, commit::sha256(decode_message(message, "test")->body)};
}
const Referee::Said kChallenge{Party::kChallenger, digest_of("challenge")};

TEST(Link, WhatIsSentRoundTripsAndEveryFlippedBitIsNoticed) {
  const auto flip_each = [](const Bytes& good, const auto& accepted) {
    EXPECT_TRUE(accepted(good));
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(accepted(bad)) << "bit " << bit;
    }
    EXPECT_FALSE(accepted(Bytes(good.begin(), good.end() - 1)));
  };
  const Asked question = asked(3, {kChallenge, {Party::kTrainer, digest_of("answer")}});
  EXPECT_EQ(*decode_question(encode(question), "test"), question);
  flip_each(encode(question), [](const Bytes& bytes) {
    const auto a = decode_question(bytes, "test");
    return a && verify_question(*a, kTerms);
  });
  const Restart restart = sign_restart(3, digest_of("history"), kTerms, key_of(kTrainer));
  EXPECT_EQ(*decode_restart(encode(restart), "test"), restart);
  flip_each(encode(restart), [](const Bytes& bytes) {
    const auto r = decode_restart(bytes, "test");
    return r && verify_restart(*r, kTerms);
  });
  const Closing closing =
      sign_closing({challenger(), 3, digest_of("history"), Outcome::kTrainerForfeits, {}}, kTerms, key_of(kReferee));
  EXPECT_EQ(*decode_closing(encode(closing), "test"), closing);
  flip_each(encode(closing), [](const Bytes& bytes) {
    const auto c = decode_closing(bytes, "test");
    return c && verify_closing(*c, kTerms);
  });
  const auto answer = [](const char* body) {
    return statement_of(sign_message(3, digest_of("history"), Bytes(body, body + 3), kTerms, key_of(kTrainer)));
  };
  const Equivocation two{{answer("one"), answer("two")}};
  EXPECT_EQ(*decode_equivocation(encode(two), "test"), two);
  flip_each(encode(two), [](const Bytes& bytes) {
    const auto e = decode_equivocation(bytes, "test");
    return e && verify_equivocation(*e, kTerms);
  });
  EXPECT_FALSE(verify_equivocation({{answer("one"), answer("one")}}, kTerms));
}

TEST(Link, TwoChallengesAreNoTwoAnswers) {
  const auto challenge = [](uint64_t turn, const char* body) {
    return statement_of(sign_message(turn, digest_of("history"), Bytes(body, body + 3), kTerms, key_of(kChallenger)));
  };
  EXPECT_FALSE(verify_equivocation({{challenge(0, "one"), challenge(0, "two")}}, kTerms));
  EXPECT_TRUE(verify_equivocation({{challenge(1, "one"), challenge(1, "two")}}, kTerms));
}

TEST(Link, AQuestionThatComesAgainGetsTheSameBytes) {
  Trainer trainer;
  const Bytes question = encode(asked(1, {kChallenge}));
  PartyNode node = trainer.open();
  const std::vector<Bytes> first = node.receive(question, 1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(node.receive(question, 2), first);
  // After a crash, too; and nobody needs to be told of one that lost nothing.
  PartyNode again = trainer.open(true);
  EXPECT_EQ(again.receive(question, 3), first);
  EXPECT_EQ(trainer.answers, 1);
  EXPECT_EQ(again.counts().repeated, 1U);
  // Who hears nothing says it again, at intervals.
  EXPECT_TRUE(again.tick(12, 10).empty());
  EXPECT_EQ(again.tick(13, 10), first);
  EXPECT_TRUE(again.tick(14, 10).empty());
}

TEST(Link, WhatIsNotSavedIsNotSent) {
  Trainer trainer;
  trainer.full = true;
  const Bytes question = encode(asked(1, {kChallenge}));
  PartyNode node = trainer.open();
  EXPECT_TRUE(node.receive(question, 1).empty());
  EXPECT_EQ(ignored(node, Ignored::kNotSaved), 1U);
  trainer.full = false;
  EXPECT_EQ(node.receive(question, 2).size(), 1U);
  EXPECT_EQ(trainer.open().receive(question, 3).size(), 1U);
  EXPECT_EQ(trainer.answers, 2);
}

TEST(Link, AnAnswerThatWasHalfSavedWasNeverGiven) {
  Trainer trainer;
  const Bytes question = encode(asked(1, {kChallenge}));
  const Bytes first = trainer.open().receive(question, 1).at(0);
  const Bytes next = encode(asked(2, {kChallenge, said_by_trainer(first)}));
  const Bytes whole = trainer.disk;
  PartyNode(trainer.open()).receive(next, 2);
  const Bytes both = trainer.disk;
  for (size_t size = whole.size(); size < both.size(); size += 7) {
    trainer.disk.assign(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(size));
    PartyNode node = trainer.open();
    EXPECT_EQ(node.whole(), whole.size());
    trainer.disk.resize(node.whole());
    EXPECT_EQ(node.receive(next, 3).size(), 1U);
    EXPECT_EQ(trainer.open().whole(), trainer.disk.size());
  }
}

// As a power cut leaves a file that had its new size already.
TEST(Link, AnAnswerWithZerosInPlaceOfItsEndWasNeverGiven) {
  Trainer trainer;
  const Bytes question = encode(asked(1, {kChallenge}));
  const Bytes first = trainer.open().receive(question, 1).at(0);
  const Bytes next = encode(asked(2, {kChallenge, said_by_trainer(first)}));
  const size_t whole = trainer.disk.size();
  PartyNode(trainer.open()).receive(next, 2);
  const Bytes both = trainer.disk;
  for (size_t written = whole; written <= both.size() - 8; written += 7) {
    for (const size_t beyond : {size_t{0}, size_t{3}, size_t{4096}}) {
      trainer.disk = both;
      std::fill(trainer.disk.begin() + static_cast<std::ptrdiff_t>(written), trainer.disk.end(), uint8_t{0});
      trainer.disk.resize(both.size() + beyond);
      PartyNode node = trainer.open();
      ASSERT_EQ(node.whole(), whole) << written;
      trainer.disk.resize(whole);
      EXPECT_EQ(node.receive(question, 3).at(0), first);
      EXPECT_EQ(node.receive(next, 3).size(), 1U);
    }
  }
  // Behind answers that were given zeros alone change nothing, and answers behind zeros are not forgotten.
  trainer.disk = both;
  trainer.disk.resize(both.size() + 512);
  EXPECT_EQ(trainer.open().whole(), both.size());
  trainer.disk = both;
  std::fill(trainer.disk.begin() + static_cast<std::ptrdiff_t>(whole) - 8,
            trainer.disk.begin() + static_cast<std::ptrdiff_t>(whole), uint8_t{0});
  EXPECT_EQ(trainer.open().whole(), both.size());
}

TEST(Link, APartyAnswersItsRefereeInItsGameAlone) {
  Trainer trainer;
  PartyNode node = trainer.open();
  EXPECT_TRUE(node.receive(encode(asked(1, {kChallenge}, kStranger)), 1).empty());
  EXPECT_EQ(ignored(node, Ignored::kNotReferee), 1U);
  Asked other = asked(1, {kChallenge});
  other.challenger = key_of(kStranger).public_key();
  other.question.history = next_history(first_history(kTerms, other.challenger), kChallenge.party, kChallenge.body);
  EXPECT_TRUE(node.receive(encode(sign_question(other, kTerms, key_of(kReferee))), 1).empty());
  EXPECT_EQ(ignored(node, Ignored::kOtherGame), 1U);
  Asked unbound = asked(1, {kChallenge});
  unbound.said.clear();
  EXPECT_TRUE(node.receive(encode(sign_question(unbound, kTerms, key_of(kReferee))), 1).empty());
  EXPECT_EQ(ignored(node, Ignored::kNotReferee), 2U);
  EXPECT_TRUE(node.receive(Bytes(100, 7), 1).empty());
  EXPECT_EQ(ignored(node, Ignored::kMalformed), 1U);
  // The answers of this party that it speaks of must be those that it gave.
  EXPECT_TRUE(node.receive(encode(asked(2, {kChallenge, {Party::kTrainer, digest_of("never said")}})), 1).empty());
  EXPECT_EQ(ignored(node, Ignored::kOther), 1U);
  const Bytes first = node.receive(encode(asked(1, {kChallenge})), 2).at(0);
  EXPECT_TRUE(node.receive(encode(asked(2, {kChallenge})), 2).empty());
  EXPECT_TRUE(node.receive(encode(asked(2, {kChallenge, {Party::kTrainer, digest_of("other")}})), 2).empty());
  // A referee that asks two things in one turn gets one answer.
  EXPECT_TRUE(node.receive(encode(asked(1, {{Party::kChallenger, digest_of("other challenge")}})), 2).empty());
  EXPECT_EQ(ignored(node, Ignored::kOther), 4U);
  EXPECT_EQ(node.receive(encode(asked(2, {kChallenge, said_by_trainer(first)})), 3).size(), 1U);
  EXPECT_TRUE(node.receive(encode(asked(1, {kChallenge})), 4).empty());
  EXPECT_EQ(ignored(node, Ignored::kOld), 1U);
  EXPECT_EQ(trainer.answers, 2);
}

TEST(Link, WhoStartedAgainSaysSoOnce) {
  Trainer trainer;
  const Bytes first = trainer.open().receive(encode(asked(1, {kChallenge})), 1).at(0);
  PartyNode node = trainer.open(true);
  const Asked next = asked(2, {kChallenge, said_by_trainer(first)});
  const std::vector<Bytes> out = node.receive(encode(next), 2);
  ASSERT_EQ(out.size(), 2U);
  const auto restart = decode_restart(out[0], "test");
  ASSERT_TRUE(restart);
  EXPECT_EQ(restart->turn, 2U);
  EXPECT_TRUE(verify_restart(*restart, kTerms));
  EXPECT_EQ(node.receive(encode(next), 3).size(), 1U);
}

// A referee, and its disk.
struct Judge {
  Bytes disk;
  bool full = false;
  std::unique_ptr<RefereeNode> open(uint64_t now) {
    const auto save = [this](ByteView more) -> Status {
      if (full) return unavailable("the disk is full");
      disk.insert(disk.end(), more.begin(), more.end());
      return {};
    };
    return RefereeNode::open(subject(), challenger(), key_of(kReferee), 5, save, disk, now).value();
  }
};

TEST(Link, AForfeitThatCannotBeSavedIsNotSaidYetAndOneThatWasSavedStays) {
  Judge judge;
  std::unique_ptr<RefereeNode> referee = judge.open(0);
  judge.full = true;
  EXPECT_TRUE(referee->tick(60).empty());
  EXPECT_FALSE(referee->closing());
  judge.full = false;
  EXPECT_EQ(referee->tick(61).size(), 2U);
  ASSERT_TRUE(referee->closing());
  const std::unique_ptr<RefereeNode> again = judge.open(1000);
  EXPECT_EQ(again->closing(), referee->closing());
  EXPECT_EQ(again->record(), referee->record());
  EXPECT_EQ(again->tick(1000).size(), 2U);
  EXPECT_EQ(again->whole(), judge.disk.size());
  // Half of it was never said, also where the other half is zeros.
  const Bytes said = judge.disk;
  judge.disk.resize(said.size() / 2);
  EXPECT_FALSE(judge.open(1000)->closing());
  for (size_t written = 0; written <= said.size() - 8; ++written) {
    judge.disk = said;
    std::fill(judge.disk.begin() + static_cast<std::ptrdiff_t>(written), judge.disk.end(), uint8_t{0});
    const std::unique_ptr<RefereeNode> torn = judge.open(1000);
    EXPECT_FALSE(torn->closing()) << written;
    EXPECT_EQ(torn->whole(), 0U);
  }
}

TEST(Link, WhoNeverChallengesForfeitsAndTheRecordShowsIt) {
  Judge judge;
  const std::unique_ptr<RefereeNode> node = judge.open(100);
  RefereeNode& referee = *node;
  std::vector<Outgoing> out = referee.tick(100);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].to, Party::kChallenger);
  EXPECT_TRUE(referee.tick(104).empty());
  EXPECT_EQ(referee.tick(105).size(), 1U);
  EXPECT_TRUE(referee.tick(160 - 1).size() == 1 && !referee.closing());
  out = referee.tick(160);
  ASSERT_EQ(out.size(), 2U);
  ASSERT_TRUE(referee.closing());
  EXPECT_EQ(referee.closing()->outcome, Outcome::kChallengerForfeits);
  Record record = referee.record();
  EXPECT_EQ(decode_record(encode(record), "test").value(), record);
  const auto replayed = replay(record, subject());
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_EQ(replayed->verdict.outcome, Outcome::kChallengerForfeits);
  EXPECT_EQ(replayed->challenger, challenger());
  // Nobody but the referee can say so, and it cannot say it of who was not asked.
  const Closing closing = std::get<Closing>(record.ending);
  for (const Outcome outcome : {Outcome::kTrainerForfeits, Outcome::kBothForfeit, Outcome::kTrainerWrong}) {
    Closing other = closing;
    other.outcome = outcome;
    record.ending = other;
    EXPECT_FALSE(replay(record, subject()));
    record.ending = sign_closing(other, kTerms, key_of(kReferee));
    EXPECT_FALSE(replay(record, subject()));
  }
  record.ending = std::monostate();
  EXPECT_FALSE(replay(record, subject()));
}

TEST(Link, ARestartIsGrantedOncePerTurn) {
  Judge judge;
  const std::unique_ptr<RefereeNode> node = judge.open(0);
  RefereeNode& referee = *node;
  const commit::Digest history = referee.referee().question().history;
  const auto announce = [&](uint8_t key, uint64_t turn, uint64_t now) {
    (void)referee.receive(encode(sign_restart(turn, history, kTerms, key_of(key))), now);
    return referee.counts().restarts;
  };
  EXPECT_EQ(announce(kTrainer, 0, 30), 0U);  // is not asked
  EXPECT_EQ(announce(kStranger, 0, 30), 0U);
  EXPECT_EQ(announce(kChallenger, 1, 30), 0U);
  EXPECT_EQ(announce(kChallenger, 0, 30), 1U);
  EXPECT_EQ(announce(kChallenger, 0, 200), 1U);
  EXPECT_EQ(referee.counts().dropped_restarts, 4U);
  (void)referee.tick(329);
  EXPECT_FALSE(referee.closing());
  (void)referee.tick(330);
  EXPECT_TRUE(referee.closing());
}

}  // namespace
}  // namespace isobit::dispute
