// Client and trainer come to terms, and the trainer keeps to them.
#include <gtest/gtest.h>

#include <thread>

#include "isobit/bundle/writer.h"
#include "isobit/run/compare_runs.h"
#include "isobit/run/engagement.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/registers.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::Folder;
using testing::key;
using testing::small_job;

const platform::Platform kHere = platform::parse_platform("ordered").value();

// Exchanges the trained state before it is scored and handed out.
Expected<train::SampleScores> score_other_weights(train::Trainer& trainer) {
  std::vector<NamedTensor> state = trainer.state();
  state.front().tensor = state.front().tensor.clone();
  state.front().tensor.span<float>()[0] += 1;
  ISOBIT_RETURN_IF_ERROR(trainer.restore(std::move(state), trainer.step()));
  return score(trainer);
}

class Engaged : public ::testing::Test {
 protected:
  OfferRequest offer_request(const train::Job& job) const {
    OfferRequest request;
    request.job = job;
    request.terms.trainer_keys = {key(2).public_key()};
    request.terms.accept_until = 1000;
    request.client = key(1);
    request.home = folder_ / "client";
    request.platform = kHere;
    return request;
  }
  AcceptRequest accept_request(const verify::Offer& offer) const {
    AcceptRequest request;
    request.offer = offer;
    request.job = job_;
    request.trainer = key(2);
    request.home = folder_ / "trainer";
    request.now = 1000;
    request.platform = kHere;
    return request;
  }
  verify::Offer offer() const { return offer_job(offer_request(job_)).value().offer; }
  // The fields that speak against it, and no engagement.
  std::vector<std::string> refused(const AcceptRequest& request) const {
    const auto result = accept_offer(request);
    if (!result) return {result.error().message};
    EXPECT_FALSE(result->engagement);
    std::vector<std::string> fields;
    for (const OfferProblem& p : result->problems) {
      EXPECT_FALSE(p.offered.empty() || p.found.empty() || p.reason.empty() || p.offered == p.found);
      fields.push_back(p.field);
    }
    return fields;
  }
  TrainRequest train_request(const verify::Engagement& engagement, const std::string& out) const {
    TrainRequest request;
    request.out = folder_ / out;
    request.job = job_;
    request.platform = kHere;
    request.trainer = key(2);
    request.engagement = engagement;
    request.home = folder_ / "trainer";
    return request;
  }

  Folder folder_{"engaged"};
  train::Job job_ = small_job({"job.steps=3"});
};

using Fields = std::vector<std::string>;

TEST_F(Engaged, AnOfferNamesTheJobAndAFreshRunId) {
  const auto first = offer_job(offer_request(job_)), second = offer_job(offer_request(job_));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->offer.terms.job_digest, job_digest(job_));
  EXPECT_EQ(first->offer.terms.job_root, second->offer.terms.job_root);
  EXPECT_NE(first->offer.terms.run_id, second->offer.terms.run_id);
  EXPECT_TRUE(verify::verify_offer(first->offer));
  for (const auto* made : {&*first, &*second}) {
    EXPECT_TRUE(fs::exists(folder_ / "client" / "offered" / to_hex(made->offer.terms.run_id)));
  }
  OfferRequest bad = offer_request(job_);
  bad.terms.response_seconds = 0;
  EXPECT_EQ(offer_job(bad).error().code, ErrorCode::kUsage);
}

TEST_F(Engaged, AcceptedTrainedAndResumed) {
  const auto accepted = accept_offer(accept_request(offer()));
  ASSERT_TRUE(accepted && accepted->engagement) << accepted.error().message;
  const verify::Engagement& engagement = *accepted->engagement;
  EXPECT_TRUE(verify::verify_engagement(engagement, key(1).public_key()));
  std::atomic<bool> stop{true};
  TrainRequest request = train_request(engagement, "run");
  request.stop = &stop;
  ASSERT_TRUE(train_run(request));  // stopped before the first step
  stop = false;
  const auto resumed = resume_run(request);
  ASSERT_TRUE(resumed && resumed->finished) << resumed.error().message;
  AuditRequest audit = testing::audit_request(folder_ / "run");
  EXPECT_TRUE(audit_run(audit)->verdict.accepted());
  audit.client = key(8).public_key();
  EXPECT_FALSE(audit_run(audit)->verdict.accepted());
}

