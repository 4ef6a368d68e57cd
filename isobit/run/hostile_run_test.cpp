// Finished runs whose engaged trainer signed for something else than what was audited: never accepted, nothing of them
// handed out.
#include <gtest/gtest.h>

#include "isobit/bundle/record_file.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/open_run.h"
#include "isobit/run/run_weights.h"
#include "isobit/run/static_checks.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;
using testing::sign_again;
using testing::small_job;
using testing::train_request;

constexpr uint64_t kNoLimit = uint64_t{1} << 30;

// Twelve steps; the state is committed after every fifth and at the end.
class HostileRun : public ::testing::Test {
 protected:
  HostileRun() : folder_("hostile"), run_(folder_ / "run") {
    const train::Job job = small_job({"commit.every=5", "checkpoint.every=5", "checkpoint.keep=4"});
    const auto trained = train_run(train_request(run_, job));
    EXPECT_TRUE(trained) << trained.error().message;
    fs::copy(run_, folder_ / "honest", fs::copy_options::recursive);
  }
  void restore() {
    fs::remove_all(run_);
    fs::copy(folder_ / "honest", run_, fs::copy_options::recursive);
  }
  fs::path checkpoint(uint64_t step) const { return run_ / "checkpoints" / bundle::checkpoint_name(step); }
  // The tensors of the final state with other values.
  Bytes other_weights(uint64_t step) const {
    auto file = formats::read_safetensors(checkpoint(12)).value();
    for (NamedTensor& t : file.tensors) {
      for (float& x : t.tensor.span<float>()) x += 1.0f;
    }
    file.metadata["step"] = text_of(step);
    return formats::encode_safetensors(file).value();
  }
  // Whether neither an audit nor a check without replay accepts it.
  bool is_rejected() const {
    const auto audited = audit_run(audit_request(run_));
    EXPECT_TRUE(audited) << audited.error().message;
    AuditRequest sample = audit_request(run_);
    sample.sample = 1;
    sample.sample_seed = Bytes(32, 7);
    const auto sampled = audit_run(sample);
    EXPECT_TRUE(sampled) << sampled.error().message;
    return !audited->verdict.accepted() && !sampled->verdict.accepted() && !verified();
  }
  bool verified() const {
    ThreadPool pool(1);
    const auto opened = open_run({run_, testing::key(1).public_key(), {}});
    if (!opened) {
      EXPECT_EQ(opened.error().code, ErrorCode::kRejected) << opened.error().message;
      return false;
    }
    return !static_finding(opened->reader, read_checkpoints(opened->reader, pool).value());
  }
  // Of one that was drawn to replay the first interval, after which it needs the checkpoint of step 10 for the last.
  std::string reason_of_a_sample_from_10() const {
    for (uint8_t seed = 0; seed < 16; ++seed) {
      AuditRequest request = audit_request(run_, "sample", 0);
      request.sample_seed = Bytes(32, seed);
      const auto audited = audit_run(request);
      EXPECT_TRUE(audited) << audited.error().message;
      if (audited->sampled.front().last_step == 5) return audited->verdict.reason;
    }
    return "the first interval was never drawn";
  }
  ErrorCode weights_refused(std::optional<uint64_t> step = std::nullopt) const {
    ThreadPool pool(1);
    const auto weights = read_run_weights({run_, std::nullopt, {}}, step, pool);
    return weights ? ErrorCode{} : weights.error().code;
  }

  Folder folder_;
  fs::path run_;
};

TEST_F(HostileRun, TheHonestOneIsAccepted) {
  sign_again(run_);
  EXPECT_FALSE(is_rejected());
  EXPECT_EQ(weights_refused(), ErrorCode{});
  for (uint64_t step : {5, 10, 12}) EXPECT_EQ(weights_refused(step), ErrorCode{}) << step;
}

