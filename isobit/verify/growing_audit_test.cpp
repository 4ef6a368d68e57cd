#include "isobit/verify/growing_audit.h"

#include <gtest/gtest.h>

#include "isobit/verify/testing.h"

namespace isobit::verify {
namespace {

using testing::Cheat;
using testing::fake_leaves;
using testing::fake_options;
using testing::fake_rules;
using testing::fake_transcript;
using testing::FakeReplayer;

// Leaves come `at_once` at a time, and as many of them as there are get compared.
AuditVerdict follow(const TranscriptRules& rules, const Cheat& cheat, uint64_t at_once) {
  const std::vector<Leaf> leaves = fake_leaves(rules, cheat);
  Transcript claimed(rules);
  FakeReplayer replayer(rules);
  GrowingAudit audit(claimed, replayer, fake_options(rules));
  while (!claimed.complete()) {
    for (uint64_t i = 0; i < at_once && !claimed.complete(); ++i) {
      ISOBIT_CHECK(claimed.append(leaves[claimed.size()]).has_value());
    }
    while (audit.leaves() < std::min(claimed.size(), rules.steps + 1)) {
      if (!*audit.compare_next()) return audit.verdict();
    }
  }
  return *audit.conclude();
}

TEST(GrowingAudit, SaysWhatTheAuditOfTheWholeSays) {
  const std::vector<Cheat> cheats = {{},
                                     {.swapped_batch_at = 14},
                                     {.wrong_loss_at = 14},
                                     {.wrong_state_at = 20},
                                     {.wrong_state_at = 25},
                                     {.wrong_start = true},
                                     {.wrong_evaluation = true},
                                     {.replaced_at_end = true}};
  for (const uint64_t every : {1, 10, 100}) {
    const TranscriptRules rules = fake_rules(every);
    for (const Cheat& cheat : cheats) {
      FakeReplayer replayer(rules);
      const AuditVerdict whole = *audit(fake_transcript(rules, cheat), replayer, fake_options(rules));
      for (const uint64_t at_once : {1, 4, 27}) {
        const AuditVerdict followed = follow(rules, cheat, at_once);
        EXPECT_EQ(followed.reason, whole.reason);
        EXPECT_EQ(followed.outcome, whole.outcome);
        EXPECT_EQ(followed.complete, whole.complete);
        EXPECT_EQ(followed.steps_checked, whole.steps_checked);
      }
    }
  }
}

TEST(GrowingAudit, OfAnotherJobNothingIsCompared) {
  const TranscriptRules rules = fake_rules(1);
  AuditOptions options = fake_options(rules);
  options.job_root[3] ^= 1;
  const Transcript claimed = fake_transcript(rules);
  FakeReplayer replayer(rules);
  GrowingAudit audit(claimed, replayer, options);
  EXPECT_FALSE(*audit.compare_next());
  EXPECT_EQ(audit.verdict().first_difference->part, Part::kJob);
  EXPECT_EQ(replayer.step(), 0u);
}

// A step that could not be replayed is not one that agreed.
TEST(GrowingAudit, AfterAnErrorTheSameStepComesAgain) {
  class Failing : public FakeReplayer {
   public:
    using FakeReplayer::FakeReplayer;
    Expected<StepOutcome> advance() override {
      if (std::exchange(fails_, !fails_)) return unavailable("not now");
      return FakeReplayer::advance();
    }

   private:
    bool fails_ = true;
  };
  const TranscriptRules rules = fake_rules(1);
  const Transcript claimed = fake_transcript(rules, {.wrong_loss_at = 3});
  Failing replayer(rules);
  GrowingAudit audit(claimed, replayer, fake_options(rules));
  ASSERT_TRUE(*audit.compare_next());
  for (uint64_t step = 1; step <= 3; ++step) {
    EXPECT_EQ(audit.compare_next().error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(audit.leaves(), step);
    EXPECT_EQ(*audit.compare_next(), step < 3);
  }
  EXPECT_EQ(audit.verdict().first_difference->step, 3u);
}

}  // namespace
}  // namespace isobit::verify
