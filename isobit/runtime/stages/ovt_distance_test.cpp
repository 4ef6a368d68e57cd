// The published log between two simulated platforms: as published, and with decisions that obey the bounds.
#include "isobit/kernels/rounding/places.h"
#include "isobit/runtime/stages/ovt_stage.h"
#include "isobit/runtime/stages/simulation_for_test.h"

namespace isobit::runtime {
namespace {

using namespace testing;

RoundingRules ovt_rules(int bits) {
  RoundingRules rules = cancelling_rules(bits);
  rules.log = log::Kind::kOvt;
  return rules;
}

// With the log the auditor comes to the trainer's bits, and without it, on the same two platforms, to others.
TEST_F(StageTest, OvtIsFollowedToTheSameBits) {
  for (int bits : {22, 27, 32}) {
    for (double threshold : {0.0, 0.25, 0.4999}) {
      RoundingRules rules = ovt_rules(bits);
      rules.threshold = threshold;
      const Net net = cancelling_net(bits);
      log::Counts counts;
      int apart = 0;
      for (uint64_t seed = 0; seed < 24; ++seed) {
        OvtRecorder recorder(rules);
        OvtFollower follower(rules);
        RoundingStage alone(bits);
        Simulated trainer(recorder, rules, 2 * seed, {}), auditor(follower, rules, 2 * seed + 1, {});
        Simulated without_log(alone, rules, 2 * seed + 1, {});
        recorder.begin_step(seed + 1);
        const auto trained = run(net, trainer);
        ASSERT_TRUE(trained) << trained.error().message;
        follower.begin_step(seed + 1, recorder.log(), StateBefore::kAgreed);
        const auto audited = run(net, auditor);
        ASSERT_TRUE(audited) << audited.error().message;
        ASSERT_TRUE(follower.end_step());
        ASSERT_TRUE(same(*trained, *audited)) << bits << " bits, threshold " << threshold << ", seed " << seed;
        const auto unlogged = run(net, without_log);
        ASSERT_TRUE(unlogged) << unlogged.error().message;
        apart += same(*trained, *unlogged) ? 0 : 1;
        counts += total(follower.counts());
      }
      EXPECT_GT(apart, 0) << bits << " bits, threshold " << threshold;
      // At 22 bits the terms of every near-tie cancel, and the exact value decides on both sides.
      EXPECT_EQ(counts.corrections > 0, bits > 22) << bits << " bits, threshold " << threshold;
      EXPECT_GT(counts.evaluated, 0u) << bits;
      EXPECT_EQ(counts.findings(), 0u) << bits << " bits, threshold " << threshold;
    }
  }
}

// Where cancellation leaves less than the error, the published rule cannot help; elsewhere it does.
TEST_F(StageTest, AsPublishedMostOutputsAreFollowed) {
  for (int bits : {27, 32}) {
    RoundingRules rules = ovt_rules(bits);
    rules.distance = false;
    const Net net = cancelling_net(bits);
    size_t differing = 0, all = 0;
    log::Counts counts;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      OvtRecorder recorder(rules);
      OvtFollower follower(rules);
      Simulated trainer(recorder, rules, 2 * seed, {}), auditor(follower, rules, 2 * seed + 1, {});
      recorder.begin_step(seed + 1);
      const auto trained = run(net, trainer).value();
      follower.begin_step(seed + 1, recorder.log(), StateBefore::kAgreed);
      const auto audited = run(net, auditor);
      ASSERT_TRUE(audited) << audited.error().message;
      counts += total(follower.counts());
      for (size_t t = 0; t < trained.size(); ++t) {
        for (int64_t i = 0; i < trained[t].elements(); ++i, ++all) {
          differing += trained[t].data<double>()[i] != audited->at(t).data<double>()[i] ? 1 : 0;
        }
      }
    }
    EXPECT_GT(counts.corrections, 0u);
    EXPECT_GT(differing, 0u);
    EXPECT_LT(differing * 5, all);
  }
}

// What a forged decision does, by rule.
class OvtForger : public StageTest {
 protected:
  OvtForger() : rules_(ovt_rules(32)), net_(cancelling_net(32)) { record(); }
  void record() {
    OvtRecorder recorder(rules_);
    Simulated trainer(recorder, rules_, 5, {});
    recorder.begin_step(1);
    outputs_ = run(net_, trainer).value();
    log_ = recorder.log();
  }
  bool accepted(const log::OvtLog& log, uint64_t seed = 6, StateBefore before = StateBefore::kAgreed) {
    OvtFollower follower(rules_);
    Simulated auditor(follower, rules_, seed, {});
    follower.begin_step(1, log, before);
    const auto run_outputs = run(net_, auditor);
    const bool ok = run_outputs.has_value() && follower.end_step().has_value();
    EXPECT_EQ(ok, !follower.fault().has_value());
    fault_ = follower.fault();
    counts_ = total(follower.counts());
    if (ok) audited_ = *run_outputs;
    return ok;
  }
  RoundingRules rules_;
  Net net_;
  std::vector<Tensor> outputs_, audited_;
  log::OvtLog log_;
  log::Counts counts_;
  std::optional<log::Fault> fault_;
};

TEST_F(OvtForger, MovesOnlyNearTiesUnlessItIsAsPublished) {
  for (bool distance : {true, false}) {
    rules_.distance = distance;
    record();
    int moved = 0, refused = 0, found = 0, tried = 0;
    for (size_t n = 0; n < log_.outputs.size(); ++n) {
      for (size_t p = 0; p < log_.outputs[n].decisions.size(); p += 3) {
        if (log_.outputs[n].decisions[p] == 1) continue;
        log::OvtLog forged = log_;
        forged.outputs[n].decisions[p] = static_cast<uint8_t>(2 - log_.outputs[n].decisions[p]);
        ++tried;
        if (!accepted(forged)) {
          EXPECT_EQ(fault_->kind, log::FaultKind::kIllegal) << fault_->what;
          ++refused;
        } else if (outputs_[n].data<double>()[p] != audited_[n].data<double>()[p]) {
          ++moved;
          found += counts_.findings() > 0 ? 1 : 0;
        }
      }
    }
    EXPECT_GT(tried, 100);
    if (distance) {
      EXPECT_GT(moved - found, 0);
      EXPECT_LT(moved, tried / 2);
      EXPECT_GT(refused, tried / 2);
    } else {
      EXPECT_EQ(refused, 0);
      EXPECT_GT(moved, tried * 9 / 10);
      EXPECT_EQ(found, 0);
    }
  }
}

TEST_F(OvtForger, TwoAuditorsNeverDisagreeAboutOneLog) {
  std::mt19937_64 random(7);
  int taken = 0, refused = 0;
  for (int trial = 0; trial < 150; ++trial) {
    log::OvtLog forged = log_;
    for (int change = 0; change < 2; ++change) {
      log::OvtOutput& o = forged.outputs[random() % forged.outputs.size()];
      o.decisions[random() % o.decisions.size()] = static_cast<uint8_t>(random() % 3);
    }
    std::optional<std::vector<Tensor>> outputs;
    std::string fault;
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const bool ok = accepted(forged, 100 + seed);
      const std::string said = ok ? "" : fault_->what;
      if (seed == 0) {
        outputs = ok ? std::optional(audited_) : std::nullopt;
        fault = said;
      }
      ASSERT_EQ(fault, said);
      ASSERT_TRUE(!ok || same(*outputs, audited_));
    }
    ++(outputs ? taken : refused);
  }
  EXPECT_GT(taken, 20);
  EXPECT_GT(refused, 20);
}

