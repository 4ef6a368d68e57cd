// Disputes about logs that lack entries, have too many or cannot be read: who doubts always has an answer, from the
// exact values.
#include "isobit/adversary/dispute_log_for_test.h"

namespace isobit::adversary {
namespace {

using namespace testing;

class LacksOfLogs : public LogDisputeTest {};

// A value that is not the exact one's, and no entry: by the sound bound a lie, else one of a platform that may be
// beyond the job's bound without knowing it.
TEST_F(LacksOfLogs, AMissingEntryConvictsUnderTheSoundBoundAlone) {
  for (const bool sound : {false, true}) {
    const train::Job job =
        sound ? logged_job({"model.width=16", "data.batch=24", "rounding.bound=sound"}) : near_tie_job();
    const Made honest = make(text_of("honest_", sound), job);
    int findings = 0;
    for (int64_t at = 1; at <= kSteps; ++at) {
      SCOPED_TRACE(text_of("sound ", sound, " step ", at));
      const auto result = dispute(make(text_of("hidden_", sound, at), job, "log-hide", at), honest);
      if (!result) {
        EXPECT_NE(result.error().message.find("nothing to dispute"), std::string::npos) << result.error().message;
        continue;
      }
      const Verdict& v = result->verdict;
      EXPECT_EQ(v.outcome, sound ? Outcome::kTrainerWrong : Outcome::kNobodyWrong) << v.reason;
      EXPECT_EQ(v.finding, sound ? "" : "missing") << v.reason;
      EXPECT_EQ(v.step, static_cast<uint64_t>(at));
      EXPECT_TRUE(is_product(v.op)) << v.op;
      ASSERT_TRUE(v.element);
      EXPECT_EQ(v.element->right, v.element->challenger);
      ++findings;
    }
    EXPECT_GT(findings, 0);
  }
}

// Entries that change nothing convict nobody; nor does a log that cannot be read, where the values are right: that is
// an audit's to say.
TEST_F(LacksOfLogs, WhatMakesNoValueFalseIsNotDisputed) {
  const train::Job job = near_tie_job();
  const Made honest = make("honest", job);
  for (const char* cheat : {"log-add", "log-pad", "log-many", "log-remove", "log-cut", "log-version", "log-swap"}) {
    const auto result = dispute(make(cheat, job, cheat, kAt), honest);
    ASSERT_FALSE(result) << cheat << ": " << result->verdict.reason;
    EXPECT_EQ(result.error().code, ErrorCode::kUsage) << cheat;
    EXPECT_NE(result.error().message.find("nothing to dispute"), std::string::npos) << result.error().message;
  }
}

TEST_F(LacksOfLogs, AFalseValueBehindALogThatCannotBeReadIsFound) {
  const train::Job job = near_tie_job();
  const Made honest = make("honest", job);
  for (const char* cheat : {"log-cut", "log-version", "log-swap"}) {
    run::TrainRequest request = train_request(folder_ / text_of(cheat, "_rate"), job);
    ASSERT_TRUE(apply_cheat(cheat, kAt, request));
    ASSERT_TRUE(apply_cheat("rate", kAt, request));
    ASSERT_TRUE(run::train_run(request));
    const Verdict v = settle({request.out, request.conduct, job}, honest).verdict;
    EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << cheat << ": " << v.reason;
    EXPECT_EQ(v.step, static_cast<uint64_t>(kAt)) << cheat;
    EXPECT_EQ(v.op, "isobit.Sgd") << cheat;
  }
}

}  // namespace
}  // namespace isobit::adversary
