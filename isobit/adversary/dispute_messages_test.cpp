// What is said in a dispute: messages that do not count, questions of what there is not, and records.
#include <atomic>
#include <random>

#include "isobit/adversary/dispute_for_test.h"
#include "isobit/base/whole_for_test.h"
#include "isobit/dispute/claims.h"
#include "isobit/dispute/record.h"

namespace isobit::adversary {
namespace {

using namespace testing;

class DisputeMessages : public DisputeTest {};

// Both stopped in the middle of an interval, in which they differ.
TEST_F(DisputeMessages, WhatNobodySignedYetIsNotDisputed) {
  const train::Job job = small_job({"commit.every=4", "job.steps=11"});
  const auto stopped = [&](const std::string& name, const std::string& cheat) {
    run::TrainRequest request = train_request(folder_ / name, job);
    EXPECT_TRUE(cheat.empty() || apply_cheat(cheat, 6, request));
    std::atomic<bool> stop = false;
    request.stop = &stop;
    request.progress = [&](const run::TrainProgress& p) { stop = p.step == 7; };
    EXPECT_TRUE(run::train_run(request));
    return Made{request.out, cheat.empty() ? std::nullopt : std::optional(request.conduct), job};
  };
  const Made honest = stopped("honest", ""), false_run = stopped("false", "rate");
  const auto result = run::dispute_runs({side(false_run, kTrainerSeed), side(honest, 77), {}, {}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_NE(result.error().message.find("signed for 5 leaves"), std::string::npos) << result.error().message;
}

// What a step must be follows from the job of the engaged digest, what it was made for from the engaged root: who
// signed terms in which these are of two jobs is not judged by either.
TEST_F(DisputeMessages, TermsOfTwoJobsConvictNobody) {
  const train::Job job = small_job({"job.steps=4"});
  const run::DisputeSide of = side(make("honest", job), kTrainerSeed);
  const auto witness = run::RunWitness::open(of.open, of.platform, {}).value();
  dispute::Subject subject = run::dispute_subject(job, witness->reader().engagement());
  const dispute::Challenge challenge = dispute::make_challenge(witness->session().parts, witness->reader().transcript(),
                                                               run::last_head(witness->reader()).value(), 4)
                                           .value();
  EXPECT_TRUE(dispute::check_challenge(challenge, subject));
  subject.engagement.terms.job_digest[0] ^= 1;
  const Status checked = dispute::check_challenge(challenge, subject);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("of another job"), std::string::npos) << checked.error().message;
}

// A referee may ask for anything.
TEST_F(DisputeMessages, APartyAnswersNoQuestionOfWhatThereIsNot) {
  const train::Job job = small_job({"job.steps=4"});
  const Made made = make("honest", job);
  const run::DisputeSide of = side(made, kTrainerSeed);
  const auto witness = run::RunWitness::open(of.open, of.platform, {}).value();
  const dispute::Subject subject = run::dispute_subject(job, witness->reader().engagement());
  const auto answers = [&](dispute::Question q) {
    ThreadPool pool(1);
    dispute::Player player(subject, witness->session().parts, dispute::Party::kTrainer, *witness,
                           &witness->reader().transcript(), run::testing::key(kTrainerSeed), pool);
    return player.answer(q).has_value();
  };
  using dispute::Kind;
  dispute::Question q;
  q.kind = Kind::kSteps;
  q.last_step = 4;
  q.leaves = 6;
  EXPECT_TRUE(answers(q));
  for (const auto& [first, last, leaves] :
       {std::array<uint64_t, 3>{4, 4, 6}, {0, 5, 6}, {0, 4, 7}, {0, 4, 4}, {3, 2, 6}}) {
    q.first_step = first, q.last_step = last, q.leaves = leaves;
    EXPECT_FALSE(answers(q)) << first << " " << last << " " << leaves;
  }
  const uint64_t entries = witness->schema().size();
  for (const Kind kind : {Kind::kValues, Kind::kTiles, Kind::kParts, Kind::kLeaf, Kind::kNode, Kind::kStates,
                          Kind::kGrounds, Kind::kLoss, Kind::kBatch, Kind::kSample}) {
    q = {};
    q.kind = kind;
    for (const uint64_t step : {0, 5}) {
      q.step = step;
      EXPECT_FALSE(answers(q)) << static_cast<int>(kind) << " of step " << step;
    }
    if (kind == Kind::kValues || kind == Kind::kLoss || kind == Kind::kBatch) continue;
    q.step = 2;
    q.entry = entries;
    EXPECT_FALSE(answers(q)) << static_cast<int>(kind);
    if (kind == Kind::kTiles) continue;
    q.entry = entries - 1;
    q.element = int64_t{1} << 40;
    q.part = {uint64_t{1} << 40, 1};
    q.chunk = 5;
    EXPECT_FALSE(answers(q)) << static_cast<int>(kind);
    if (kind != Kind::kGrounds && kind != Kind::kStates && kind != Kind::kSample) continue;
    q.element = 0;  // of a value of one part, and of a node
    EXPECT_FALSE(answers(q)) << static_cast<int>(kind);
  }
}

TEST_F(DisputeMessages, ARecordGivesTheVerdictAgainAndNoOther) {
  const train::Job job = small_job({"job.steps=5"});
  const Made honest = make("honest", job), false_run = make("false", job, "sample", 3);
  const run::DisputeResult result = settle(false_run, honest);
  const dispute::Record record{result.engagement, result.record, {}};
  const dispute::Subject subject = run::dispute_subject(job, result.engagement);
  const auto again = dispute::replay(record, subject);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->verdict, result.verdict);
  const Bytes bytes = encode(record);
  EXPECT_EQ(dispute::decode_record(bytes, "test").value(), record);
  std::mt19937 random(1);
  for (int i = 0; i < (whole_test() ? 2000 : 700); ++i) {
    Bytes changed = bytes;
    const size_t bit = random() % (bytes.size() * 8);
    changed[bit / 8] = static_cast<uint8_t>(changed[bit / 8] ^ (1 << bit % 8));
    const auto decoded = dispute::decode_record(changed, "test");
    if (!decoded || !verify::verify_engagement(decoded->engagement, record.engagement.terms.client_key)) continue;
    EXPECT_FALSE(dispute::replay(*decoded, subject)) << "bit " << bit;
  }
  dispute::Record shorter = record;
  shorter.messages.pop_back();
  EXPECT_FALSE(dispute::replay(shorter, subject));
}

// Messages of a game that was played, given to another referee with changes.
class Replays {
 public:
  Replays(const run::DisputeResult& played, dispute::Subject subject) : played_(played), subject_(std::move(subject)) {}

