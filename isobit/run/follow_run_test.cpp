// Runs that are followed while they are trained: here trainer and follower take turns, so that it is known who has come
// how far. Two processes at once: tests/cli/follow_test.py.
#include "isobit/run/follow_run.h"

#include <random>

#include "isobit/bundle/layout.h"
#include "isobit/run/engaged_for_test.h"
#include "isobit/run/registers.h"

namespace isobit::run {
namespace {

constexpr int64_t kSteps = 12;

// Says another loss than it computed at one step.
StepFunction wrong_loss_at(int64_t step) {
  return [step](train::Trainer& trainer, runtime::RunOptions options) -> Expected<train::StepResult> {
    ISOBIT_TRY(train::StepResult result, take_step(trainer, options));
    if (result.step == step) result.loss += 1;
    return result;
  };
}

class Follow : public Engaged {
 protected:
  void SetUp() override { use(small_job()); }
  void use(const train::Job& job) {
    job_ = job;
    engagement_ = *accept_offer(accept_request(offer()))->engagement;
  }

  TrainRequest training(const std::string& out, int64_t wrong_at = 0) const {
    TrainRequest request = train_request(engagement_, out);
    request.home = folder_ / ("home of " + out);
    if (wrong_at > 0) request.conduct.step = wrong_loss_at(wrong_at);
    return request;
  }
  // Trains until so many steps are done; kSteps: to the end.
  void train_to(TrainRequest request, int64_t step) const {
    std::atomic<bool> stop{false};
    request.stop = &stop;
    request.progress = [&](const TrainProgress& p) { stop = p.step == step && step < kSteps; };
    const auto trained = fs::exists(request.out / "transcript") ? resume_run(request) : train_run(request);
    ASSERT_TRUE(trained) << trained.error().message;
    ASSERT_EQ(trained->finished, step == kSteps);
  }
  // The folder of one run in the place of another's.
  void replace(const fs::path& run, const fs::path& by) const {
    fs::remove_all(run);
    fs::copy(by, run, fs::copy_options::recursive);
  }

  FollowRequest follow(const std::string& run, std::function<bool()> wait) const {
    FollowRequest request;
    request.audit = testing::audit_request(folder_ / run);
    request.audit.home = folder_ / "auditor";
    request.wait = std::move(wait);
    return request;
  }
  FollowSummary followed(const FollowRequest& request) const {
    auto summary = follow_run(request);
    EXPECT_TRUE(summary) << summary.error().message;
    return summary ? *std::move(summary) : FollowSummary{};
  }
  static bool never() { return false; }