// A run id stands for one run, and who is too late leaves nothing that could be resumed.
TEST_F(Engaged, OfAllWhoTrainAtOnceOneHasARun) {
  const verify::Engagement engagement = *accept_offer(accept_request(offer()))->engagement;
  std::atomic<int> finished{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto trained = train_run(train_request(engagement, text_of("run", i)));
      finished += trained ? 1 : 0;
      EXPECT_TRUE(trained || trained.error().code == ErrorCode::kUsage) << trained.error().message;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished.load(), 1);
  int folders = 0;
  for (int i = 0; i < 4; ++i) folders += fs::exists(folder_ / text_of("run", i)) ? 1 : 0;
  EXPECT_EQ(folders, 1);
}

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

TEST_F(Engaged, WhatSpeaksAgainstAnOfferIsSaidFieldByField) {
  const verify::Offer good = offer();
  AcceptRequest other_job = accept_request(good);
  other_job.job = small_job({"job.steps=4"});
  EXPECT_EQ(refused(other_job), Fields{"job_digest"});

  AcceptRequest other_data = accept_request(good);  // the same job, and another salt of the data
  ASSERT_TRUE(write_file_durably(folder_ / "salt", as_bytes(std::string(64, '7') + "\n")));
  other_data.job.salt_path = (folder_ / "salt").string();
  EXPECT_EQ(refused(other_data), Fields{"job_root"});

  AcceptRequest late = accept_request(good);
  late.now = 1001;
  EXPECT_EQ(refused(late), Fields{"accept_until"});

  AcceptRequest not_mine = accept_request(good);
  not_mine.trainer = key(3);
  EXPECT_EQ(refused(not_mine), Fields{"trainer_keys"});

  AcceptRequest insists = accept_request(good);
  insists.client = key(8).public_key();
  EXPECT_EQ(refused(insists), Fields{"client_key"});
  insists.client = key(1).public_key();
  EXPECT_TRUE(accept_offer(insists)->engagement);

  ASSERT_TRUE(note_begun(folder_ / "trainer", good.terms.run_id, {"/runs/old", {}}));
  EXPECT_EQ(refused(accept_request(good)), Fields{"run_id"});

  AcceptRequest all = insists;
  all.client = key(8).public_key();
  all.trainer = key(3);
  all.now = 5000;
  all.job = small_job({"job.steps=4"});
  EXPECT_EQ(refused(all), (Fields{"client_key", "trainer_keys", "accept_until", "run_id", "job_digest"}));
}

TEST_F(Engaged, AnAlteredOfferIsRejected) {
  AcceptRequest request = accept_request(offer());
  request.offer.terms.response_seconds += 1;
  const auto result = accept_offer(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kRejected);
  EXPECT_NE(result.error().message.find("client_signature"), std::string::npos);
}

