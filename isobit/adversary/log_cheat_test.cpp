// What dishonest rounding logs come to in whole runs: a value that no honest platform could have is never accepted, and
// what an honest log does not have is counted.
#include "isobit/adversary/cheat_for_test.h"
#include "isobit/base/whole_for_test.h"

namespace isobit::adversary {
namespace {

using namespace testing;

class LogCheatTest : public CheatTest {};

TEST_F(LogCheatTest, AnHonestLogHasNoFindings) {
  const run::AuditSummary s = audit_of(request(near_tie_job()));
  EXPECT_TRUE(s.verdict.accepted()) << s.verdict.reason;
  const log::Counts counts = total(s.log_counts);
  EXPECT_GT(counts.entries, 30u);
  EXPECT_GT(counts.checked, 100u);
  EXPECT_EQ(counts.findings(), 0u);
  EXPECT_EQ(counts.corrections, 0u);  // both compute in the same order
}

TEST_F(LogCheatTest, AMovedValueIsRejectedByStepAndOperator) {
  for (const char* set : {"rounding.divergence=32", "rounding.divergence=65536", "rounding.bits=27"}) {
    const run::AuditSummary s = audit_of_cheat("log-move", kAt, logged_job({set}));
    expect_rejected(s, verify::Part::kLog, set);
    ASSERT_TRUE(s.verdict.first_difference->op) << s.verdict.reason;
    EXPECT_FALSE(s.verdict.first_difference->op->empty());
    EXPECT_NE(s.verdict.reason.find("no result within the sound error bound"), std::string::npos) << s.verdict.reason;
    // It is the first product of a step after a committed state, whose operands both know.
    EXPECT_NE(s.verdict.reason.find("have the same operands"), std::string::npos) << s.verdict.reason;
  }
}

TEST_F(LogCheatTest, WhereTheStateIsNotCommittedNobodyIsNamed) {
  const run::AuditSummary s = audit_of_cheat("log-move", kAt, logged_job({"commit.every=5"}));
  expect_rejected(s, verify::Part::kLog, "log-move");
  EXPECT_EQ(s.verdict.reason.find("have the same operands"), std::string::npos) << s.verdict.reason;
  EXPECT_NE(s.verdict.reason.find("calls no value illegal"), std::string::npos) << s.verdict.reason;
}

TEST_F(LogCheatTest, ALegalMoveIsAcceptedAndCounted) {
  const run::AuditSummary s = audit_of_cheat("log-nudge", kAt, near_tie_job());
  EXPECT_TRUE(s.verdict.accepted()) << s.verdict.reason;
  EXPECT_EQ(total(s.log_counts).corrections, 1u);
  EXPECT_EQ(total(s.log_counts).findings(), 0u);
}

TEST_F(LogCheatTest, ManyLegalMovesChangeTheRun) {
  const auto honest = run::train_run(train_request(folder_ / "honest", near_tie_job()));
  run::TrainRequest r = train_request(folder_ / "forged", near_tie_job());
  ASSERT_TRUE(apply_cheat("log-many", 1, r));
  const auto forged = run::train_run(r);
  ASSERT_TRUE(honest && forged);
  EXPECT_NE(honest->final_state_root, forged->final_state_root);
  const auto audited = run::audit_run(audit_request(r.out));
  ASSERT_TRUE(audited) << audited.error().message;
  EXPECT_TRUE(audited->verdict.accepted()) << audited->verdict.reason;
  const log::Counts counts = total(audited->log_counts);
  EXPECT_EQ(counts.findings(), 0u);
  EXPECT_GT(counts.moved, counts.entries / 10);
}

TEST_F(LogCheatTest, AMoveBeyondTheJobsBoundIsAFinding) {
  const run::AuditSummary s = audit_of_cheat("log-beyond", kAt, near_tie_job({"rounding.divergence=16"}));
  EXPECT_TRUE(s.verdict.accepted()) << s.verdict.reason;
  EXPECT_EQ(total(s.log_counts).beyond, 1u);
  EXPECT_EQ(total(s.log_counts).moved, 1u);
}

TEST_F(LogCheatTest, AnEntryTooManyIsFoundAndManyAreRefused) {
  const run::AuditSummary s = audit_of_cheat("log-add", kAt, logged_job());
  EXPECT_TRUE(s.verdict.accepted()) << s.verdict.reason;
  EXPECT_EQ(total(s.log_counts).superfluous, 1u);
  EXPECT_EQ(total(s.log_counts).corrections, 0u);
  const run::AuditSummary padded = audit_of_cheat("log-pad", kAt, logged_job());
  expect_rejected(padded, verify::Part::kLog, "log-pad");
  EXPECT_NE(padded.verdict.reason.find("an honest log has none"), std::string::npos) << padded.verdict.reason;
}

// The exact value decides where an entry is missing. Where it is what the trainer took, the entry is reported as
// missing and the run is accepted; where it is not, the run is refused, in the step whose entries were removed.
TEST_F(LogCheatTest, ARemovedEntryIsReportedOrRefused) {
  int refused = 0;
  for (int64_t at = 1; at <= kSteps; ++at) {
    if (at != kAt && !whole_test()) continue;
    const run::AuditSummary exact = audit_of_cheat("log-remove", at, near_tie_job());
    EXPECT_TRUE(exact.verdict.accepted()) << "step " << at << ": " << exact.verdict.reason;
    EXPECT_EQ(total(exact.log_counts).missing, 1u) << "step " << at;
    EXPECT_EQ(total(exact.log_counts).findings(), 1u) << "step " << at;

    const run::AuditSummary other = audit_of_cheat("log-hide", at, near_tie_job());
    if (other.verdict.accepted()) {  // no state shows the false values: later roundings have absorbed them
      EXPECT_GT(total(other.log_counts).missing, 0u) << "step " << at;
      continue;
    }
    ASSERT_TRUE(other.verdict.first_difference) << "step " << at << ": " << other.verdict.reason;
    EXPECT_EQ(other.verdict.first_difference->last_step, static_cast<uint64_t>(at)) << other.verdict.reason;
    EXPECT_NE(other.verdict.reason.find("calls no value illegal"), std::string::npos) << other.verdict.reason;
    ++refused;
  }
  EXPECT_EQ(refused, whole_test() ? 2 : 1);  // the bits are the same on every machine, and so is this number
}

// Results of a platform lie farther from the exact ones than 1.0005 units.
TEST_F(LogCheatTest, APlatformBeyondTheJobsBoundNeitherSignsNorJudges) {
  for (const char* log : {"sparse", "ovt"}) {
    const train::Job job = logged_job({"rounding.divergence=0.001", text_of("rounding.log=", log)});
    run::TrainRequest r = request(job);
    const auto refused = run::train_run(r);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(refused.error().message.find("beyond the job's error bound"), std::string::npos);
    fs::remove_all(r.out);
    const run::AuditSummary s = audit_of_cheat("log-unchecked", 1, job);
    EXPECT_EQ(s.verdict.outcome, verify::Outcome::kInconclusive) << s.verdict.reason;
    EXPECT_TRUE(s.verdict.reason.starts_with("inconclusive: ")) << s.verdict.reason;
    EXPECT_NE(s.verdict.reason.find("beyond the job's error bound"), std::string::npos) << s.verdict.reason;
  }
}

// What steered a run from 61 to 214 of 360 right, and every audit accepted it.
TEST_F(LogCheatTest, ForgedDecisionsOfTheOptimizerAreRejected) {
  for (const char* distance : {"true", "false"}) {
    const train::Job job = logged_job({"rounding.log=ovt", text_of("rounding.distance=", distance)});
    const run::AuditSummary s = audit_of_cheat("log-optimizer", kAt, job);
    expect_rejected(s, verify::Part::kLog, distance);
    EXPECT_NE(s.verdict.reason.find("every platform computes alike"), std::string::npos) << s.verdict.reason;
    EXPECT_NE(s.verdict.first_difference->op, std::nullopt);
  }
}

TEST_F(LogCheatTest, ReversedDecisionsAreRejectedUnlessTheyAreTakenAsPublished) {
  const run::AuditSummary s = audit_of_cheat("log-reverse", kAt, logged_job({"rounding.log=ovt"}));
  expect_rejected(s, verify::Part::kLog, "log-reverse");
  EXPECT_NE(s.verdict.reason.find("no result within the sound error bound"), std::string::npos) << s.verdict.reason;
  const run::AuditSummary published =
      audit_of_cheat("log-reverse", kAt, logged_job({"rounding.log=ovt", "rounding.distance=false"}));
  EXPECT_TRUE(published.verdict.accepted()) << published.verdict.reason;
  EXPECT_NE(published.verdict.reason.find("no guarantee"), std::string::npos) << published.verdict.reason;
}

TEST_F(LogCheatTest, LogsOfOtherStepsAndRunsAreRejected) {
  for (const char* log : {"sparse", "ovt"}) {
    const std::string kind = text_of("rounding.log=", log);
    expect_rejected(audit_of_cheat("log-swap", kAt, logged_job({kind})), verify::Part::kLog, log);
    for (const char* cheat : {"log-cut", "log-version"})
      expect_rejected(audit_of_cheat(cheat, kAt, logged_job({kind})), verify::Part::kLog, log);
  }
  const run::AuditSummary s = audit_of_cheat("log-foreign", kAt, near_tie_job());
  expect_rejected(s, verify::Part::kLog, "log-foreign");
}

TEST_F(LogCheatTest, WhatCannotBeDoneIsSaid) {
  run::TrainRequest r = request(small_job());
  for (const Cheat& cheat : log_cheats()) {
    const Status refused = apply_cheat(cheat.name, kAt, r);
    ASSERT_FALSE(refused) << cheat.name;
    EXPECT_NE(refused.error().message.find("logged-1"), std::string::npos) << refused.error().message;
  }
  r = request(logged_job({"rounding.log=ovt"}));
  EXPECT_FALSE(apply_cheat("log-add", kAt, r));
  r = request(logged_job());
  EXPECT_FALSE(apply_cheat("log-swap", 1, r));
  r = request(logged_job({"rounding.log=ovt"}));
  EXPECT_FALSE(apply_cheat("log-move", kAt, r));
  r = request(logged_job());
  EXPECT_FALSE(apply_cheat("log-optimizer", kAt, r));
  r = request(logged_job({"rounding.bits=22"}));  // no near-ties at all
  ASSERT_TRUE(apply_cheat("log-nudge", kAt, r));
  const auto trained = run::train_run(r);
  ASSERT_FALSE(trained);
  EXPECT_EQ(trained.error().code, ErrorCode::kUsage);
  EXPECT_NE(trained.error().message.find("step 3"), std::string::npos) << trained.error().message;
}

}  // namespace
}  // namespace isobit::adversary
