// What dishonest rounding logs come to in whole runs: a value that no honest platform could have is never accepted, and
// what an honest log does not have is counted. Likewise logs that are damaged, though the trainer has signed them.
#include "isobit/adversary/log_cheat.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "isobit/log/compression_internal.h"
#include "isobit/log/payload_internal.h"
#include "isobit/run/testing.h"

namespace isobit::adversary {
namespace {

using run::testing::audit_request;
using run::testing::Folder;
using run::testing::small_job;
using run::testing::train_request;

constexpr int64_t kSteps = 5, kAt = 3;

train::Job logged_job(const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"job.arithmetic=logged-1", "job.steps=5", "checkpoint.every=0"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return small_job(all);
}

// Wide enough, and under a bound as loose as there is, that every step has some tens of near-ties.
train::Job near_tie_job(const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"model.width=16", "data.batch=24", "rounding.divergence=65536"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return logged_job(all);
}

class LogCheatTest : public ::testing::Test {
 protected:
  LogCheatTest() : folder_("log_cheat") {}

  // The audit of a run that was trained so.
  run::AuditSummary audit_of(const run::TrainRequest& request) {
    const auto trained = run::train_run(request);
    EXPECT_TRUE(trained) << trained.error().message;
    const auto audited = run::audit_run(audit_request(request.out));
    EXPECT_TRUE(audited) << audited.error().message;
    fs::remove_all(request.out);
    return audited ? *audited : run::AuditSummary{};
  }
  run::TrainRequest request(const train::Job& job) { return train_request(folder_ / "run", job); }
  run::AuditSummary audit_of_cheat(const std::string& name, int64_t step, const train::Job& job) {
    run::TrainRequest r = request(job);
    const Status applied = apply_cheat(name, step, r);
    EXPECT_TRUE(applied) << applied.error().message;
    return audit_of(r);
  }

