// Kills: files cut at every byte of what a kill can tear, and a real process killed at every call that changes a file.
#include <gtest/gtest.h>

#include <random>

#include "isobit/base/whole_for_test.h"
#include "isobit/bundle/kill_points_for_test.h"
#include "isobit/bundle/reader.h"
#include "isobit/bundle/record_file.h"
#include "isobit/bundle/testing.h"

namespace isobit::bundle {
namespace {

using testing::Ended;
using testing::Files;
using testing::files_of;
using testing::Plan;
using testing::put_file;
using testing::put_files;
using testing::Reach;
using testing::run_until_call;

class Kill : public ::testing::TestWithParam<bool> {
 protected:
  Kill() {
    ISOBIT_CHECK(testing::write_run(scratch_ / "whole", plan_).has_value());
    whole_ = files_of(scratch_ / "whole");
  }
  Files left_before(uint64_t leaf) {
    fs::remove_all(run_);
    auto writer = testing::create(run_, plan_);
    ISOBIT_CHECK(writer.has_value() && testing::drive(*writer, plan_, leaf).has_value());
    return files_of(run_);
  }
  void expect_resumes(const std::string& what) {
    const Status status = testing::resume_run(run_, plan_);
    ASSERT_TRUE(status) << what << ": " << status.error().message;
    ASSERT_TRUE(files_of(run_) == whole_) << what;
  }
  // What a training command does with the folder as it finds it. It says on stderr why it failed.
  bool write_or_resume() const {
    const RunState state = run_state(run_);
    if (state == RunState::kFinished) return true;
    const bool fresh = state == RunState::kAbsent || state == RunState::kNotBegun;
    const Status status = fresh ? testing::write_run(run_, plan_) : testing::resume_run(run_, plan_);
    if (!status) std::fprintf(stderr, "state %d: %s\n", static_cast<int>(state), status.error().message.c_str());
    return status.has_value();
  }
  void expect_whole(const std::string& what) const {
    Files files = files_of(run_);
    files.erase("lock");
    ASSERT_EQ(names_of(files), names_of(whole_)) << what;
    ASSERT_TRUE(files == whole_) << what;
    ASSERT_TRUE(testing::open_bundle(run_, {}, plan_)) << what;
  }
  static std::string names_of(const Files& files) {
    std::string names;
    for (const auto& [name, bytes] : files) names += text_of(name, " ", bytes.size(), "; ");
    return names;
  }
  const Plan plan_ = testing::plan_of(GetParam());
  testing::TemporaryFolder scratch_;
  fs::path run_ = scratch_ / "run";
  Files whole_;
};

class KillWithLog : public Kill {};

INSTANTIATE_TEST_SUITE_P(WithoutAndWithLog, Kill, ::testing::Bool());
INSTANTIATE_TEST_SUITE_P(WithLog, KillWithLog, ::testing::Values(true));

TEST_P(Kill, BetweenAnyTwoLeaves) {
  for (uint64_t leaf = 0; leaf < plan_.rules.leaves(); ++leaf) {
    left_before(leaf);
    expect_resumes(text_of("before leaf ", leaf));
  }
}

// Of the lengths to which a record may be torn; the whole test has each.
const size_t kStride = whole_test() ? 1 : 3;

TEST_P(Kill, InTheLastRecordOfTheTranscript) {
  for (uint64_t leaf : {1, 3, 6, 8}) {
    // No head speaks of this leaf yet: every torn length of its record.
    const Files before = left_before(leaf);
    const std::string& all = whole_.at("transcript");
    const size_t begin = before.at("transcript").size();
    const size_t end = leaf + 1 == plan_.rules.leaves() ? all.size() : left_before(leaf + 1).at("transcript").size();
    for (size_t n = begin; n <= end; n += kStride) {
      Files torn = before;
      torn["transcript"] = all.substr(0, n);
      put_files(run_, torn);
      expect_resumes(text_of("leaf ", leaf, " cut to ", n));
      // The space may have been there, and zero, before the bytes came.
      torn["transcript"].resize(end, '\0');
      put_files(run_, torn);
      expect_resumes(text_of("leaf ", leaf, " zero from ", n));
    }
  }
}

TEST_P(Kill, InTheLastRecordOfTheHeads) {
  for (uint64_t leaf : {4, 7}) {  // right after the heads of steps 3 and 6
    const Files after = left_before(leaf);
    const size_t record = kRecordOverhead + 199;
    for (size_t n = after.at("heads").size() - record; n < after.at("heads").size(); n += kStride) {
      Files torn = after;
      torn["heads"].resize(n);
      put_files(run_, torn);
      expect_resumes(text_of("head after leaf ", leaf, " cut to ", n));
    }
  }
}

TEST_P(KillWithLog, InTheLastSegmentOfTheLog) {
  const std::string& all = whole_.at("log/segments");
  for (uint64_t step : {1, 3, 5, 7}) {
    // The segment comes before its leaf.
    const Files before = left_before(step);
    const size_t begin = before.at("log/segments").size();
    const size_t end = begin + kRecordOverhead + testing::fake_segment(step).size();
    for (size_t n = begin; n <= end; ++n) {
      Files torn = before;
      torn["log/segments"] = all.substr(0, n);
      put_files(run_, torn);
      expect_resumes(text_of("segment ", step, " cut to ", n));
      torn["log/segments"].resize(end, '\0');
      put_files(run_, torn);
      expect_resumes(text_of("segment ", step, " zero from ", n));
    }
  }
}

// A power failure may keep leaves and take their segments, as long as no head covers them.
TEST_P(KillWithLog, LeavesWithoutTheirSegment) {
  const std::string& all = whole_.at("log/segments");
  for (uint64_t leaf : {3, 6, 9}) {  // after steps 1 and 2, of which no head speaks; 4 and 5; 7 and the final leaf
    const Files before = leaf == 9 ? whole_ : left_before(leaf);
    const size_t begin = left_before(leaf == 3 ? 1 : leaf - 2).at("log/segments").size();
    const size_t end = before.at("log/segments").size();
    for (size_t n = begin; n <= end; n += 3) {
      Files torn = before;
      if (leaf == 9) {
        for (const char* name : {"manifest.json", "manifest.sig"}) torn.erase(name);
        torn["heads"].resize(torn["heads"].size() - kRecordOverhead - 199);
      }
      torn["log/segments"] = all.substr(0, n);
      put_files(run_, torn);
      expect_resumes(text_of("before leaf ", leaf, " log cut to ", n));
      torn["log/segments"].resize(end, '\0');
      put_files(run_, torn);
      expect_resumes(text_of("before leaf ", leaf, " log zero from ", n));
    }
  }
}

TEST_P(Kill, WithTemporariesAndHalfAnEnd) {
  const Files begun = left_before(6);
  Files torn = begun;
  torn["checkpoints/step-6.safetensors.tmp"] = "weig";
  torn["manifest.json.tmp"] = "{";
  if (GetParam()) torn["log/segments.tmp"] = "isobit";
  torn["lock"] = "";
  put_files(run_, torn);
  expect_resumes("temporaries");
  torn = whole_;
  torn.erase("manifest.json");
  put_files(run_, torn);
  expect_resumes("signature without its manifest");
  // A checkpoint whose step the transcript lost cannot be continued from.
  torn = begun;
  torn["checkpoints/step-6.safetensors"] = "weights after step 6";
  put_files(run_, torn);
  expect_resumes("checkpoint ahead of the transcript");
  torn = begun;
  torn.erase("checkpoints/step-4.safetensors");
  put_files(run_, torn);
  const Status status = testing::resume_run(run_, plan_);
  ASSERT_TRUE(status) << status.error().message;
}

TEST_P(Kill, BeforeTheRunHasBegun) {
  Files torn = {{"lock", ""}, {"job.toml", testing::kJob}, {"job.toml.0123456789abcdef.tmp", "[jo"}};
  torn["engagement.0123456789abcdef.tmp"] = "isobit";
  if (GetParam()) torn["log/segments.0123456789abcdef.tmp"] = "";
  put_files(run_, torn);
  EXPECT_EQ(run_state(run_), RunState::kNotBegun);
  const Status status = testing::write_run(run_, plan_);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(files_of(run_) == whole_);
}

TEST_P(Kill, RealProcessAtEveryCall) {
  for (const Reach reach : {Reach::kNotBegun, Reach::kHalfway}) {
    uint64_t call = 0;
    for (;; ++call) {
      fs::remove_all(run_);
      if (run_until_call(call, reach, [&] { return write_or_resume(); }) != Ended::kKilled) break;
      if (run_state(run_) == RunState::kFinished) continue;
      ASSERT_TRUE(write_or_resume()) << "killed at call " << call;
      expect_whole(text_of("killed at call ", call));
    }
    EXPECT_GT(call, 60u) << "a run changes files more often than that";
  }
}

TEST_P(Kill, RealProcessAgainAndAgain) {
  std::mt19937_64 random(20260102);
  int kills = 0;
  for (int round = 0; round < 20; ++round) {
    fs::remove_all(run_);
    Ended ended = Ended::kKilled;
    for (int attempts = 0; ended == Ended::kKilled; ++attempts) {
      ASSERT_LT(attempts, 200) << "no progress between kills";
      const Reach reach = random() % 2 == 0 ? Reach::kNotBegun : Reach::kHalfway;
      ended = run_until_call(random() % 60, reach, [&] { return write_or_resume(); });
      kills += ended == Ended::kKilled ? 1 : 0;
    }
    ASSERT_EQ(ended, Ended::kTrue) << "round " << round;
    expect_whole(text_of("round ", round));
  }
  EXPECT_GT(kills, 40);
}

}  // namespace
}  // namespace isobit::bundle
