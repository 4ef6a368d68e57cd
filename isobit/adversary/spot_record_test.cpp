// What a spot check found, as a record: it proves what is false to whoever has the job, and nothing proves anything
// false of an honest run.
#include "isobit/dispute/spot_record.h"

#include "isobit/adversary/dispute_for_test.h"
#include "isobit/run/spot_run.h"
#include "isobit/verify/testing.h"

namespace isobit::adversary {
namespace {

using namespace testing;
using dispute::SpotRecord;

class SpotRecords : public DisputeTest {
 protected:
  struct Checked {
    SpotRecord record;
    dispute::Subject subject;
    std::optional<dispute::SpotFinding> finding;
  };
  Checked check(const Made& made, uint64_t draws, uint8_t fill = 1, dispute::SpotTrainer::ForgeStates forge = nullptr) {
    run::DisputeSide of_trainer = side(made, kTrainerSeed);
    of_trainer.forge_states = std::move(forge);
    const auto known = run::spot_known(of_trainer.open);
    const auto trainer = run::SpotSide::open(of_trainer);
    EXPECT_TRUE(known && trainer);
    Checked out{{known->subject.engagement, Bytes(32, fill), draws, 2, {}}, known->subject, {}};
    dispute::SpotCheck spot(known->subject, out.record.seed, draws, 2, known->transcript);
    const auto ask = [&](const Bytes& question) { return (*trainer)->answer(question); };
    EXPECT_TRUE(run::run_spot_check(spot, ask, nullptr, &out.record.messages));
    out.finding = spot.finding();
    return out;
  }
  static std::string problem(const SpotRecord& record, const dispute::Subject& subject) {
    const auto proved = dispute::prove(record, subject);
    EXPECT_TRUE(proved || proved.error().code == ErrorCode::kRejected) << proved.error().message;
    return proved ? "" : proved.error().message;
  }
  static SpotRecord again(const SpotRecord& record) {
    return dispute::decode_spot_record(dispute::encode(record), "record").value();
  }
};

TEST_F(SpotRecords, WhatIsFalseIsProvedAndNothingElse) {
  for (const std::string arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    SCOPED_TRACE(arithmetic);
    const train::Job job = digits_job({"job.arithmetic=" + arithmetic, "data.batch=40"});
    const Made false_run = make("false_" + arithmetic, job, "rate", 2);
    const Checked checked = check(false_run, 400);
    ASSERT_TRUE(checked.finding);
    const SpotRecord record = again(checked.record);
    EXPECT_EQ(record, checked.record);
    const auto proved = dispute::prove(record, checked.subject);
    ASSERT_TRUE(proved) << proved.error().message;
    EXPECT_EQ(proved->finding.level, Level::kElement);
    EXPECT_EQ(proved->finding.op, "isobit.Sgd");
    EXPECT_EQ(proved->finding.element, checked.finding->element);
    EXPECT_EQ(proved->finding.right, checked.finding->right);

    // Nothing of it can be left out, changed or added, and another draw asks other questions.
    SpotRecord other = record;
    other.messages.pop_back();
    EXPECT_NE(problem(other, checked.subject).find("nothing that the trainer showed is false"), std::string::npos);
    other = record;
    other.messages.push_back(record.messages.back());
    EXPECT_NE(problem(other, checked.subject), "");
    other = record;
    other.messages.erase(other.messages.begin() + 1);
    EXPECT_NE(problem(other, checked.subject).find("message 1 does not count"), std::string::npos);
    other = record;
    other.seed[0] ^= 1;
    EXPECT_NE(problem(other, checked.subject), "");
    other = record;
    other.draws += 1;
    EXPECT_NE(problem(other, checked.subject), "");
    for (const std::optional<uint64_t> step : {std::optional<uint64_t>(3), std::optional<uint64_t>(99), {}}) {
      other = record;
      other.step = step;
      EXPECT_NE(problem(other, checked.subject), "");
    }
    // Every message bears on it.
    for (size_t i = 0; i < record.messages.size(); i += 7) {
      other = record;
      other.messages[i][other.messages[i].size() * 2 / 3] ^= 8;
      EXPECT_NE(problem(other, checked.subject), "") << "message " << i;
    }
  }
}

TEST_F(SpotRecords, AFalsePartOfASumIsProvedByTheStatesThatWereSigned) {
  const Made honest = make("honest", digits_job({"data.batch=40"}));
  const auto forge = [](std::vector<judge::State>& states) {
    for (judge::State& s : states) s[1] ^= 1;
  };
  std::set<bool> of_chunk;
  for (uint8_t fill = 1; fill < 6; ++fill) {
    const Checked checked = check(honest, 200, fill, forge);
    ASSERT_TRUE(checked.finding);
    const auto proved = dispute::prove(checked.record, checked.subject);
    ASSERT_TRUE(proved) << proved.error().message;
    EXPECT_EQ(proved->finding.chunk, checked.finding->chunk);
    of_chunk.insert(proved->finding.chunk.has_value());
  }
  EXPECT_TRUE(of_chunk.contains(true));
}

TEST_F(SpotRecords, AnHonestRunGivesNone) {
  const Checked checked = check(make("honest", digits_job({})), 100);
  EXPECT_FALSE(checked.finding);
  for (const size_t messages : {size_t{0}, size_t{1}, size_t{2}, size_t{50}, checked.record.messages.size()}) {
    SpotRecord record = checked.record;
    record.messages.resize(messages);
    EXPECT_NE(problem(record, checked.subject).find("nothing that the trainer showed is false"), std::string::npos);
  }
}

TEST(SpotFiles, OnlyAWholeOneOpens) {
  const Bytes file = dispute::seal_spot_file(as_bytes(std::string("a question")));
  EXPECT_EQ(dispute::open_spot_file(file, "file").value(), Bytes({'a', ' ', 'q', 'u', 'e', 's', 't', 'i', 'o', 'n'}));
  for (size_t n = 0; n < file.size(); ++n) {
    EXPECT_FALSE(dispute::open_spot_file(ByteView(file).first(n), "file"));
    Bytes changed = file;
    changed[n] ^= 1;
    EXPECT_EQ(dispute::open_spot_file(changed, "file").error().code, ErrorCode::kUnreadable);
  }
}

TEST(SpotFiles, ARecordOutOfBoundsIsNone) {
  SpotRecord record;
  record.engagement = verify::testing::fake_engagement();
  record.seed = Bytes(16, 1);
  ASSERT_TRUE(dispute::decode_spot_record(dispute::encode(record), "record"));
  for (const uint64_t draws : {uint64_t{0}, dispute::kMaxSpotDraws + 1}) {
    SpotRecord other = record;
    other.draws = draws;
    EXPECT_FALSE(dispute::decode_spot_record(dispute::encode(other), "record"));
  }
  for (const size_t seed : {15, 1025}) {
    SpotRecord other = record;
    other.seed = Bytes(seed, 1);
    EXPECT_FALSE(dispute::decode_spot_record(dispute::encode(other), "record"));
  }
}

}  // namespace
}  // namespace isobit::adversary
