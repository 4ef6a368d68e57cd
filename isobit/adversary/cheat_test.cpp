// Dishonest runs are rejected at the right step, and a bundle with any bit changed is never accepted.
#include <random>

#include "isobit/adversary/cheat_for_test.h"
#include "isobit/base/whole_for_test.h"

namespace isobit::adversary {
namespace {

using namespace testing;

class Cheats : public CheatTest {};

// Of a cheat that is done at `step`, of the steps that a job has: where it is found, and when it is to be done at all.
int64_t done_at(const std::string& cheat, int64_t step, int64_t steps) {
  return cheat == "overwrite" || cheat == "inflate" ? steps : step;
}
uint64_t found_at(const std::string& cheat, int64_t at) {
  return cheat == "initial" ? 0 : cheat == "prefix" ? 1 : static_cast<uint64_t>(at);
}

TEST_F(Cheats, EachIsFoundAtItsVeryStepWhereEveryStateIsCommitted) {
  for (const Cheat& cheat : cheats()) {
    if (cheat.of_a_log()) continue;  // log_cheat_test.cpp
    const int64_t step = done_at(cheat.name, 5, 12);
    const verify::AuditVerdict v = audit_of_cheat(cheat.name, step, small_job()).verdict;
    EXPECT_FALSE(v.accepted()) << cheat.name;
    ASSERT_TRUE(v.first_difference) << cheat.name;
    EXPECT_EQ(v.first_difference->step, found_at(cheat.name, step)) << cheat.name << ": " << v.reason;
    EXPECT_EQ(v.first_difference->first_step, v.first_difference->last_step) << cheat.name;
  }
}

TEST_F(Cheats, EachIsFoundWhereStatesAreFloat64) {
  for (const Cheat& cheat : cheats()) {
    if (cheat.of_a_log()) continue;
    const int64_t step = done_at(cheat.name, 2, 4);
    const auto v = audit_of_cheat(cheat.name, step, small_job({"job.arithmetic=logged-1", "job.steps=4"})).verdict;
    EXPECT_FALSE(v.accepted()) << cheat.name;
    ASSERT_TRUE(v.first_difference) << cheat.name;
    EXPECT_EQ(v.first_difference->step, found_at(cheat.name, step)) << cheat.name << ": " << v.reason;
  }
}

TEST_F(Cheats, WithRareCommitmentsTheIntervalHoldsTheStep) {
  size_t number = 0;  // every second one; the whole test tries each
  for (const Cheat& cheat : cheats()) {
    if (cheat.of_a_log()) continue;  // log_cheat_test.cpp
    if (++number % 2 != 0 && !whole_test()) continue;
    const int64_t step = done_at(cheat.name, 6, 12);
    const verify::AuditVerdict v = audit_of_cheat(cheat.name, step, small_job({"commit.every=5"})).verdict;
    EXPECT_FALSE(v.accepted()) << cheat.name;
    ASSERT_TRUE(v.first_difference) << cheat.name;
    EXPECT_LE(v.first_difference->first_step, found_at(cheat.name, step)) << cheat.name;
    EXPECT_GE(v.first_difference->last_step, found_at(cheat.name, step)) << cheat.name;
  }
}

// Inflated results, exchanged final weights and other data are found whatever intervals are drawn.
TEST(Sample, FindsWhatMattersWithAnySeed) {
  const Folder folder("sample");
  for (const char* kind : {"overwrite", "order", "momentum", "inflate", "initial"}) {
    const train::Job job = small_job({"commit.every=1", "checkpoint.every=1", "checkpoint.keep=12"});
    run::TrainRequest request = train_request(folder / kind, job);
    ASSERT_TRUE(apply_cheat(kind, std::string(kind) == "order" ? 3 : 12, request));
    ASSERT_TRUE(run::train_run(request));
    for (uint8_t seed = 0; seed < 6; ++seed) {
      run::AuditRequest sample = audit_request(folder / kind);
      sample.sample = 1;
      sample.sample_seed = Bytes(32, seed);
      const auto audited = run::audit_run(sample);
      ASSERT_TRUE(audited) << audited.error().message;
      EXPECT_FALSE(audited->verdict.accepted()) << kind << " seed " << int{seed};
    }
  }
}

TEST_F(Cheats, UnknownNamesAndStepsAreRefused) {
  run::TrainRequest r = request(small_job());
  EXPECT_NE(apply_cheat("momentun", 3, r).error().message.find("momentum"), std::string::npos);
  EXPECT_FALSE(apply_cheat("rate", 0, r));
  EXPECT_FALSE(apply_cheat("rate", 13, r));
}

class Tampered : public ::testing::TestWithParam<const char*> {
 protected:
  Tampered() : folder_(text_of("tampered_", GetParam())) {
    const train::Job job = small_job({"job.steps=3", "checkpoint.every=1", "checkpoint.keep=3"});
    EXPECT_TRUE(run::train_run(train_request(folder_ / "run", job)));
  }

  run::AuditRequest request() const { return audit_request(folder_ / "run", GetParam(), 1); }
  bool accepted() const {
    const auto audited = run::audit_run(request());
    return audited && audited->verdict.accepted();
  }
  // Before a step is replayed, and with nothing said or noted of a run whose digests nobody has seen to be right.
  void expect_refused_at_once(const std::string& what) const {
    run::AuditRequest noting = request();
    noting.home = folder_ / "home";
    int steps = 0;
    noting.progress = [&](uint64_t, uint64_t) { ++steps; };
    const auto audited = run::audit_run(noting);
    EXPECT_EQ(steps, 0) << what;
    EXPECT_FALSE(fs::exists(noting.home / "judged")) << what;
    if (!audited) return;
    EXPECT_FALSE(audited->verdict.accepted()) << what;
    EXPECT_EQ(audited->verdict.steps_checked, 0u) << what;
    EXPECT_EQ(audited->verdict.first_difference->part, verify::Part::kStructure) << what;
    EXPECT_FALSE(audited->finished) << what;
    EXPECT_TRUE(audited->sampled.empty()) << what;
  }

  Folder folder_;
};

TEST_P(Tampered, NoFlippedBitOfAnyFileIsAccepted) {
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
      expect_refused_at_once(entry.path().string());
    }
    ASSERT_TRUE(write_file_durably(entry.path(), original));
  }
  EXPECT_GE(files, 9);
  EXPECT_TRUE(accepted());
}

TEST_P(Tampered, ARunUnderAnotherClientsKeyIsRejected) {
  run::TrainRequest theirs = train_request(folder_ / "theirs", small_job({"job.steps=3"}));
  theirs.client = run::testing::key(8);
  theirs.trainer = run::testing::key(9);
  ASSERT_TRUE(run::train_run(theirs));
  const auto audited = run::audit_run(audit_request(folder_ / "theirs", GetParam(), 1));
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

INSTANTIATE_TEST_SUITE_P(Each, Tampered, ::testing::ValuesIn(run::testing::kWays),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace isobit::adversary
