// Runs that are followed while they are trained: here trainer and follower take turns, so that it is known who has come
// how far. Two processes at once: tests/cli/follow_test.py.
#include "isobit/run/follow_run.h"

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