  void expect_rejected(const run::AuditSummary& s, verify::Part part, const std::string& what) {
    EXPECT_FALSE(s.verdict.accepted()) << what;
    ASSERT_TRUE(s.verdict.first_difference) << what;
    EXPECT_EQ(s.verdict.first_difference->step, static_cast<uint64_t>(kAt)) << what << ": " << s.verdict.reason;
    EXPECT_EQ(s.verdict.first_difference->part, part) << what << ": " << s.verdict.reason;
  }
  Folder folder_;
};

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
  EXPECT_NE(s.verdict.reason.find("names nobody's value as illegal"), std::string::npos) << s.verdict.reason;
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
// missing and the run is accepted; where it is not, the run is refused, from the step on whose entry was removed.
TEST_F(LogCheatTest, ARemovedEntryIsReportedOrRefused) {
  int reported = 0, refused = 0;
  for (int64_t at = 1; at <= kSteps; ++at) {
    const run::AuditSummary s = audit_of_cheat("log-remove", at, near_tie_job());
    if (s.verdict.accepted()) {
      EXPECT_EQ(total(s.log_counts).missing, 1u) << "step " << at;
      EXPECT_EQ(total(s.log_counts).findings(), 1u) << "step " << at;
      ++reported;
      continue;
    }
    ASSERT_TRUE(s.verdict.first_difference) << s.verdict.reason;
    EXPECT_EQ(s.verdict.first_difference->last_step, static_cast<uint64_t>(at)) << s.verdict.reason;
    EXPECT_NE(s.verdict.reason.find("names nobody's value as illegal"), std::string::npos) << s.verdict.reason;
    ++refused;
  }
  EXPECT_GT(reported, 0);
  EXPECT_EQ(reported + refused, kSteps);
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

// A trainer who commits to whatever `damage` makes of the segment: leaf, heads and manifest agree with it.
class SignedDamage : public LogCheatTest {
 protected:
  void rejected(const std::string& what, const std::function<void(Bytes&)>& damage, const char* log = "sparse") {
    rejected_of(text_of(log, ": ", what), logged_job({text_of("rounding.log=", log)}), damage);
  }
  void rejected_of(const std::string& what, const train::Job& job, const std::function<void(Bytes&)>& damage) {
    run::TrainRequest r = request(job);
    const auto change = [&](uint64_t step, Bytes& segment) -> Status {
      if (step == kAt) damage(segment);
      return {};
    };
    falsify_log(r, {.forge = {}, .change = change});
    const run::AuditSummary s = audit_of(r);
    expect_rejected(s, verify::Part::kLog, what);
    EXPECT_NE(s.verdict.reason.find("step 3"), std::string::npos) << what << ": " << s.verdict.reason;
  }
  // The step's own log, changed and written again as a segment in order.
  void rejected_log(const std::string& what, const std::function<void(log::SparseLog&)>& damage) {
    run::TrainRequest r = request(near_tie_job());
    const auto schema = schema_of(r.job);
    rejected_of(what, r.job, [&](Bytes& segment) {
      auto decoded = log::decode_segment(segment, static_cast<uint64_t>(kAt), log::Kind::kSparse, schema, "test");
      ASSERT_TRUE(decoded) << decoded.error().message;
      damage(std::get<log::SparseLog>(decoded->log));
      segment = log::internal::encode_stored(*decoded);
    });
  }
  static std::vector<log::LoggedOutput> schema_of(const train::Job& job) {
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    const run::Session session = run::open_session(job, engine).value();
    return runtime::logged_outputs(session.trainer->step_graph().graph, log::Kind::kSparse);
  }
};

TEST_F(SignedDamage, CutShortOrLonger) {
  for (size_t kept : {0, 25, 40, 41})
    rejected_of(text_of(kept, " bytes"), near_tie_job(), [=](Bytes& s) { s.resize(kept); });
  for (const char* log : {"sparse", "ovt"}) {
    rejected(
        "40 bytes", [](Bytes& s) { s.resize(40); }, log);
    rejected(
        "without its last byte", [](Bytes& s) { s.pop_back(); }, log);
    rejected(
        "with a byte more", [](Bytes& s) { s.push_back(0); }, log);
  }
}

TEST_F(SignedDamage, AnyFieldOfTheHeader) {
  for (size_t at = 0; at < 40; ++at) {
    rejected(text_of("byte ", at), [=](Bytes& s) { s[at] ^= 1; });
    if (at >= 26)
      rejected(
          text_of("byte ", at), [=](Bytes& s) { s[at] ^= 1; }, "ovt");
  }
}

TEST_F(SignedDamage, AStepsLogUnderAnotherStepsName) {
  Bytes before;
  run::TrainRequest r = request(near_tie_job());
  const auto change = [&](uint64_t step, Bytes& segment) -> Status {
    if (step == kAt) {
      const Bytes own = segment;
      segment = before;
      std::memcpy(segment.data() + 31, own.data() + 31, 8);  // the step
    }
    before = segment;
    return {};
  };
  falsify_log(r, {.forge = {}, .change = change});
  expect_rejected(audit_of(r), verify::Part::kLog, "relabelled");
}

TEST_F(SignedDamage, EntriesOutOfOrderOrRange) {
  rejected_log("node beyond the graph", [](log::SparseLog& log) { log.nodes.back().node += 100000; });
  rejected_log("node that takes none", [](log::SparseLog& log) { log.nodes.front().node = 0; });
  rejected_log("position beyond the output",
               [](log::SparseLog& log) { log.nodes.front().entries.back().position = uint64_t{1} << 40; });
  rejected_log("nodes of another order", [](log::SparseLog& log) {
    ASSERT_GE(log.nodes.size(), 2u);
    std::swap(log.nodes.front().entries, log.nodes.back().entries);
  });
}

// What is missing is evaluated: it costs the auditor time, and whoever trained honestly is believed.
TEST_F(SignedDamage, NoEntriesAtAllAreFoundMissing) {
  run::TrainRequest r = request(near_tie_job());
  const auto schema = schema_of(r.job);
  const auto change = [&](uint64_t step, Bytes& segment) -> Status {
    if (step != static_cast<uint64_t>(kAt)) return {};
    auto decoded = log::decode_segment(segment, step, log::Kind::kSparse, schema, "test");
    EXPECT_TRUE(decoded) << decoded.error().message;
    EXPECT_FALSE(std::get<log::SparseLog>(decoded->log).nodes.empty());
    decoded->log = log::SparseLog{};
    segment = log::internal::encode_stored(*decoded);
    return {};
  };
  falsify_log(r, {.forge = {}, .change = change});
  const run::AuditSummary s = audit_of(r);
  if (s.verdict.accepted()) {
    EXPECT_GT(total(s.log_counts).missing, 0u);
  } else {  // where the trainer's own result was on the other side than the exact value
    EXPECT_NE(s.verdict.reason.find("names nobody's value as illegal"), std::string::npos) << s.verdict.reason;
  }
}

TEST_F(SignedDamage, AFrameThatUnpacksToFarMoreThanThereIsRoomFor) {
  rejected("zstd bomb", [](Bytes& s) {
    Bytes zeros(size_t{64} << 20, 0);
    const Bytes frame = log::internal::zstd_compressed(zeros);
    s.resize(39);
    s.push_back(1);
    s.insert(s.end(), frame.begin(), frame.end());
  });
}

}  // namespace
}  // namespace isobit::adversary
