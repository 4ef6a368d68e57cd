// Training into a bundle, resuming, auditing an honest run.
#include <gtest/gtest.h>

#include "isobit/bundle/reader.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/price.h"
#include "isobit/run/run_weights.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;
using testing::small_job;
using testing::train_request;

TEST(Run, AnHonestRunIsAcceptedOnEveryPlatform) {
  const Folder folder("honest");
  const auto trained = train_run(train_request(folder / "run", small_job()));
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_TRUE(trained->finished);
  for (const platform::Platform& p : platform::available_platforms()) {
    const auto audited = audit_run(audit_request(folder / "run", p.text()));
    ASSERT_TRUE(audited) << audited.error().message;
    EXPECT_TRUE(audited->verdict.accepted()) << p.text() << ": " << audited->verdict.reason;
    EXPECT_TRUE(audited->verdict.complete);
    EXPECT_EQ(audited->verdict.steps_checked, 12u);
  }
}

TEST(Run, RootsAreAFunctionOfTheJobAlone) {
  const Folder folder("roots");
  const auto first = train_run(train_request(folder / "a", small_job())).value();
  const auto second = train_run(train_request(folder / "b", small_job(), "ordered@reference/3t")).value();
  EXPECT_EQ(first.final_state_root, second.final_state_root);
  EXPECT_EQ(first.transcript_root, second.transcript_root);
  const auto other = train_run(train_request(folder / "c", small_job({"job.seed=12"}))).value();
  EXPECT_NE(first.final_state_root, other.final_state_root);
}

TEST(Run, CorrectArithmeticHasOneResultOfItsOwn) {
  const Folder folder("correct");
  const train::Job job = small_job({"job.arithmetic=correct-1", "job.steps=6"});
  const auto expected = train_run(train_request(folder / "specification", job, "ordered@reference/1t"));
  ASSERT_TRUE(expected) << expected.error().message;
  for (const platform::Platform& p : platform::available_platforms()) {
    const auto trained = train_run(train_request(folder / kernels::name_of(p.isa), job, p.text()));
    ASSERT_TRUE(trained) << trained.error().message;
    EXPECT_EQ(trained->final_state_root, expected->final_state_root) << p.text();
    EXPECT_EQ(trained->transcript_root, expected->transcript_root) << p.text();
    EXPECT_GT(trained->repairs.elements, 0);
    EXPECT_LT(trained->repairs.repaired, trained->repairs.elements / 20) << p.text();
  }
  EXPECT_TRUE(audit_run(audit_request(folder / "specification"))->verdict.accepted());
  const auto ordered = train_run(train_request(folder / "ordered-1", small_job({"job.steps=6"}))).value();
  EXPECT_NE(ordered.final_state_root, expected->final_state_root);
}

TEST(Run, AuditFromACheckpointAndOfASample) {
  const Folder folder("partial");
  ASSERT_TRUE(train_run(train_request(folder / "run", small_job({"commit.every=4"}))));
  AuditRequest from = audit_request(folder / "run");
  from.from_step = 8;
  const auto part = audit_run(from);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_TRUE(part->verdict.accepted()) << part->verdict.reason;
  EXPECT_EQ(part->verdict.steps_checked, 4u);
  for (const uint64_t step : {7, 12}) {
    from.from_step = step;
    EXPECT_EQ(audit_run(from).error().code, ErrorCode::kUsage) << "no checkpoint, and nothing behind it";
  }

  AuditRequest sample = audit_request(folder / "run");
  sample.sample = 1;
  sample.sample_seed = Bytes(32, 5);
  const auto drawn = audit_run(sample);
  ASSERT_TRUE(drawn) << drawn.error().message;
  EXPECT_TRUE(drawn->verdict.accepted());
  EXPECT_EQ(drawn->intervals, 3u);
  EXPECT_EQ(drawn->sampled.size(), 2u) << "one, and the last";
  EXPECT_NEAR(drawn->detection_probability, 1.0 / 2, 1e-12);
  sample.sample_seed = Bytes(15, 5);
  EXPECT_EQ(audit_run(sample).error().code, ErrorCode::kUsage);
}