  size_t size() const { return played_.record.size(); }
  dispute::Message message(size_t i) const { return dispute::decode_message(played_.record[i], "test").value(); }
  // A referee who has heard the first `count` messages.
  std::unique_ptr<dispute::Referee> after(size_t count) const {
    auto referee = std::make_unique<dispute::Referee>(subject_, run::testing::key(77).public_key());
    for (size_t i = 0; i < count; ++i) EXPECT_TRUE(referee->receive(played_.record[i]).counts);
    return referee;
  }
  Bytes signed_by(uint8_t key, dispute::Message m) const {
    return encode(
        dispute::sign_message(m.turn, m.history, std::move(m.body), subject_.engagement.terms, run::testing::key(key)));
  }

 private:
  const run::DisputeResult& played_;
  const dispute::Subject subject_;
};

TEST_F(DisputeMessages, WhatDoesNotCountIsDroppedAndConvictsNobody) {
  const train::Job job = digits_job({"data.batch=40", "optimizer.momentum=0"});
  const Made honest = make("honest", job), false_run = make("false", job, "gradient", 2);
  const run::DisputeResult result = settle(false_run, honest);
  const Replays replays(result, run::dispute_subject(job, result.engagement));
  for (size_t i = 0; i < replays.size(); ++i) {
    SCOPED_TRACE(text_of("message ", i));
    const auto referee = replays.after(i);
    const dispute::Message m = replays.message(i);
    const uint8_t own = m.key == run::testing::key(77).public_key() ? 77 : kTrainerSeed;
    uint64_t dropped = 0;
    const auto expect_dropped = [&](const Bytes& bytes, const char* what) {
      EXPECT_FALSE(referee->receive(bytes).counts) << what;
      EXPECT_EQ(referee->counts().dropped, ++dropped) << what;
      EXPECT_FALSE(referee->verdict()) << what;
    };
    Bytes changed = result.record[i];
    changed.back() ^= 1;
    expect_dropped(changed, "not what was signed");
    expect_dropped(Bytes(changed.begin(), changed.end() - 1), "cut off");
    expect_dropped({}, "nothing");
    dispute::Message other = m;
    other.turn += 1;
    expect_dropped(replays.signed_by(own, other), "of another turn");
    other = m;
    other.history[0] ^= 1;
    expect_dropped(replays.signed_by(own, other), "of another game");
    if (i > 0 || own == kTrainerSeed) expect_dropped(replays.signed_by(5, m), "of nobody");
    if (i > 0) expect_dropped(result.record[i - 1], "said already");
    EXPECT_TRUE(referee->receive(result.record[i]).counts);
    // Signed for this very question, so that it would be an answer beside another one.
    const auto another = replays.after(i);
    other = m;
    other.body.clear();
    EXPECT_FALSE(another->receive(replays.signed_by(own, other)).counts);
    EXPECT_FALSE(another->verdict()) << "says nothing";
  }
}

// Whatever a dishonest party signs, the honest one is not found wrong.
TEST_F(DisputeMessages, NothingThatOnePartySignsConvictsTheOther) {
  const train::Job job = digits_job({"data.batch=40", "optimizer.momentum=0"});
  const Made honest = make("honest", job), false_run = make("false", job, "gradient", 2);
  std::mt19937 random(7);
  for (const bool trainer_is_honest : {false, true}) {
    const run::DisputeResult result = trainer_is_honest ? settle(honest, false_run) : settle(false_run, honest);
    const Replays replays(result, run::dispute_subject(job, result.engagement));
    const uint8_t liar = trainer_is_honest ? 77 : kTrainerSeed;
    int counted = 0;
    for (size_t i = 0; i < replays.size(); ++i) {
      const dispute::Message m = replays.message(i);
      if (m.key != run::testing::key(liar).public_key()) continue;
      for (int n = 0; n < (whole_test() ? 150 : 50); ++n) {
        dispute::Message other = m;
        for (size_t flips = 1 + random() % 3; flips > 0; --flips) {
          other.body[random() % other.body.size()] ^= static_cast<uint8_t>(1 << random() % 8);
        }
        const auto referee = replays.after(i);
        counted += referee->receive(replays.signed_by(liar, other)).counts ? 1 : 0;
        for (size_t later = i + 1; later < replays.size() && !referee->verdict(); ++later) {
          referee->receive(result.record[later]);
        }
        if (!referee->verdict()) continue;
        EXPECT_EQ(referee->verdict()->outcome, trainer_is_honest ? Outcome::kChallengerWrong : Outcome::kTrainerWrong)
            << "message " << i << ": " << referee->verdict()->reason;
      }
    }
    EXPECT_GT(counted, 10) << "else nothing but the door was tried";
  }
}

}  // namespace
}  // namespace isobit::adversary