  verify::Engagement engagement_;
};

TEST_F(Follow, ARunThatIsNotThereYetIsFollowedToItsEnd) {
  int64_t step = 0;
  std::vector<uint64_t> checked;
  FollowRequest request = follow("run", [&] {
    train_to(training("run"), step += 3);
    return step <= kSteps;
  });
  request.progress = [&](const FollowProgress& p) {
    if (!p.waits_for.empty()) checked.push_back(p.checked);
    EXPECT_LE(p.checked, p.signed_for);
  };
  const FollowSummary summary = followed(request);
  ASSERT_TRUE(summary.ended);
  EXPECT_TRUE(summary.ended->verdict.accepted()) << summary.ended->verdict.reason;
  EXPECT_TRUE(summary.ended->verdict.complete);
  EXPECT_EQ(summary.ended->verdict.steps_checked, 12u);
  EXPECT_TRUE(summary.ended->finished);
  EXPECT_EQ(checked, (std::vector<uint64_t>{0, 3, 6, 9})) << "nothing is left for the end";
  // What an audit of the finished run says.
  const auto whole = audit_run(request.audit);
  EXPECT_EQ(whole->verdict.reason, summary.ended->verdict.reason);
  EXPECT_EQ(*whole->finished, *summary.ended->finished);
  EXPECT_TRUE(followed(follow("run", never)).ended->verdict.accepted()) << "it is there already";
}

TEST_F(Follow, ALoggedRun) {
  use(small_job({"job.arithmetic=logged-1", "rounding.log=sparse", "rounding.divergence=65536", "commit.every=3"}));
  int64_t step = 0;
  const FollowSummary summary = followed(follow("run", [&] {
    train_to(training("run"), step += 4);
    return step <= kSteps;
  }));
  ASSERT_TRUE(summary.ended);
  EXPECT_TRUE(summary.ended->verdict.accepted()) << summary.ended->verdict.reason;
  EXPECT_EQ(log::total(summary.ended->log_counts).entries,
            log::total(audit_run(testing::audit_request(folder_ / "run"))->log_counts).entries);
}

// Stopped after every few steps and started again, each time as if by another process.
TEST_F(Follow, AFollowerThatKeepsItsStateGoesOnFromIt) {
  const std::vector<std::vector<std::string>> jobs = {
      {"commit.every=2"},
      {"job.arithmetic=correct-1", "commit.every=3", "checkpoint.every=0"},
      {"job.arithmetic=logged-1", "rounding.log=sparse", "rounding.divergence=65536", "commit.every=2"},
      {"job.arithmetic=logged-1", "rounding.log=ovt", "commit.every=2"}};
  for (const auto& set : jobs) {
    const std::string run = text_of("run", &set - jobs.data());
    SCOPED_TRACE(run);
    use(small_job(set));
    FollowRequest request = follow(run, never);
    request.keep = folder_ / (run + ".kept");
    const uint64_t every = set[0] == "commit.every=2" || set.size() > 3 || set[1] == "rounding.log=ovt" ? 2 : 3;
    uint64_t before = 0;
    for (int64_t step = 1; step < kSteps; ++step) {
      train_to(training(run), step);
      const FollowSummary summary = followed(request);
      ASSERT_FALSE(summary.ended) << summary.ended->verdict.reason;
      EXPECT_EQ(summary.at.before, before);
      EXPECT_EQ(summary.at.checked, summary.at.signed_for);
      if (summary.at.checked % every == 0) before = summary.at.checked;
    }
    EXPECT_GE(before, 8u);
    train_to(training(run), kSteps);
    const FollowSummary summary = followed(request);
    ASSERT_TRUE(summary.ended);
    EXPECT_EQ(summary.at.before, before) << "the rest alone was replayed";
    const auto whole = audit_run(testing::audit_request(folder_ / run));
    EXPECT_EQ(summary.ended->verdict.reason, whole->verdict.reason);
    EXPECT_EQ(summary.ended->verdict.steps_checked, whole->verdict.steps_checked);
    EXPECT_EQ(summary.ended->log_counts.size(), whole->log_counts.size());
    const log::Counts counts = log::total(summary.ended->log_counts), expected = log::total(whole->log_counts);
    EXPECT_EQ(counts.elements, expected.elements);
    EXPECT_EQ(counts.entries, expected.entries);
    EXPECT_EQ(counts.corrections, expected.corrections);
    EXPECT_EQ(counts.findings(), expected.findings());
    EXPECT_EQ(summary.ended->repairs.elements, whole->repairs.elements);
  }
}

// What nobody of this home has noted is no state to go on from, and stays what it is.
TEST_F(Follow, AStateFromElsewhereIsNotBelieved) {
  train_to(training("run"), 8);
  train_to(training("other", 4), 8);
  FollowRequest request = follow("run", never), other = follow("other", never);
  request.keep = other.keep = folder_ / "kept";
  other.audit.home = folder_ / "other auditor";
  EXPECT_EQ(followed(request).at.checked, 8u);
  const Bytes good = read_file(folder_ / "kept", 1 << 26).value();
  const auto refused = [&](const FollowRequest& r, const Bytes& file) {
    EXPECT_TRUE(write_file_durably(folder_ / "kept", file));
    const auto summary = follow_run(r);
    EXPECT_FALSE(summary);
    EXPECT_EQ(read_file(folder_ / "kept", 1 << 26).value(), file);
    return summary ? "" : summary.error().message;
  };
  EXPECT_NE(refused(other, good).find("is not what was kept"), std::string::npos) << "of another run and home";
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    Bytes bad = good;
    bad[bad.size() / 2 + random() % (bad.size() / 2)] ^= static_cast<uint8_t>(1 << random() % 8);
    refused(request, bad);
    bad.resize(random() % bad.size());
    refused(request, bad);
  }
  refused(request, Bytes{1, 2, 3});
  ASSERT_TRUE(write_file_durably(folder_ / "kept", good));
  EXPECT_EQ(followed(request).at.before, 8u);
  // The state of a step that was noted is that, whoever wrote it.
  ASSERT_TRUE(write_file_durably(
      folder_ / "kept",
      read_file(folder_ / "run" / bundle::kCheckpointFolder / bundle::checkpoint_name(8), 1 << 26).value()));
  EXPECT_EQ(followed(request).at.before, 8u);
  // The history that was replayed is no longer there: an older copy is waited for, another history is evidence.
  train_to(training("short"), 3);
  replace(folder_ / "run", folder_ / "short");
  const FollowSummary waits = followed(request);
  EXPECT_FALSE(waits.ended);
  EXPECT_NE(waits.at.problem.find("was replayed up to step 8"), std::string::npos) << waits.at.problem;
  train_to(training("other", 4), 10);
  replace(folder_ / "run", folder_ / "other");
  EXPECT_TRUE(followed(request).ended->fork);
  FollowRequest homeless = request;
  homeless.audit.home.clear();
  EXPECT_EQ(follow_run(homeless).error().code, ErrorCode::kUsage);
}

// Cut short between the entry and the file, the file is still one that is noted.
TEST_F(Follow, WhateverIsCutShortTheKeptStateIsOneOfTheNoted) {
  train_to(training("run"), 4);
  FollowRequest request = follow("run", never);
  request.keep = folder_ / "kept";
  EXPECT_EQ(followed(request).at.checked, 4u);
  const Bytes first = read_file(request.keep, 1 << 26).value();
  train_to(training("run"), 8);
  for (int times = 0; times < 3; ++times) {
    EXPECT_EQ(followed(request).at.before, 4u);
    ASSERT_TRUE(write_file_durably(request.keep, first));
  }
  EXPECT_EQ(followed(request).at.before, 4u);
  EXPECT_EQ(followed(request).at.before, 8u);
}

TEST_F(Follow, WhoLiesIsFoundWhileItTrains) {
  int64_t step = 0;
  const FollowSummary summary = followed(follow("run", [&] {
    train_to(training("run", 5), step += 2);
    return step < kSteps;
  }));
  ASSERT_TRUE(summary.ended);
  EXPECT_EQ(step, 6) << "at the first head that covers it";
  EXPECT_EQ(summary.ended->verdict.outcome, verify::Outcome::kRejected);
  EXPECT_EQ(summary.ended->verdict.first_difference->step, 5u);
  EXPECT_EQ(summary.at.checked, 4u);
  EXPECT_TRUE(summary.ended->engaged);
  EXPECT_FALSE(summary.ended->finished);
  EXPECT_FALSE(summary.ended->fork);
}

TEST_F(Follow, ATrainerThatNeverFinishesIsFollowedNoLongerThanOneWaits) {
  train_to(training("run"), 7);
  int waits = 0;
  const FollowRequest request = follow("run", [&] { return ++waits < 5; });
  const FollowSummary summary = followed(request);
  EXPECT_FALSE(summary.ended);
  EXPECT_EQ(summary.at, (FollowProgress{7, 7, 12, "the next signed head", ""}));
  EXPECT_EQ(summary.last_head->tree.size, 8u);
  std::atomic<bool> stop{true};
  FollowRequest stopped = request;
  stopped.stop = &stop;
  EXPECT_EQ(followed(stopped).at, FollowProgress{});
  FollowRequest careless = request;
  careless.wait = nullptr;
  EXPECT_EQ(follow_run(careless).error().code, ErrorCode::kUsage);
}

TEST_F(Follow, TwoHistoriesAreEvidence) {
  train_to(training("honest"), 6);
  train_to(training("other", 4), 9);
  fs::copy(folder_ / "honest", folder_ / "run", fs::copy_options::recursive);
  const FollowSummary summary = followed(follow("run", [&] {
    replace(folder_ / "run", folder_ / "other");
    return true;
  }));
  ASSERT_TRUE(summary.ended && summary.ended->fork) << summary.at.problem;
  EXPECT_EQ(summary.ended->verdict.outcome, verify::Outcome::kRejected);
  EXPECT_NE(summary.ended->verdict.reason.find("two histories"), std::string::npos);
  EXPECT_EQ(summary.ended->fork->older.tree.size, 7u) << "the one that was seen";
  const Bytes file = verify::encode(*summary.ended->fork);
  EXPECT_TRUE(verify::verify_evidence(*verify::decode_evidence(file, "evidence")));
}

TEST_F(Follow, AFollowerThatStartsAgainAndALaterAuditRememberTheLastHead) {
  train_to(training("run"), 6);
  EXPECT_FALSE(followed(follow("run", never)).ended);
  const JudgedRun of{key(1).public_key(), key(2).public_key(), engagement_.terms.run_id};
  EXPECT_EQ(find_followed(folder_ / "auditor", of).value()->tree.size, 7u);
  train_to(training("other", 4), 8);
  replace(folder_ / "run", folder_ / "other");
  const FollowSummary again = followed(follow("run", never));
  ASSERT_TRUE(again.ended && again.ended->fork);
  EXPECT_TRUE(verify::verify_evidence(*again.ended->fork));
  EXPECT_EQ(find_followed(folder_ / "auditor", of).value()->tree.size, 7u) << "the other history is not noted";
  // Its finished run is refused by an audit from the same home, by the head, and by one from another for its lie.
  train_to(training("other", 4), kSteps);
  AuditRequest audit = testing::audit_request(folder_ / "other");
  EXPECT_EQ(audit_run(audit)->verdict.first_difference->step, 4u);
  audit.home = folder_ / "auditor";
  const auto late = audit_run(audit);
  EXPECT_TRUE(late->fork);
  EXPECT_EQ(late->verdict.steps_checked, 0u);
  // The first history goes on as if nothing had been.
  fs::remove_all(folder_ / "run");
  train_to(training("honest"), kSteps);
  EXPECT_TRUE(followed(follow("honest", never)).ended->verdict.accepted());
}

// A copy that is older is no fork; the follower waits for the rest.
TEST_F(Follow, AnOlderCopyIsWaitedFor) {
  train_to(training("run"), 4);
  replace(folder_ / "older", folder_ / "run");
  train_to(training("run"), 8);
  replace(folder_ / "newer", folder_ / "run");
  int waits = 0;
  std::string problem;
  FollowRequest request = follow("run", [&] {
    ++waits;
    if (waits == 1) replace(folder_ / "run", folder_ / "older");
    if (waits == 3) replace(folder_ / "run", folder_ / "newer");
    if (waits == 5) train_to(training("run"), kSteps);
    return waits < 7;
  });
  request.progress = [&](const FollowProgress& p) {
    if (waits == 2) problem = p.problem;
  };
  const FollowSummary summary = followed(request);
  EXPECT_NE(problem.find("of 9 was seen before"), std::string::npos) << problem;
  ASSERT_TRUE(summary.ended);
  EXPECT_TRUE(summary.ended->verdict.accepted()) << summary.ended->verdict.reason;
}

// Whatever the files look like while they are written or copied, it is held against nobody.
TEST_F(Follow, TornFilesAreLookedAtAgain) {
  use(small_job({"job.arithmetic=logged-1", "rounding.log=sparse", "rounding.divergence=65536"}));
  train_to(training("whole"), 7);
  for (const char* file : {"transcript", "heads", "engagement", "job.toml", "log/segments"}) {
    for (const char* how : {"cut", "flipped", "missing"}) {
      replace(folder_ / "run", folder_ / "whole");
      const fs::path torn = folder_ / "run" / file;
      const Bytes good = read_file(torn, 1 << 26).value();
      Bytes bad = good;
      if (how == std::string("cut")) bad.resize(good.size() * 2 / 3);
      if (how == std::string("flipped")) bad[good.size() * 2 / 3] ^= 4;
      ASSERT_TRUE(write_file_durably(torn, bad));
      if (how == std::string("missing")) fs::remove(torn);
      int waits = 0;
      FollowRequest request = follow("run", [&] {
        ISOBIT_CHECK(++waits != 3 || write_file_durably(torn, good).has_value());
        return waits < 6;
      });
      request.audit.home = folder_ / (std::string(how) + fs::path(file).filename().string());
      const FollowSummary summary = followed(request);
      EXPECT_FALSE(summary.ended) << file << " " << how << ": " << summary.ended->verdict.reason;
      EXPECT_EQ(summary.at.checked, 7u) << file << " " << how;
    }
  }
}

TEST_F(Follow, ARunOfSomebodyElseIsRefusedAfterAWhile) {
  train_to(training("run"), 3);
  int waits = 0;
  FollowRequest request = follow("run", [&] { return ++waits < 100; });
  request.audit.client = key(8).public_key();
  const FollowSummary summary = followed(request);
  ASSERT_TRUE(summary.ended);
  EXPECT_EQ(summary.ended->verdict.outcome, verify::Outcome::kRejected);
  EXPECT_FALSE(summary.ended->engaged);
  request.audit.client = key(1).public_key();
  request.audit.overrides = {"data.salt=" + (folder_ / "salt").string()};
  ASSERT_TRUE(write_file_durably(folder_ / "salt", as_bytes(std::string(64, 'a') + "\n")));
  EXPECT_EQ(followed(request).ended->verdict.first_difference->part, verify::Part::kJob);
}

}  // namespace
}  // namespace isobit::run
