// Runs under an engagement as an auditor sees them: whose terms count, whose paths, and one run for a run id.
#include "isobit/run/compare_runs.h"
#include "isobit/run/engaged_for_test.h"

namespace isobit::run {
namespace {

// Which run is the first under its run id is for an auditor to say who has the job's data.
TEST_F(Engaged, WhoCannotJudgeARunDoesNotNoteIt) {
  const verify::Engagement engagement = *accept_offer(accept_request(offer()))->engagement;
  ASSERT_TRUE(train_run(train_request(engagement, "run")));
  AuditRequest audit = testing::audit_request(folder_ / "run");
  audit.home = folder_ / "auditor";
  ASSERT_TRUE(write_file_durably(folder_ / "salt", as_bytes(std::string(64, 'a') + "\n")));
  audit.overrides = {"data.salt=" + (folder_ / "salt").string()};
  const auto others = audit_run(audit);
  ASSERT_TRUE(others) << others.error().message;
  EXPECT_EQ(others->verdict.first_difference->part, verify::Part::kJob) << others->verdict.reason;
  audit.overrides = {"data.salt=" + (folder_ / "missing").string()};
  EXPECT_FALSE(audit_run(audit));
  EXPECT_FALSE(fs::exists(audit.home / "judged"));
  audit.overrides = {};
  EXPECT_TRUE(audit_run(audit)->verdict.accepted());
  EXPECT_TRUE(fs::exists(audit.home / "judged"));
}

TEST_F(Engaged, PathsStayAtHome) {
  const fs::path data = folder_ / "text.bin";
  ASSERT_TRUE(write_file_durably(data, as_bytes(std::string(4000, 'x') + "the quick brown fox")));
  train::Job job = small_job({"job.steps=3"});
  job.model.builder = "gpt";
  job.model.layers = 1;
  job.model.heads = 1;
  job.model.channels = 16;
  job.data = {};
  job.data.dataset = "text";
  job.data.path = data.string();
  job.data.context = 8;
  TrainRequest request = train_request({}, "run");
  request.engagement.reset();
  request.client = key(1);
  request.job = job;
  std::atomic<bool> stop{true};
  request.stop = &stop;
  ASSERT_TRUE(train_run(request));
  stop = false;
  for (const auto& entry : fs::recursive_directory_iterator(request.out)) {
    if (!entry.is_regular_file()) continue;
    const Bytes bytes = read_file(entry.path(), 1 << 26).value();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_EQ(text.find(data.string()), std::string_view::npos) << entry.path();
  }
  TrainRequest elsewhere = request;
  elsewhere.home = folder_ / "another home";
  EXPECT_EQ(resume_run(elsewhere).error().code, ErrorCode::kUnreadable) << "who has not noted the paths must name them";
  const auto resumed = resume_run(request);
  EXPECT_TRUE(resumed) << resumed.error().message;

  // An audit takes the paths of an own run from the register, of anybody's from who audits, of a stranger's never.
  AuditRequest audit = testing::audit_request(request.out);
  EXPECT_EQ(audit_run(audit).error().code, ErrorCode::kUnreadable);
  audit.home = request.home;
  EXPECT_EQ(audit_run(audit).error().code, ErrorCode::kUnreadable) << "the trainer's key is not this home's";
  ASSERT_TRUE(commit::write_public_key(request.home / "trainer.pub", key(3).public_key()));
  EXPECT_EQ(audit_run(audit).error().code, ErrorCode::kUnreadable) << "the trainer's key is another one";
  fs::remove(request.home / "trainer.pub");
  ASSERT_TRUE(commit::write_public_key(request.home / "trainer.pub", key(2).public_key()));
  EXPECT_TRUE(audit_run(audit)->verdict.accepted());
  AuditRequest named = testing::audit_request(request.out);
  named.overrides = {text_of("data.path=\"", data.string(), "\"")};
  EXPECT_TRUE(audit_run(named)->verdict.accepted());
  named.overrides.clear();
  named.job = job;
  EXPECT_TRUE(audit_run(named)->verdict.accepted());
  named.job->seed += 1;
  const auto other_job = audit_run(named);
  EXPECT_FALSE(other_job->verdict.accepted());
  EXPECT_NE(other_job->verdict.reason.find("'job_digest'"), std::string::npos) << other_job->verdict.reason;
  // A job file that names a path after all: signed for, and opened by nobody.
  ASSERT_TRUE(write_file_durably(request.out / "job.toml", as_bytes(train::job_to_toml(job))));
  testing::sign_again(request.out);
  EXPECT_EQ(audit_run(testing::audit_request(request.out)).error().code, ErrorCode::kUnreadable);
  named.job = job;
  EXPECT_TRUE(audit_run(named)->verdict.accepted());
}

TEST_F(Engaged, AnAuditWantsTheClientsTermsAndOneRunForARunId) {
  const verify::Engagement engagement = *accept_offer(accept_request(offer()))->engagement;
  ASSERT_TRUE(train_run(train_request(engagement, "run")));
  AuditRequest audit = testing::audit_request(folder_ / "run");
  audit.terms = engagement.terms;
  audit.home = folder_ / "auditor";
  EXPECT_TRUE(audit_run(audit)->verdict.accepted());
  EXPECT_TRUE(audit_run(audit)->verdict.accepted()) << "the same run may be judged again";
  // The same client and job, and the terms of another offer: a run delivered twice.
  audit.terms = offer().terms;
  const auto replayed = audit_run(audit);
  EXPECT_FALSE(replayed->verdict.accepted());
  EXPECT_NE(replayed->verdict.reason.find("'run_id'"), std::string::npos) << replayed->verdict.reason;
  audit.terms = engagement.terms;
  audit.terms->head_every += 1;
  EXPECT_NE(audit_run(audit)->verdict.reason.find("'terms'"), std::string::npos);
  // A second finished run under the run id, by a trainer who has no register; dishonest, so that it differs.
  TrainRequest second = train_request(engagement, "second");
  second.home = "";
  second.conduct.evaluate = score_other_weights;
  ASSERT_TRUE(train_run(second));
  audit.terms = engagement.terms;
  audit.run = folder_ / "second";
  const auto twice = audit_run(audit);
  EXPECT_FALSE(twice->verdict.accepted());
  EXPECT_EQ(twice->verdict.steps_checked, 0u);
  EXPECT_NE(twice->verdict.reason.find("isobit verify A B"), std::string::npos) << twice->verdict.reason;
  EXPECT_NE(twice->verdict.reason.find(commit::hex_of(key(2).public_key())), std::string::npos);
}

// A client that signs for the same run id twice, the second time with a trainer's key of its own, alone or beside the
// honest trainer's: neither an audit nor a comparison holds that against the honest one.
TEST_F(Engaged, ASecondTrainerUnderTheRunIdIsNoFaultOfTheFirst) {
  OfferRequest both = offer_request(job_);
  both.terms.trainer_keys.push_back(key(3).public_key());
  const verify::Offer listed = offer_job(both)->offer;
  const verify::Engagement honest = *accept_offer(accept_request(listed))->engagement;
  ASSERT_TRUE(train_run(train_request(honest, "honest")));
  verify::EngagementTerms alone = listed.terms;
  alone.trainer_keys = {key(3).public_key()};
  const auto foreign = [&](const verify::Engagement& engagement, const char* out) {
    TrainRequest request = train_request(engagement, out);
    request.trainer = key(3);
    request.home = "";
    request.conduct.evaluate = score_other_weights;
    EXPECT_TRUE(train_run(request));
  };
  foreign(*verify::make_engagement(alone, key(1), key(3)), "alone");
  foreign(*verify::countersign(listed, key(3)), "beside");

  AuditRequest audit = testing::audit_request(folder_ / "honest");
  audit.home = folder_ / "auditor";
  for (const char* other : {"alone", "beside"}) {
    audit.run = folder_ / other;
    EXPECT_FALSE(audit_run(audit)->verdict.accepted());
  }
  audit.run = folder_ / "honest";
  const auto verdict = audit_run(audit)->verdict;
  EXPECT_TRUE(verdict.accepted()) << verdict.reason;

  const auto request = [&](const char* run) {
    OpenRequest open;
    open.run = folder_ / run;
    open.client = key(1).public_key();
    return open;
  };
  for (const auto& [a, b] : {std::pair{"honest", "beside"}, std::pair{"beside", "honest"}}) {
    const auto compared = compare_runs(request(a), request(b));
    ASSERT_TRUE(compared) << compared.error().message;
    EXPECT_TRUE(compared->heads_contradict);
    EXPECT_FALSE(compared->fork);
  }
  EXPECT_EQ(compare_runs(request("honest"), request("alone")).error().code, ErrorCode::kUsage);

  // Who did sign twice is found, whichever copy is named first, and whoever accepted the engagement that lies in it.
  TrainRequest again = train_request(honest, "again");
  again.home = "";
  again.conduct.evaluate = score_other_weights;
  ASSERT_TRUE(train_run(again));
  for (const auto& [a, b] : {std::pair{"honest", "again"}, std::pair{"again", "honest"}}) {
    const auto compared = compare_runs(request(a), request(b));
    ASSERT_TRUE(compared && compared->fork);
    EXPECT_EQ(compared->fork->older.key, key(2).public_key());
    EXPECT_EQ(compared->fork->newer.key, key(2).public_key());
  }
}

}  // namespace
}  // namespace isobit::run
