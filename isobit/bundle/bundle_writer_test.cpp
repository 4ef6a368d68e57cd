#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "isobit/bundle/reader.h"
#include "isobit/bundle/testing.h"
#include "isobit/bundle/writer.h"

namespace isobit::bundle {
namespace {

using testing::files_of;
using testing::key_of;
using testing::kTrainer;
using testing::Plan;
using testing::put_file;

TEST(Writer, SameRunGivesTheSameBytes) {
  testing::TemporaryFolder scratch;
  for (bool logged : {false, true}) {
    const fs::path a = scratch / (logged ? "log_a" : "a"), b = scratch / (logged ? "deep/er/log_b" : "deep/er/b");
    ASSERT_TRUE(testing::write_run(a, testing::plan_of(logged)));
    ASSERT_TRUE(testing::write_run(b, testing::plan_of(logged)));
    EXPECT_EQ(files_of(a), files_of(b));
    EXPECT_FALSE(fs::exists(a / std::string(kLockFile)));
  }
  // The manifest has the digest of every other file: the bytes of a run without log, whatever is added for others.
  const std::string manifest = files_of(scratch / "a").at("manifest.json");
  EXPECT_EQ(commit::hex_of(commit::sha256(as_bytes(manifest))),
            "b534efb1c15b6dd40be30f405a7ea3e79877b5d9b960cefb3b0027c3f0707b6f");
}

TEST(Writer, NeverWritesIntoWhatIsThere) {
  testing::TemporaryFolder scratch;
  put_file(scratch / "mine" / "job.toml", "my own");
  EXPECT_EQ(testing::create(scratch / "mine", {}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(files_of(scratch / "mine").at("job.toml"), "my own");
  put_file(scratch / "file", "x");
  EXPECT_EQ(testing::create(scratch / "file", {}).error().code, ErrorCode::kUsage);
  ASSERT_TRUE(testing::write_run(scratch / "run", {}));
  const auto before = files_of(scratch / "run");
  EXPECT_EQ(testing::create(scratch / "run", {}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(files_of(scratch / "run"), before);
  fs::create_directory(scratch / "empty");
  EXPECT_TRUE(testing::create(scratch / "empty", {}));
}

TEST(Writer, RunStates) {
  testing::TemporaryFolder scratch;
  EXPECT_EQ(run_state(scratch / "run"), RunState::kAbsent);
  fs::create_directory(scratch / "run");
  EXPECT_EQ(run_state(scratch / "run"), RunState::kAbsent);
  put_file(scratch / "run" / "lock", "");
  EXPECT_EQ(run_state(scratch / "run"), RunState::kNotBegun);
  put_file(scratch / "run" / "heads.0123456789abcdef.tmp", "torn");
  put_file(scratch / "run" / "job.toml", "torn");
  EXPECT_EQ(run_state(scratch / "run"), RunState::kNotBegun);
  EXPECT_EQ(testing::resume_run(scratch / "run", {}).error().code, ErrorCode::kUsage);
  {
    auto writer = testing::create(scratch / "run", {});
    ASSERT_TRUE(writer) << writer.error().message;
    EXPECT_FALSE(fs::exists(scratch / "run" / "heads.0123456789abcdef.tmp"));
    EXPECT_EQ(run_state(scratch / "run"), RunState::kUnfinished);
  }
  EXPECT_TRUE(testing::resume_run(scratch / "run", {})) << "a run without any leaf";
  EXPECT_EQ(run_state(scratch / "run"), RunState::kFinished);
  EXPECT_EQ(testing::resume_run(scratch / "run", {}).error().code, ErrorCode::kUsage);
  put_file(scratch / "other" / "x", "");
  EXPECT_EQ(run_state(scratch / "other"), RunState::kForeign);
}

TEST(Writer, OneWriterAtATime) {
  testing::TemporaryFolder scratch;
  auto first = testing::create(scratch / "run", {});
  ASSERT_TRUE(first);
  ASSERT_TRUE(testing::drive(*first, {}, 4));
  const auto second = BundleWriter::resume(scratch / "run", key_of(kTrainer));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUsage);
  EXPECT_NE(second.error().message.find("another process is writing"), std::string::npos);
  EXPECT_TRUE(testing::drive(*first, {}));
}

TEST(Writer, OnlyTheEngagedKey) {
  testing::TemporaryFolder scratch;
  const Plan plan;
  EXPECT_EQ(
      BundleWriter::create(scratch / "run", as_bytes(testing::kJob), testing::fake_engagement(), plan.rules, key_of(5))
          .error()
          .code,
      ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(scratch / "run"));
  ASSERT_TRUE(testing::create(scratch / "run", plan));
  EXPECT_EQ(BundleWriter::resume(scratch / "run", key_of(5)).error().code, ErrorCode::kUsage);
}

TEST(Writer, LeavesMustComeInOrderAndFromThisJob) {
  testing::TemporaryFolder scratch;
  const Plan plan;
  auto writer = testing::create(scratch / "run", plan);
  ASSERT_TRUE(writer);
  const auto leaves = testing::fake_leaves(plan.rules);
  EXPECT_EQ(writer->append(leaves[1]).error().code, ErrorCode::kRejected);
  EXPECT_EQ(writer->append(verify::InitialLeaf{}).error().code, ErrorCode::kRejected);
  EXPECT_TRUE(writer->append(leaves[0]));
  EXPECT_EQ(writer->append(leaves[0]).error().code, ErrorCode::kRejected);
  EXPECT_EQ(writer->finish({}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(writer->continue_from(1).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(writer->continue_from(0));
  EXPECT_EQ(writer->transcript().size(), 1u);
}

TEST(Writer, ReplayedLeavesAreComparedNotRepeated) {
  testing::TemporaryFolder scratch;
  Plan plan;
  {
    auto writer = testing::create(scratch / "run", plan);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(testing::drive(*writer, plan, 6));
  }
  const auto before = files_of(scratch / "run");
  {
    // This machine computes another loss at step 5 than before.
    Plan other = plan;
    other.cheat.wrong_loss_at = 5;
    const Status status = testing::resume_run(scratch / "run", other);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kRejected);
    EXPECT_NE(status.error().message.find("did not reproduce its own run"), std::string::npos);
    EXPECT_EQ(files_of(scratch / "run").at("transcript"), before.at("transcript"));
  }
  auto writer = BundleWriter::resume(scratch / "run", key_of(kTrainer));
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->checkpoints(), (std::vector<uint64_t>{4, 2}));
  EXPECT_EQ(std::string(writer->job_toml().begin(), writer->job_toml().end()), testing::kJob);
  ASSERT_TRUE(testing::drive(*writer, plan)) << "from the very beginning";
  ASSERT_TRUE(testing::write_run(scratch / "whole", plan));
  EXPECT_EQ(files_of(scratch / "run"), files_of(scratch / "whole"));
}

TEST(Writer, KeepsTheNewestCheckpoints) {
  // The state is committed after steps 3 and 6 and at the end: others are there to resume from and go when the run
  // ends.
  const std::map<uint64_t, std::vector<uint64_t>> left = {{0, {3, 6, 7}}, {1, {7}}, {2, {6, 7}}, {5, {3, 6, 7}}};
  for (const auto& [keep, steps] : left) {
    testing::TemporaryFolder scratch;
    Plan plan;
    plan.checkpoint_every = 1;
    plan.keep = keep;
    {
      auto writer = testing::create(scratch / "run", plan);
      ASSERT_TRUE(writer && testing::drive(*writer, plan, 6));
      EXPECT_EQ(writer->checkpoints().size(), keep == 0 ? 5u : keep) << "the newest, committed or not";
    }
    ASSERT_TRUE(testing::resume_run(scratch / "run", plan));
    const auto reader = testing::open_bundle(scratch / "run", {}, plan);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->checkpoints(), steps);
  }
}

TEST(Writer, ARunWithoutItsFinalStateCannotEnd) {
  testing::TemporaryFolder scratch;
  const Plan plan;
  auto writer = testing::create(scratch / "run", plan);
  ASSERT_TRUE(writer);
  for (const auto& leaf : testing::leaves_of(plan)) ASSERT_TRUE(writer->append(leaf) && writer->sign_head());
  ASSERT_TRUE(testing::write_checkpoint(*writer, 6, testing::fake_checkpoint(6), 2));
  EXPECT_EQ(writer->finish({}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(run_state(scratch / "run"), RunState::kUnfinished);
  ASSERT_TRUE(testing::write_checkpoint(*writer, 7, testing::fake_checkpoint(7), 2));
  EXPECT_TRUE(writer->finish({}));
}

TEST(Writer, CommitmentsDoNotDependOnCheckpoints) {
  testing::TemporaryFolder scratch;
  Plan often, never;
  often.checkpoint_every = 1;
  never.checkpoint_every = 100;
  ASSERT_TRUE(testing::write_run(scratch / "a", often));
  ASSERT_TRUE(testing::write_run(scratch / "b", never));
  EXPECT_EQ(files_of(scratch / "a").at("transcript"), files_of(scratch / "b").at("transcript"));
  EXPECT_EQ(files_of(scratch / "a").at("heads"), files_of(scratch / "b").at("heads"));
}

TEST(Writer, ForeignFileIsNamedAtTheEnd) {
  testing::TemporaryFolder scratch;
  const Plan plan;
  auto writer = testing::create(scratch / "run", plan);
  ASSERT_TRUE(writer);
  put_file(scratch / "run" / "notes.txt", "x");
  const Status status = testing::drive(*writer, plan);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  EXPECT_NE(status.error().message.find("notes.txt"), std::string::npos);
  fs::remove(scratch / "run" / "notes.txt");
  fs::create_directory(scratch / "run" / "log");  // this job is not logged
  EXPECT_EQ(writer->finish({}).error().code, ErrorCode::kUsage);
  fs::remove(scratch / "run" / "log");
  EXPECT_TRUE(writer->finish({}));
  EXPECT_TRUE(testing::open_bundle(scratch / "run", {}, plan));
  EXPECT_EQ(writer->finish({}).error().code, ErrorCode::kUsage);
}

TEST(Writer, FactsMustBeText) {
  testing::TemporaryFolder scratch;
  auto writer = testing::create(scratch / "run", {});
  ASSERT_TRUE(writer);
  for (const auto& leaf : testing::fake_leaves(Plan{}.rules)) ASSERT_TRUE(writer->append(leaf) && writer->sign_head());
  ASSERT_TRUE(testing::write_checkpoint(*writer, 7, testing::fake_checkpoint(7), 2));
  EXPECT_EQ(writer->finish({{"bad", "\xff\xfe"}}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(writer->finish({{"long", std::string(1 << 20, 'x')}}).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(writer->finish({{"good", "yes"}}));
}

// A file-size limit stands in for a full disk: writes fail in the middle of a record or a checkpoint.
class FullDisk {
 public:
  explicit FullDisk(uint64_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

void expect_full_disk_loses_nothing(const Plan& plan) {
  testing::TemporaryFolder scratch;
  ASSERT_TRUE(testing::write_run(scratch / "whole", plan));
  const auto whole = files_of(scratch / "whole");
  size_t longest = whole.at("transcript").size();
  if (plan.rules.logged) longest = std::max(longest, whole.at("log/segments").size());
  for (uint64_t space = 60; space < longest; space += plan.rules.logged ? 7 : 61) {
    const fs::path run = scratch / text_of("run", space);
    auto writer = [&] {
      FullDisk full(1 << 20);
      return testing::create(run, plan);
    }();
    ASSERT_TRUE(writer);
    {
      FullDisk full(space);
      const Status status = testing::drive(*writer, plan);
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, ErrorCode::kUnavailable) << status.error().message;
    }
    // What the writer holds is what is stored; it can go on, or be resumed.
    if (space % 2 == 0) {
      writer = usage_error("closed");
      ASSERT_TRUE(testing::resume_run(run, plan));
    } else {
      ASSERT_TRUE(writer->continue_from(0) || writer->transcript().size() == 0);
      ASSERT_TRUE(testing::drive(*writer, plan));
    }
    EXPECT_EQ(files_of(run), whole) << space;
  }
}

TEST(Writer, FullDiskLosesNothing) {
  for (bool logged : {false, true}) expect_full_disk_loses_nothing(testing::plan_of(logged));
}

TEST(Writer, FullDiskAtTheBeginningLeavesNothing) {
  testing::TemporaryFolder scratch;
  for (uint64_t space : {0, 10, 26, 27, 40, 100, 300}) {
    for (bool logged : {false, true}) {
      FullDisk full(space);
      const auto writer = testing::create(scratch / "run", testing::plan_of(logged));
      if (writer) continue;
      EXPECT_EQ(writer.error().code, ErrorCode::kUnavailable);
      EXPECT_FALSE(fs::exists(scratch / "run"));
    }
  }
  EXPECT_TRUE(testing::write_run(scratch / "run", {}));
}

}  // namespace
}  // namespace isobit::bundle