TEST_F(HostileRun, WeightsOfAStepThatDoesNotExistOrIsNotCommitted) {
  for (uint64_t step : {uint64_t{13}, uint64_t{61}, UINT64_MAX, uint64_t{11}, uint64_t{1}}) {
    ASSERT_TRUE(write_file_durably(checkpoint(step), other_weights(step)));
    sign_again(run_);
    EXPECT_TRUE(is_rejected()) << step;
    EXPECT_EQ(weights_refused(), ErrorCode::kRejected) << step;
    EXPECT_EQ(weights_refused(step), ErrorCode::kRejected) << step;
    restore();
  }
}

TEST_F(HostileRun, OtherWeightsUnderACommittedStep) {
  for (uint64_t step : {0, 5, 10, 12}) {
    ASSERT_TRUE(write_file_durably(checkpoint(step), other_weights(step)));
    sign_again(run_);
    EXPECT_TRUE(is_rejected()) << step;
    EXPECT_EQ(weights_refused(step), ErrorCode::kRejected) << step;
    EXPECT_EQ(weights_refused() == ErrorCode::kRejected, step == 12) << "only what is given out is read";
    restore();
  }
}

// A run of a builder that began with a file's weights was rejected where its data declare their shape.
TEST_F(HostileRun, WeightsFromAFileDoNotChangeWhatARunMayHold) {
  const auto plain = run_limits(small_job({}), {}),
             given = run_limits(small_job({"model.weights=first.safetensors"}), {});
  ASSERT_TRUE(plain && given) << (given ? "" : given.error().message);
  EXPECT_EQ(given->checkpoint_bytes, plain->checkpoint_bytes);
}

// Nobody is pinned, and the job that would allow a terabyte is the stranger's own.
TEST_F(HostileRun, CheckpointsLargerThanTheMemoryAreNotRead) {
  const train::Job huge = small_job({"model.width=4096", "model.blocks=100"});
  const auto unlimited = run_limits(huge, {});
  ASSERT_TRUE(unlimited) << unlimited.error().message;
  EXPECT_GT(unlimited->checkpoint_bytes, uint64_t{1} << 34);
  const auto limited = run_limits(huge, {uint64_t{1} << 30});
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().code, ErrorCode::kUnavailable) << limited.error().message;
  ThreadPool pool(1);
  OpenRequest request{run_, std::nullopt, {}};
  request.limits.max_memory = 1000;
  EXPECT_EQ(open_run(request).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(read_run_weights(request, 5, pool).error().code, ErrorCode::kUnavailable);
  AuditRequest audit = audit_request(run_);
  audit.limits = request.limits;
  EXPECT_EQ(audit_run(audit).error().code, ErrorCode::kUnavailable);
}

TEST_F(HostileRun, WithoutItsFinalState) {
  fs::remove(checkpoint(12));
  sign_again(run_);
  EXPECT_TRUE(is_rejected());
  EXPECT_EQ(weights_refused(), ErrorCode::kRejected);
}

TEST_F(HostileRun, AHeaderOfMoreStepsAndIntervals) {
  const Bytes good = read_file(run_ / "transcript", kNoLimit).value();
  for (const auto& [steps, every] : {std::pair<uint64_t, uint64_t>{60, 5}, {12, 1}, {verify::kMaxSteps, 1}}) {
    Bytes bad = bundle::transcript_header({steps, every, DType::kFloat32, false});
    bad.insert(bad.end(), good.begin() + static_cast<ptrdiff_t>(bad.size()), good.end());
    ASSERT_TRUE(write_file_durably(run_ / "transcript", bad));
    sign_again(run_);
    EXPECT_TRUE(is_rejected()) << steps;
    EXPECT_EQ(weights_refused(), ErrorCode::kRejected);
  }
}

