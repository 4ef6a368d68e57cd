// Dishonest runs are rejected at the right step, and a bundle with any bit changed is never accepted.
#include "isobit/run/cheat.h"

#include <gtest/gtest.h>

#include <random>

#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;
using testing::small_job;
using testing::train_request;

verify::AuditVerdict verdict_on(const std::string& cheat, int64_t step, const train::Job& job) {
  const Folder folder("cheat_" + cheat);
  TrainRequest request = train_request(folder / "run", job);
  EXPECT_TRUE(apply_cheat(cheat, step, request));
  const auto trained = train_run(request);
  EXPECT_TRUE(trained) << trained.error().message;
  const auto audited = audit_run(audit_request(folder / "run"));
  EXPECT_TRUE(audited) << audited.error().message;
  return audited->verdict;
}

TEST(Cheat, EachIsFoundAtItsVeryStepWhereEveryStateIsCommitted) {
  for (const Cheat& cheat : cheats()) {
    if (cheat.of_a_log) continue;  // log_cheat_test.cpp
    const int64_t step = cheat.name == "overwrite" ? 12 : 5;
    const verify::AuditVerdict v = verdict_on(cheat.name, step, small_job());
    EXPECT_FALSE(v.accepted()) << cheat.name;
    ASSERT_TRUE(v.first_difference) << cheat.name;
    EXPECT_EQ(v.first_difference->step, static_cast<uint64_t>(step)) << cheat.name << ": " << v.reason;
    EXPECT_EQ(v.first_difference->first_step, v.first_difference->last_step) << cheat.name;
  }
}

TEST(Cheat, EachIsFoundWhereStatesAreFloat64) {
  for (const Cheat& cheat : cheats()) {
    if (cheat.of_a_log) continue;
    const int64_t step = cheat.name == "overwrite" ? 4 : 2;
    const auto v = verdict_on(cheat.name, step, small_job({"job.arithmetic=logged-1", "job.steps=4"}));
    EXPECT_FALSE(v.accepted()) << cheat.name;
    ASSERT_TRUE(v.first_difference) << cheat.name;
    EXPECT_EQ(v.first_difference->step, static_cast<uint64_t>(step)) << cheat.name << ": " << v.reason;
  }
}

TEST(Cheat, WithRareCommitmentsTheIntervalHoldsTheStep) {
  for (const Cheat& cheat : cheats()) {
    if (cheat.of_a_log) continue;  // log_cheat_test.cpp
    const int64_t step = cheat.name == "overwrite" ? 12 : 6;
    const verify::AuditVerdict v = verdict_on(cheat.name, step, small_job({"commit.every=5"}));
    EXPECT_FALSE(v.accepted()) << cheat.name;
    ASSERT_TRUE(v.first_difference) << cheat.name;
    EXPECT_LE(v.first_difference->first_step, static_cast<uint64_t>(step)) << cheat.name;
    EXPECT_GE(v.first_difference->last_step, static_cast<uint64_t>(step)) << cheat.name;
  }
}

TEST(Cheat, UnknownNamesAndStepsAreRefused) {
  const Folder folder("cheat_bad");
  TrainRequest request = train_request(folder / "run", small_job());
  EXPECT_NE(apply_cheat("momentun", 3, request).error().message.find("momentum"), std::string::npos);
  EXPECT_FALSE(apply_cheat("rate", 0, request));
  EXPECT_FALSE(apply_cheat("rate", 13, request));
}

class Tampered : public ::testing::Test {
 protected:
  Tampered() : folder_("tampered") {
    EXPECT_TRUE(train_run(train_request(folder_ / "run", small_job({"job.steps=3"}))));
  }

  bool accepted() const {
    const auto audited = audit_run(audit_request(folder_ / "run"));
    return audited && audited->verdict.accepted();
  }

  Folder folder_;
};

TEST_F(Tampered, NoFlippedBitOfAnyFileIsAccepted) {
  ASSERT_TRUE(accepted());
  std::mt19937_64 random(3);
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "run")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const Bytes original = read_file(entry.path(), 1 << 26).value();
    for (int trial = 0; trial < 12; ++trial) {
      Bytes changed = original;
      changed[random() % changed.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
      ASSERT_TRUE(write_file_durably(entry.path(), changed));
      EXPECT_FALSE(accepted()) << entry.path();
    }
    ASSERT_TRUE(write_file_durably(entry.path(), original));
  }
  EXPECT_GE(files, 7);
  EXPECT_TRUE(accepted());
}

TEST_F(Tampered, ARunUnderAnotherClientsKeyIsRejected) {
  TrainRequest theirs = train_request(folder_ / "theirs", small_job({"job.steps=3"}));
  theirs.client = testing::key(8);
  theirs.trainer = testing::key(9);
  ASSERT_TRUE(train_run(theirs));
  const auto audited = audit_run(audit_request(folder_ / "theirs"));
  ASSERT_TRUE(audited) << audited.error().message;
  EXPECT_FALSE(audited->verdict.accepted());
  // Their engagement in our run, and our engagement in theirs: re-signed, but not by whom the client engaged.
  for (const char* file : {"engagement", "heads", "manifest.sig"}) {
    const Bytes ours = read_file((folder_ / "run") / file, 1 << 20).value();
    ASSERT_TRUE(write_file_durably((folder_ / "run") / file, read_file((folder_ / "theirs") / file, 1 << 20).value()));
    EXPECT_FALSE(accepted()) << file;
    ASSERT_TRUE(write_file_durably((folder_ / "run") / file, ours));
  }
  EXPECT_TRUE(accepted());
}

}  // namespace
}  // namespace isobit::run