TEST_F(Engaged, OnlyTheAgreedJobIsTrainedAndOnlyOnce) {
  const verify::Engagement engagement = *accept_offer(accept_request(offer()))->engagement;
  const auto refusal = [&](const TrainRequest& request) {
    const auto trained = train_run(request);
    EXPECT_FALSE(trained);
    EXPECT_FALSE(fs::exists(request.out)) << "nothing is written";
    return trained ? Error{} : trained.error();
  };
  TrainRequest request = train_request(engagement, "run");
  request.job = small_job({"job.steps=4"});
  Error error = refusal(request);
  EXPECT_EQ(error.code, ErrorCode::kRejected);
  EXPECT_NE(error.message.find("'job_digest'"), std::string::npos) << error.message;

  request = train_request(engagement, "run");
  ASSERT_TRUE(write_file_durably(folder_ / "salt", as_bytes(std::string(64, '7') + "\n")));
  request.job.salt_path = (folder_ / "salt").string();
  error = refusal(request);
  EXPECT_EQ(error.code, ErrorCode::kRejected);
  EXPECT_NE(error.message.find("'job_root'"), std::string::npos) << error.message;

  request = train_request(engagement, "run");
  request.trainer = key(3);
  EXPECT_EQ(refusal(request).code, ErrorCode::kUsage);

  // Two keys may speak for the trainer, and another one than ours has accepted.
  verify::EngagementTerms two = engagement.terms;
  two.trainer_keys.push_back(key(3).public_key());
  request = train_request(*verify::make_engagement(two, key(1), key(2)), "run");
  request.trainer = key(3);
  EXPECT_NE(refusal(request).message.find("accept the offer with your own key"), std::string::npos);

  // Somebody who has both halves made by other keys: valid in itself, not what this trainer accepted.
  request = train_request(*verify::make_engagement(engagement.terms, key(8), key(2)), "run");
  request.engagement->terms.client_key = key(1).public_key();
  EXPECT_EQ(refusal(request).code, ErrorCode::kRejected);

  ASSERT_TRUE(train_run(train_request(engagement, "run")));
  error = refusal(train_request(engagement, "again"));
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_NE(error.message.find((folder_ / "run").string()), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("--resume"), std::string::npos) << error.message;
}

TEST_F(Engaged, ARunIdThatALocalRunHasUsedIsUsed) {
  TrainRequest local = train_request({}, "local");
  local.engagement.reset();
  local.client = key(1);
  ASSERT_TRUE(train_run(local));
  const Bytes bytes = read_file(folder_ / "local" / "engagement", 1 << 14).value();
  const auto engagement = verify::decode_engagement(bytes, "engagement").value();
  EXPECT_EQ(train_run(train_request(engagement, "second")).error().code, ErrorCode::kUsage);
}

TEST_F(Engaged, OfTwoRunsThatBeginAtOnceOneIsSigned) {
  const verify::Engagement engagement = *accept_offer(accept_request(offer()))->engagement;
  std::atomic<bool> stop{true};
  TrainRequest request = train_request(engagement, "first");
  request.stop = &stop;
  ASSERT_TRUE(train_run(request));
  // A second folder that was made before the first was noted: nothing in it is signed, and nothing will be.
  TrainRequest second = train_request(engagement, "second");
  second.stop = &stop;
  second.home = "";
  fs::remove_all(folder_ / "second");
  {
    auto writer = bundle::BundleWriter::create(second.out, as_bytes(train::job_to_toml(job_)), engagement,
                                               transcript_rules(job_), key(2));
    ASSERT_TRUE(writer);
  }
  second.home = folder_ / "trainer";
  EXPECT_EQ(resume_run(second).error().code, ErrorCode::kUsage);
  stop = false;
  EXPECT_TRUE(resume_run(request));
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

TEST_F(Engaged, AJobThatTakesMoreThanIsAllowedIsRefusedByBothSides) {
  const verify::Offer made = offer();
  OfferRequest offering = offer_request(job_);
  AcceptRequest accepting = accept_request(made);
  offering.limits.max_memory = accepting.limits.max_memory = uint64_t{50} << 20;
  const auto offered = offer_job(offering);
  const auto accepted = accept_offer(accepting);
  ASSERT_FALSE(offered || accepted);
  EXPECT_EQ(offered.error().code, ErrorCode::kUnavailable) << offered.error().message;
  EXPECT_EQ(accepted.error().code, ErrorCode::kUnavailable) << accepted.error().message;
  EXPECT_NE(accepted.error().message.find("--max-memory"), std::string::npos) << accepted.error().message;
}

}  // namespace
}  // namespace isobit::run
