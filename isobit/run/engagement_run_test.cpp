// Client and trainer come to terms, and the trainer keeps to them.
#include <thread>

#include "isobit/bundle/writer.h"
#include "isobit/run/engaged_for_test.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/registers.h"

namespace isobit::run {
namespace {

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
