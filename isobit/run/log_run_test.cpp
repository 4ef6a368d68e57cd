// Logged runs: trained here, followed there, interrupted in between.
#include <gtest/gtest.h>

#include "isobit/bundle/reader.h"
#include "isobit/run/price.h"
#include "isobit/run/run_weights.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;
using testing::small_job;
using testing::train_request;

// A generous bound, so that there are some near-ties to write down.
train::Job logged_job(const std::string& log, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"job.arithmetic=logged-1", "rounding.log=" + log, "rounding.divergence=65536"});
  return small_job(more);
}

TEST(LoggedRun, IsAcceptedOnEveryPlatform) {
  for (const char* log : {"sparse", "ovt"}) {
    const Folder folder(std::string("logged_") + log);
    const auto trained = train_run(train_request(folder / "run", logged_job(log)));
    ASSERT_TRUE(trained) << trained.error().message;
    EXPECT_EQ(trained->logged_steps, 12u);
    EXPECT_GT(trained->log_bytes, 0u);
    const log::Counts counts = log::total(trained->log_counts);
    EXPECT_GT(counts.entries, 0u);
    EXPECT_LT(counts.entries, counts.elements);
    for (const platform::Platform& p : platform::available_platforms()) {
      const auto audited = audit_run(audit_request(folder / "run", p.text()));
      ASSERT_TRUE(audited) << audited.error().message;
      EXPECT_TRUE(audited->verdict.accepted()) << p.text() << ": " << audited->verdict.reason;
      const log::Counts followed = log::total(audited->log_counts);
      EXPECT_EQ(followed.entries, counts.entries);
      EXPECT_EQ(followed.elements, counts.elements);
      EXPECT_EQ(followed.findings(), 0u);
    }
    AuditRequest from = audit_request(folder / "run");
    from.from_step = 8;
    EXPECT_TRUE(audit_run(from)->verdict.accepted());
  }
}

TEST(LoggedRun, TheStateIsThatOfRoundedArithmeticOnTheSamePlatform) {
  const Folder folder("rounded");
  for (const char* bits : {"24", "32"}) {
    const std::string set = std::string("rounding.bits=") + bits;
    const auto rounded = train_run(train_request(folder / ("r" + set), small_job({"job.arithmetic=rounded", set})));
    ASSERT_TRUE(rounded) << rounded.error().message;
    for (const char* log : {"sparse", "ovt"}) {
      const auto logged = train_run(train_request(folder / (log + set), logged_job(log, {set})));
      ASSERT_TRUE(logged) << logged.error().message;
      EXPECT_EQ(logged->final_state_root, rounded->final_state_root) << log << " " << bits;
      EXPECT_EQ(logged->evaluation, rounded->evaluation);
    }
  }
}

TEST(LoggedRun, EveryValueOfTheStateHasTheBitsThatTheJobAllows) {
  const Folder folder("bits");
  ThreadPool pool(1);
  ASSERT_TRUE(train_run(train_request(folder / "run", logged_job("sparse", {"rounding.bits=25", "job.steps=3"}))));
  const Weights weights = read_run_weights({folder / "run", {}, {}}, std::nullopt, pool).value();
  for (const NamedTensor& t : weights.state) {
    for (double x : t.tensor.span<double>()) {
      const auto narrow = static_cast<float>(x);
      ASSERT_EQ(static_cast<double>(narrow), x) << t.name;
      ASSERT_EQ(__builtin_bit_cast(uint32_t, narrow) & 0x7fu, 0u) << t.name;
    }
  }
}

TEST(LoggedRun, StoppedAnywhereAndResumedElsewhereEndsWithTheSameBits) {
  const Folder folder("logged_resume");
  const train::Job job = logged_job("sparse");
  const auto whole = train_run(train_request(folder / "whole", job)).value();
  for (int64_t stop_after : {1, 6, 11}) {
    const fs::path out = folder / text_of("stopped", stop_after);
    std::atomic<bool> stop{false};
    TrainRequest request = train_request(out, job);
    request.stop = &stop;
    request.progress = [&](const TrainProgress& p) { stop = p.step == stop_after; };
    ASSERT_TRUE(train_run(request));
    // Without the newest checkpoint the steps since the one before are computed again, and follow their log.
    fs::remove(out / "checkpoints" / text_of("step-", stop_after, ".safetensors"));
    const auto resumed = resume_run(train_request(out, job, "ordered@portable/1t"));
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->final_state_root, whole.final_state_root);
    EXPECT_EQ(resumed->transcript_root, whole.transcript_root);
    const auto audited = audit_run(audit_request(out));
    EXPECT_TRUE(audited->verdict.accepted()) << audited->verdict.reason;
  }
}

TEST(LoggedRun, ItsPriceCountsTheLog) {
  const Folder folder("priced");
  const platform::Platform platform = platform::parse_platform("ordered/1t").value();
  const auto priced = [&](const train::Job& job) {
    return price_job(job, platform, {}, [t = 0.0]() mutable { return t += 0.01; }).value();
  };
  const Price bare = priced(small_job({"job.arithmetic=rounded"}));
  EXPECT_EQ(bare.log_bytes_per_step, std::nullopt);
  for (const char* log : {"sparse", "ovt"}) {
    const Price price = priced(logged_job(log));
    ASSERT_TRUE(price.log_bytes_per_step.has_value());
    EXPECT_NEAR(price.seconds_per_step, 0.01, 1e-9);
    EXPECT_EQ(price.disk_bytes - bare.disk_bytes, 12 * *price.log_bytes_per_step);
    ASSERT_TRUE(train_run(train_request(folder / log, logged_job(log))));
    const auto file = static_cast<double>(fs::file_size(folder / log / "log" / "segments"));
    EXPECT_NEAR(12 * static_cast<double>(*price.log_bytes_per_step), file, 0.1 * file) << log;
  }
}

TEST(LoggedRun, TheJobRootKnowsTheRounding) {
  const Folder folder("root");
  std::vector<commit::Digest> roots;
  using Sets = std::vector<std::string>;
  for (const Sets& sets : {Sets{"rounding.bits=32"},
                           {"rounding.bits=31"},
                           {"rounding.bound=sound"},
                           {"rounding.divergences={Conv = 7.5}"},
                           {"rounding.log=ovt"},
                           {"rounding.log=ovt", "rounding.threshold=0.3"},
                           {"rounding.log=ovt", "rounding.thresholds={Conv = 0.3}"}}) {
    std::vector<std::string> overrides = {"job.arithmetic=logged-1", "job.steps=3"};
    overrides.insert(overrides.end(), sets.begin(), sets.end());
    const train::Job job = small_job(overrides);
    EXPECT_EQ(train::parse_job(train::job_to_toml(job), "again", "")->rounding, job.rounding);
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    roots.push_back(open_session(job, engine)->root);
  }
  for (size_t a = 0; a < roots.size(); ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(roots[a], roots[b]);
  }
}

TEST(LoggedRun, ArithmeticsWithoutAPromiseStillTrainAndAudit) {
  const Folder folder("plain");
  for (const char* arithmetic : {"float32", "float64", "rounded"}) {
    const auto trained =
        train_run(train_request(folder / arithmetic, small_job({std::string("job.arithmetic=") + arithmetic})));
    ASSERT_TRUE(trained) << trained.error().message;
    EXPECT_EQ(trained->logged_steps, 0u);
    // On our own kernels, which have one order, even these agree.
    const auto audited = audit_run(audit_request(folder / arithmetic));
    EXPECT_TRUE(audited->verdict.accepted()) << arithmetic << ": " << audited->verdict.reason;
  }
}

}  // namespace
}  // namespace isobit::run