// Whatever the rule for products: elsewhere an honest log corrects nothing.
TEST_F(StageTest, ACorrectionOutsideAnInnerProductIsRefused) {
  Net net;
  const graph::ValueId x = net.input(random_tensor({40, 30}, 1)), y = net.input(random_tensor({40, 30}, 2));
  net.g.add_output(net.g.emit("Mul", {x, y}, {}, "update"));
  for (bool distance : {true, false}) {
    for (StateBefore before : {StateBefore::kAgreed, StateBefore::kUnknown}) {
      RoundingRules rules;
      rules.log = log::Kind::kOvt;
      rules.distance = distance;
      OvtRecorder recorder(rules);
      recorder.begin_step(1);
      const auto trained = run(net, recorder).value();
      for (bool forged : {false, true}) {
        log::OvtLog log = recorder.log();
        for (uint8_t& decision : log.outputs[0].decisions) {
          if (forged) decision = static_cast<uint8_t>(2 - decision);
        }
        OvtFollower follower(rules);
        follower.begin_step(1, log, before);
        const auto audited = run(net, follower);
        EXPECT_EQ(audited.has_value(), !forged);
        EXPECT_TRUE(!audited || same(trained, *audited));
        EXPECT_EQ(follower.fault().has_value(), forged);
        if (!forged) continue;
        const bool agreed = before == StateBefore::kAgreed;
        EXPECT_EQ(follower.fault()->kind, agreed ? log::FaultKind::kIllegal : log::FaultKind::kDiffers);
        EXPECT_NE(follower.fault()->what.find("every platform computes alike"), std::string::npos);
      }
    }
  }
}

TEST_F(StageTest, OvtLogOfAnotherShapeIsDamage) {
  const RoundingRules rules = ovt_rules(32);
  const Net net = cancelling_net(32);
  OvtRecorder recorder(rules);
  recorder.begin_step(1);
  ASSERT_TRUE(run(net, recorder));
  log::OvtLog log = recorder.log();
  log.outputs[1].decisions.pop_back();
  OvtFollower follower(rules);
  follower.begin_step(1, log, StateBefore::kUnknown);
  EXPECT_FALSE(run(net, follower));
  ASSERT_TRUE(follower.fault().has_value());
  EXPECT_EQ(follower.fault()->kind, log::FaultKind::kDamaged);
}

}  // namespace
}  // namespace isobit::runtime