TEST(Run, StoppedAnywhereAndResumedEndsWithTheSameBits) {
  const Folder folder("resume");
  const auto whole = train_run(train_request(folder / "whole", small_job())).value();
  for (int64_t stop_after : {1, 3, 4, 5, 11}) {
    const fs::path out = folder / text_of("stopped", stop_after);
    std::atomic<bool> stop{false};
    TrainRequest request = train_request(out, small_job());
    request.stop = &stop;
    request.progress = [&](const TrainProgress& p) { stop = p.step == stop_after; };
    const auto stopped = train_run(request);
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_FALSE(stopped->finished);
    EXPECT_FALSE(audit_run(audit_request(out))) << "an unfinished run cannot be audited";
    const auto again = train_run(train_request(out, small_job()));
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().message.find("--resume"), std::string::npos);

    const auto resumed = resume_run(train_request(out, small_job(), "ordered@portable/1t"));
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->final_state_root, whole.final_state_root);
    EXPECT_EQ(resumed->transcript_root, whole.transcript_root);
    EXPECT_TRUE(audit_run(audit_request(out))->verdict.accepted());
    EXPECT_EQ(resume_run(train_request(out, small_job())).error().code, ErrorCode::kUsage);
  }
}

TEST(Run, ResumeWithADamagedCheckpointFallsBackToAnEarlierOne) {
  const Folder folder("damaged");
  const auto whole = train_run(train_request(folder / "whole", small_job())).value();
  std::atomic<bool> stop{false};
  TrainRequest request = train_request(folder / "run", small_job());
  request.stop = &stop;
  request.progress = [&](const TrainProgress& p) { stop = p.step == 9; };
  ASSERT_TRUE(train_run(request));
  for (const char* damage : {"truncate", "flip"}) {
    const fs::path newest = folder / "run" / "checkpoints" / "step-9.safetensors";
    if (!fs::exists(newest)) continue;
    Bytes bytes = read_file(newest, 1 << 24).value();
    if (std::string(damage) == "truncate")
      bytes.resize(bytes.size() / 2);
    else
      bytes.back() ^= 1;
    ASSERT_TRUE(write_file_durably(newest, bytes));
  }
  const auto resumed = resume_run(train_request(folder / "run", small_job()));
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->transcript_root, whole.transcript_root);
}

TEST(Run, OverwritesNothingThatIsNotItsOwn) {
  const Folder folder("foreign");
  fs::create_directories(folder / "full");
  ASSERT_TRUE(write_file_durably(folder / "full" / "thesis.txt", as_bytes("years of work")));
  EXPECT_FALSE(train_run(train_request(folder / "full", small_job())));
  EXPECT_TRUE(fs::exists(folder / "full" / "thesis.txt"));
}

TEST(Run, WeightsComeOutAsTheyWere) {
  const Folder folder("weights");
  ThreadPool pool(1);
  ASSERT_TRUE(train_run(train_request(folder / "run", small_job())));
  const Weights newest = read_run_weights({folder / "run", {}, {}}, std::nullopt, pool).value();
  EXPECT_EQ(newest.step, 12u);
  for (const NamedTensor& t : inference_tensors(newest.state)) EXPECT_EQ(t.name.find('/'), std::string::npos);
  EXPECT_LT(inference_tensors(newest.state).size(), newest.state.size());
  EXPECT_EQ(read_run_weights({folder / "run", {}, {}}, 3, pool).error().code, ErrorCode::kUsage);
}

TEST(Price, AddsUp) {
  double clock = 0;
  const Price price =
      price_job(small_job(), platform::parse_platform("ordered").value(), {}, [&] { return clock += 0.01; }).value();
  EXPECT_NEAR(price.seconds_per_step, 0.01, 1e-9);
  EXPECT_EQ(price.data.train_count, 1437);
  EXPECT_GT(price.memory_bytes, price.state_bytes);
  EXPECT_GE(price.disk_bytes, 3 * price.state_bytes);
  EXPECT_NEAR(static_cast<double>(price.proposed_commit_every), 50, 1);
}

}  // namespace
}  // namespace isobit::run
