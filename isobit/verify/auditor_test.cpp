#include "isobit/verify/auditor.h"

#include <gtest/gtest.h>

#include <set>

#include "isobit/verify/testing.h"

namespace isobit::verify {
namespace {

using testing::Cheat;
using testing::fake_options;
using testing::fake_rules;
using testing::fake_transcript;
using testing::FakeReplayer;
using testing::FakeSource;

AuditVerdict audit_of(const TranscriptRules& rules, const Cheat& cheat) {
  FakeReplayer replayer(rules);
  auto verdict = audit(fake_transcript(rules, cheat), replayer, fake_options(rules));
  ISOBIT_CHECK(verdict.has_value());
  EXPECT_EQ(verdict->accepted(), !verdict->first_difference.has_value());
  return *verdict;
}

struct Found {
  uint64_t step, first, last;
  std::string part;
  bool operator==(const Found&) const = default;
};

void PrintTo(const Found& f, std::ostream* out) {
  *out << f.part << " at " << f.step << " [" << f.first << ", " << f.last << "]";
}

Found found_in(const AuditVerdict& verdict) {
  if (!verdict.first_difference) return {0, 0, 0, "none"};
  const FirstDifference& d = *verdict.first_difference;
  EXPECT_NE(d.claimed, d.found);
  EXPECT_FALSE(d.op);
  EXPECT_FALSE(verdict.reason.empty());
  return {d.step, d.first_step, d.last_step, name_of(d.part)};
}

TEST(Audit, HonestRunIsAccepted) {
  for (uint64_t every : {1, 10, 25, 100}) {
    for (bool logged : {false, true}) {
      TranscriptRules rules = fake_rules(every);
      rules.logged = logged;
      const AuditVerdict verdict = audit_of(rules, {});
      EXPECT_TRUE(verdict.accepted()) << verdict.reason;
      EXPECT_TRUE(verdict.complete);
      EXPECT_EQ(verdict.steps_checked, 25u);
    }
  }
}

TEST(Audit, EveryStepCommittedLocatesTheStep) {
  const TranscriptRules rules = fake_rules(1);
  for (uint64_t t = 1; t <= 25; ++t) {
    EXPECT_EQ(found_in(audit_of(rules, {.swapped_batch_at = t})), (Found{t, t, t, "batch"}));
    EXPECT_EQ(found_in(audit_of(rules, {.wrong_loss_at = t})), (Found{t, t, t, "loss"}));
    EXPECT_EQ(found_in(audit_of(rules, {.wrong_state_at = t})), (Found{t, t, t, "state"}));
    EXPECT_EQ(audit_of(rules, {.wrong_state_at = t}).steps_checked, t);
  }
}

TEST(Audit, EveryTenthStepCommittedLocatesTheInterval) {
  const TranscriptRules rules = fake_rules(10);
  EXPECT_EQ(found_in(audit_of(rules, {.swapped_batch_at = 14})), (Found{14, 14, 14, "batch"}));
  EXPECT_EQ(found_in(audit_of(rules, {.wrong_loss_at = 11})), (Found{11, 11, 11, "loss"}));
  EXPECT_EQ(found_in(audit_of(rules, {.wrong_loss_at = 14})), (Found{14, 11, 14, "loss"}));
  EXPECT_EQ(found_in(audit_of(rules, {.wrong_state_at = 20})), (Found{20, 11, 20, "state"}));
  EXPECT_EQ(found_in(audit_of(rules, {.wrong_state_at = 25})), (Found{25, 21, 25, "state"}));
  // A wrong state shows in the next loss; the wrong step is inside the interval that is told.
  for (uint64_t t = 1; t < 25; ++t) {
    const Found found = found_in(audit_of(rules, {.wrong_state_at = t}));
    EXPECT_LE(found.first, t);
    EXPECT_GE(found.last, t);
    EXPECT_EQ(found.first, (t - 1) / 10 * 10 + 1);
    EXPECT_EQ(found.last, t % 10 == 0 ? t : t + 1);
  }
}

TEST(Audit, EndsAreCompared) {
  for (uint64_t every : {1, 10}) {
    const TranscriptRules rules = fake_rules(every);
    EXPECT_EQ(found_in(audit_of(rules, {.wrong_start = true})), (Found{0, 0, 0, "initial_state"}));
    EXPECT_EQ(found_in(audit_of(rules, {.wrong_evaluation = true})), (Found{25, 25, 25, "evaluation"}));
  }
  EXPECT_EQ(found_in(audit_of(fake_rules(1), {.replaced_at_end = true})), (Found{25, 25, 25, "state"}));
  EXPECT_EQ(found_in(audit_of(fake_rules(10), {.replaced_at_end = true})), (Found{25, 21, 25, "state"}));
}

TEST(Audit, FirstOfSeveralDifferencesIsTold) {
  EXPECT_EQ(found_in(audit_of(fake_rules(1), {.swapped_batch_at = 9, .wrong_loss_at = 4, .wrong_state_at = 6})),
            (Found{4, 4, 4, "loss"}));
}

TEST(Audit, LogIsCompared) {
  TranscriptRules rules = fake_rules(1);
  rules.logged = true;
  Transcript claimed(rules);
  for (Leaf leaf : testing::fake_leaves(rules)) {
    if (auto* step = std::get_if<StepLeaf>(&leaf); step && step->step == 7) (*step->log_segment)[0] ^= 1;
    ASSERT_TRUE(claimed.append(leaf));
  }
  FakeReplayer replayer(rules);
  EXPECT_EQ(found_in(*audit(claimed, replayer, fake_options(rules))), (Found{7, 7, 7, "log"}));
}

TEST(Audit, OtherJobOrRulesAreRejectedBeforeAnyStep) {
  const TranscriptRules rules = fake_rules(5);
  FakeReplayer replayer(rules);
  AuditOptions options = fake_options(rules);
  options.job_root[0] ^= 1;
  EXPECT_EQ(found_in(*audit(fake_transcript(rules), replayer, options)), (Found{0, 0, 0, "job"}));
  options = fake_options(fake_rules(6));
  EXPECT_EQ(found_in(*audit(fake_transcript(rules), replayer, options)), (Found{0, 0, 0, "structure"}));
  Transcript cut(rules);
  for (uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(cut.append(fake_transcript(rules).leaf(i)));
  EXPECT_EQ(found_in(*audit(cut, replayer, fake_options(rules))).part, "structure");
  EXPECT_EQ(replayer.step(), 0u);
}

TEST(Audit, PartOfARun) {
  const TranscriptRules rules = fake_rules(10);
  const Transcript claimed = fake_transcript(rules, {.wrong_state_at = 10});
  auto run = [&](uint64_t from, std::optional<uint64_t> until, const Cheat& checkpoint) {
    auto replayer = *FakeSource(rules, {}, checkpoint).open(from);
    AuditOptions options = fake_options(rules);
    options.from_step = from;
    options.until_step = until;
    return audit(claimed, *replayer, options);
  };
  EXPECT_TRUE(run(0, 9, {})->accepted());
  EXPECT_FALSE(run(0, 9, {})->complete);
  EXPECT_EQ(run(0, 9, {})->steps_checked, 9u);
  EXPECT_EQ(found_in(*run(0, 10, {})), (Found{10, 1, 10, "state"}));
  // From a checkpoint the cheater supplied, what follows is right.
  EXPECT_TRUE(run(10, 25, {.wrong_state_at = 10})->accepted());
  EXPECT_FALSE(run(10, 25, {.wrong_state_at = 10})->complete);
  EXPECT_EQ(found_in(*run(10, {}, {})), (Found{10, 10, 10, "checkpoint"}));
  // The last step's state is committed by the final leaf.
  EXPECT_TRUE(run(25, {}, {.wrong_state_at = 10})->accepted());
  EXPECT_EQ(run(7, {}, {}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(run(20, 10, {}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(run(0, 26, {}).error().code, ErrorCode::kUsage);
}

TEST(Audit, ProgressAndErrorsPassThrough) {
  struct Failing : FakeReplayer {
    using FakeReplayer::FakeReplayer;
    Expected<StepOutcome> advance() override {
      if (step() == 3) return unavailable("no memory for step 4");
      return FakeReplayer::advance();
    }
  };
  const TranscriptRules rules = fake_rules(1);
  Failing replayer(rules);
  AuditOptions options = fake_options(rules);
  std::vector<uint64_t> done;
  options.progress = [&](uint64_t d, uint64_t total) {
    done.push_back(d);
    EXPECT_EQ(total, 25u);
  };
  const auto verdict = audit(fake_transcript(rules), replayer, options);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(done, (std::vector<uint64_t>{1, 2, 3}));
}

TEST(Sample, IntervalsCoverTheRun) {
  EXPECT_EQ(intervals_of(fake_rules(10)), (std::vector<Interval>{{1, 10}, {11, 20}, {21, 25}}));
  EXPECT_EQ(intervals_of(fake_rules(5)).size(), 5u);
  EXPECT_EQ(intervals_of(fake_rules(1)).size(), 25u);
  EXPECT_EQ(intervals_of(fake_rules(100)), (std::vector<Interval>{{1, 25}}));
  EXPECT_TRUE(intervals_of({0, 1, DType::kFloat32, false}).empty());
}

TEST(Sample, DrawDependsOnSeedAndTranscriptOnly) {
  const Transcript claimed = fake_transcript(fake_rules(1));
  const Bytes seed(kMinSeedBytes, 3), other(kMinSeedBytes, 4);
  const auto drawn = draw_intervals(claimed, 6, seed);
  EXPECT_EQ(drawn.size(), 7u) << "six, and the last";
  EXPECT_EQ(drawn.back(), (Interval{25, 25}));
  EXPECT_EQ(draw_intervals(claimed, 0, seed), (std::vector<Interval>{{25, 25}}));
  EXPECT_EQ(drawn, draw_intervals(claimed, 6, seed));
  EXPECT_NE(drawn, draw_intervals(claimed, 6, other));
  EXPECT_NE(drawn, draw_intervals(fake_transcript(fake_rules(1), {.wrong_loss_at = 3}), 6, seed));
  EXPECT_EQ(draw_intervals(claimed, 100, seed), intervals_of(fake_rules(1)));
  for (size_t i = 1; i < drawn.size(); ++i) EXPECT_LT(drawn[i - 1].last_step, drawn[i].first_step);
}

TEST(Sample, DrawIsEven) {
  const Transcript claimed = fake_transcript(fake_rules(1));
  std::vector<int> hits(26);
  for (uint8_t a = 0; a < 250; ++a) {
    for (uint8_t b = 0; b < 20; ++b) {
      Bytes seed(kMinSeedBytes, a);
      seed[0] = b;
      for (const Interval& i : draw_intervals(claimed, 6, seed)) ++hits[i.first_step];
    }
  }
  // 5,000 draws, each interval but the last with probability 6/24: mean 1,250, standard deviation 31.
  for (int t = 1; t <= 24; ++t) EXPECT_NEAR(hits[t], 1250, 155) << t;
  EXPECT_EQ(hits[25], 5000);
}

TEST(Sample, DetectionProbability) {
  EXPECT_EQ(detection_probability(10, 0, 5), 0);
  EXPECT_EQ(detection_probability(10, 10, 1), 1);
  EXPECT_EQ(detection_probability(10, 6, 5), 1);
  EXPECT_EQ(detection_probability(10, 3, 0), 0);
  EXPECT_NEAR(detection_probability(10, 1, 3), 0.3, 1e-15);
  EXPECT_NEAR(detection_probability(5, 2, 2), 1 - 3.0 / 10, 1e-15);  // C(3,2) / C(5,2)
  // By counting: all pairs of 6 of which 2 are wrong.
  int hit = 0, all = 0;
  for (int i = 0; i < 6; ++i) {
    for (int j = i + 1; j < 6; ++j, ++all) hit += i < 2 || j < 2;
  }
  EXPECT_NEAR(detection_probability(6, 2, 2), static_cast<double>(hit) / all, 1e-15);
}

TEST(Sample, ProbabilityOfWhatIsDrawn) {
  EXPECT_EQ(sample_detection_probability(0, 0), 1);
  EXPECT_EQ(sample_detection_probability(1, 0), 1);
  EXPECT_EQ(sample_detection_probability(5, 0), 0);
  EXPECT_NEAR(sample_detection_probability(5, 1), 0.25, 1e-15);
  EXPECT_EQ(sample_detection_probability(5, 4), 1);
}

// Whatever is drawn: inflated results, exchanged weights, other data and another beginning are found.
TEST(Sample, AlwaysChecksWhatMatters) {
  const TranscriptRules rules = fake_rules(5);
  const std::vector<std::pair<Cheat, Found>> cheats = {{{.wrong_evaluation = true}, {25, 25, 25, "evaluation"}},
                                                       {{.replaced_at_end = true}, {25, 25, 25, "state"}},
                                                       {{.swapped_batch_at = 7}, {7, 7, 7, "batch"}},
                                                       {{.wrong_state_at = 23}, {24, 21, 24, "loss"}},
                                                       {{.wrong_start = true}, {0, 0, 0, "initial_state"}}};
  for (const auto& [cheat, found] : cheats) {
    const Transcript claimed = fake_transcript(rules, cheat);
    for (uint8_t seed = 0; seed < 20; ++seed) {
      FakeSource source(rules, {0, 5, 10, 15, 20});
      const auto drawn = draw_intervals(claimed, 0, Bytes(kMinSeedBytes, seed));
      const auto verdict = audit_sample(claimed, source, drawn, fake_options(rules));
      ASSERT_TRUE(verdict);
      EXPECT_EQ(found_in(*verdict), found) << verdict->reason;
    }
  }
}

TEST(Sample, ReplaysFromTheNearestStart) {
  const TranscriptRules rules = fake_rules(5);
  FakeSource source(rules, {0, 10, 13, 20});
  const std::vector<Interval> intervals{{6, 10}, {11, 15}, {21, 25}};
  auto verdict = audit_sample(fake_transcript(rules), source, intervals, fake_options(rules));
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->accepted()) << verdict->reason;
  EXPECT_FALSE(verdict->complete);
  EXPECT_EQ(verdict->steps_checked, 20u);  // 1-10, 11-15, 21-25
  EXPECT_EQ(source.opened(), (std::vector<uint64_t>{0, 20}));
  // Nothing drawn: the initial state is looked at all the same, and the last interval.
  FakeSource again(rules, {0, 10, 13, 20});
  verdict = audit_sample(fake_transcript(rules), again, {}, fake_options(rules));
  EXPECT_EQ(verdict->steps_checked, 5u);
  EXPECT_EQ(again.opened(), (std::vector<uint64_t>{0, 20}));
}

TEST(Sample, FindsTheWrongIntervalIffItIsDrawn) {
  const TranscriptRules rules = fake_rules(5);
  const Cheat cheat{.wrong_state_at = 15};
  const Transcript claimed = fake_transcript(rules, cheat);
  // The cheater's own checkpoints; what follows step 15 is computed honestly from a state that was jumped to.
  auto run = [&](std::vector<Interval> intervals) {
    struct Source : FakeSource {
      using FakeSource::FakeSource;
      Expected<std::unique_ptr<Replayer>> open(uint64_t step) override {
        if (step >= 15) return FakeSource::open(step);
        FakeSource honest(fake_rules(5), {0});
        return honest.open(step);
      }
    } source(rules, {0, 5, 10, 15, 20}, cheat);
    return *audit_sample(claimed, source, intervals, fake_options(rules));
  };
  EXPECT_TRUE(run({{6, 10}, {16, 20}, {21, 25}}).accepted());
  EXPECT_EQ(found_in(run({{6, 10}, {11, 15}})), (Found{15, 11, 15, "state"}));
  EXPECT_TRUE(run({}).accepted());
  EXPECT_FALSE(run({}).complete);
  const AuditVerdict all = run(intervals_of(rules));
  EXPECT_FALSE(all.accepted());
}

TEST(WithoutReplay, Contradictions) {
  const TranscriptRules rules = fake_rules(5);
  EXPECT_FALSE(self_contradiction(fake_transcript(rules)));
  EXPECT_TRUE(self_contradiction(fake_transcript(rules, {.replaced_at_end = true})));
  const Transcript claimed = fake_transcript(rules);
  EXPECT_FALSE(compare_checkpoint(claimed, 10, *claimed.committed_state(10)));
  EXPECT_TRUE(compare_checkpoint(claimed, 10, *claimed.committed_state(5)));
  EXPECT_FALSE(compare_checkpoint(claimed, 11, *claimed.committed_state(5)));
  const AuditVerdict verdict = rejected_verdict(Part::kSignature, "forged");
  EXPECT_FALSE(verdict.accepted());
  EXPECT_EQ(name_of(verdict.first_difference->part), std::string("signature"));
  EXPECT_EQ(rejected_verdict(Part::kStructure, std::string(300000, 'x')).reason.size(), kMaxVerdictText);
}

}  // namespace
}  // namespace isobit::verify