TEST_F(HostileRun, BrokenContentsThatAreSignedForAreRejected) {
  const Bytes job = read_file(run_ / "job.toml", kNoLimit).value();
  const Bytes weights = read_file(checkpoint(12), kNoLimit).value();
  for (const char* text : {"", "[job", "[job]\nname = 3\n", "x = 1\n"}) {
    ASSERT_TRUE(write_file_durably(run_ / "job.toml", as_bytes(text)));
    sign_again(run_);
    EXPECT_TRUE(is_rejected()) << text;
    EXPECT_EQ(weights_refused(), ErrorCode::kRejected) << text;
  }
  ASSERT_TRUE(write_file_durably(run_ / "job.toml", job));
  for (const Bytes& bad : {Bytes{}, Bytes(40, 0xff), Bytes(weights.begin(), weights.end() - 4)}) {
    ASSERT_TRUE(write_file_durably(checkpoint(12), bad));
    sign_again(run_);
    EXPECT_TRUE(is_rejected());
    EXPECT_EQ(weights_refused(), ErrorCode::kRejected);
  }
}

// A sample replays the last interval, so it begins at this checkpoint.
TEST_F(HostileRun, ABrokenCheckpointToBeginFromIsRejected) {
  const Bytes weights = read_file(checkpoint(10), kNoLimit).value();
  auto file = formats::decode_safetensors(weights, "weights").value();
  file.tensors.pop_back();
  const Bytes fewer = formats::encode_safetensors(file).value();
  file = formats::decode_safetensors(weights, "weights").value();
  file.tensors.back().name = "renamed";
  const Bytes renamed = formats::encode_safetensors(file).value();
  for (const Bytes& bad : {Bytes{}, Bytes(40, 0xff), Bytes(weights.begin(), weights.end() - 4), fewer, renamed}) {
    ASSERT_TRUE(write_file_durably(checkpoint(10), bad));
    sign_again(run_);
    EXPECT_TRUE(is_rejected());
    const std::string reason = reason_of_a_sample_from_10();
    EXPECT_TRUE(reason.starts_with(text_of(run_.string(), ": checkpoint of step 10: "))) << reason;
    EXPECT_EQ(reason.find("renamed") != std::string::npos, bad == renamed) << reason;
  }
}

TEST(UnfinishedRun, GivesOutCommittedStatesByStepAlone) {
  const Folder folder("unfinished_weights");
  std::atomic<bool> stop{false};
  TrainRequest request = train_request(folder / "run", small_job({"commit.every=4", "checkpoint.every=4"}));
  request.stop = &stop;
  request.progress = [&](const TrainProgress& p) { stop = p.step == 6; };
  ASSERT_TRUE(train_run(request));
  ThreadPool pool(1);
  const OpenRequest open{folder / "run", testing::key(1).public_key(), {}};
  const auto newest = read_run_weights(open, std::nullopt, pool);
  ASSERT_FALSE(newest);
  EXPECT_EQ(newest.error().code, ErrorCode::kUsage);
  EXPECT_EQ(read_run_weights(open, 6, pool).error().code, ErrorCode::kUsage) << "its state is not committed";
  const auto committed = read_run_weights(open, 4, pool);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_TRUE(committed->client_pinned);
  EXPECT_EQ(read_run_weights({folder / "run", testing::key(3).public_key(), {}}, 4, pool).error().code,
            ErrorCode::kRejected);
}

// What was there to resume from and nobody could compare is gone when the run ends.
TEST(FinishedRun, HoldsCommittedCheckpointsOnly) {
  const Folder folder("committed_checkpoints");
  const train::Job job = small_job({"commit.every=5", "checkpoint.every=2", "checkpoint.keep=9"});
  ASSERT_TRUE(train_run(train_request(folder / "run", job)));
  const auto opened = open_run({folder / "run", testing::key(1).public_key(), {}});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->reader.checkpoints(), (std::vector<uint64_t>{10, 12}));
  EXPECT_TRUE(audit_run(audit_request(folder / "run"))->verdict.accepted());
}

}  // namespace
}  // namespace isobit::run
