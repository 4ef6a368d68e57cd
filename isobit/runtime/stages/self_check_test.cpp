// Platforms that notice that they are beyond the job's bound, as often as it is stated.
#include "isobit/runtime/stages/self_check.h"

#include <numeric>
#include <random>
#include <set>

#include "isobit/runtime/stages/ovt_stage.h"
#include "isobit/runtime/stages/simulation_for_test.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {
namespace {

using namespace testing;

TEST(SelfCheck, TheSampleGoesRoundAllOutputs) {
  for (uint64_t outputs : {1u, 2u, 3u, 10u, 640u, 16383u, 16384u, 40000u}) {
    const uint64_t size = sample_size(outputs), steps = outputs / size;
    EXPECT_EQ(size, 1 + outputs / kOutputsPerSample);
    std::set<uint64_t> seen;
    for (uint64_t step = 1; step <= steps; ++step) {
      for (uint64_t q = 0; q < size; ++q) {
        const uint64_t p = sample_position(step, q, outputs);
        ASSERT_LT(p, outputs);
        EXPECT_TRUE(seen.insert(p).second) << outputs << ": " << p << " again at step " << step;
      }
    }
    EXPECT_EQ(seen.size(), steps * size);
  }
  EXPECT_EQ(sample_size(0), 0u);
  // The outputs of one product that neighbouring steps look at do not lie together.
  EXPECT_GT(
      std::abs(static_cast<int64_t>(sample_position(1, 0, 10000)) - static_cast<int64_t>(sample_position(2, 0, 10000))),
      1000);
}

TEST(SelfCheck, TheProbabilityOfNoticing) {
  EXPECT_EQ(noticing_probability(0, 1000), 0);
  EXPECT_EQ(noticing_probability(0.5, 0), 0);
  EXPECT_NEAR(noticing_probability(1, kOutputsPerSample), 0.6321206, 1e-7);
  EXPECT_NEAR(noticing_probability(0.25, 8 * kOutputsPerSample), 0.8646647, 1e-7);
  EXPECT_NEAR(noticing_probability(1e-12, 1000 * kOutputsPerSample), 1e-9, 1e-15);
}

// Whether, in steps from `first` on, the sample of a product meets one of `bad` outputs drawn anew in each step.
bool meets(uint64_t outputs, uint64_t bad, uint64_t first, uint64_t steps, std::mt19937_64& random) {
  std::vector<uint64_t> order(outputs);
  std::iota(order.begin(), order.end(), 0);
  bool met = false;
  for (uint64_t step = first; step < first + steps; ++step) {
    std::set<uint64_t> sample;
    for (uint64_t q = 0; q < sample_size(outputs); ++q) sample.insert(sample_position(step, q, outputs));
    for (uint64_t b = 0; b < bad; ++b) {
      std::swap(order[b], order[b + random() % (outputs - b)]);
      met = met || sample.contains(order[b]);
    }
  }
  return met;
}

// Products of which every step has one check or a few: outputs beyond the bound may all be in one of them.
TEST(SelfCheck, IsAsFrequentAsStatedWhereverTheyAre) {
  constexpr uint64_t kTrials = 600, kSteps = 20, kSmall = 400;
  for (uint64_t outputs : {uint64_t{4000}, kOutputsPerSample - 1, 3 * kOutputsPerSample - 1}) {
    // Beside it 40 products of 10 outputs each, in which all is well.
    const uint64_t bad = 600, all = outputs + kSmall;
    const double share = static_cast<double>(bad) / static_cast<double>(all);
    std::mt19937_64 random(outputs);
    uint64_t met = 0;
    for (uint64_t t = 0; t < kTrials; ++t) met += meets(outputs, bad, 1 + random() % 100000, kSteps, random) ? 1 : 0;
    const double frequency = static_cast<double>(met) / kTrials;
    const double stated = noticing_probability(share, all * kSteps);
    EXPECT_GT(frequency, stated - 0.06) << outputs;
    // Just below a multiple of kOutputsPerSample nothing higher could be stated.
    if (outputs > kOutputsPerSample - 2) {
      EXPECT_LT(frequency, stated + 0.08) << outputs;
      // What all checks together would come to if errors fell evenly on all products.
      const auto checks = static_cast<double>(kSteps * (sample_size(outputs) + kSmall / 10));
      EXPECT_GT(even_noticing(share, checks), frequency + 0.3) << outputs;
    }
  }
}

class Noticing : public StageTest {
 protected:
  static uint64_t outputs_of(const Net& net) {
    uint64_t all = 0;
    for (const graph::ValueId id : net.g.outputs()) {
      all += static_cast<uint64_t>(Shape(net.g.value(id).dims).elements());
    }
    return all;
  }
  // Of `runs` simulated steps, how many a trainer whose share `share` of outputs is beyond the bound ended.
  template <class Recorder>
  std::pair<double, double> noticed(const RoundingRules& rules, double share, int runs) {
    const Net net = cancelling_net(32);
    int ended = 0;
    log::Counts counts;
    for (int run_index = 0; run_index < runs; ++run_index) {
      Recorder recorder(rules);
      // Within the bound, or beyond it but for one in 10^5.
      Simulated platform(recorder, rules, static_cast<uint64_t>(run_index), {0.9, 1e5, share});
      const auto step = static_cast<uint64_t>(1 + run_index * 7);
      recorder.begin_step(step);
      const auto outputs = run(net, platform);
      if (!outputs) {
        EXPECT_EQ(outputs.error().code, ErrorCode::kUnavailable);
        EXPECT_NE(outputs.error().message.find("beyond the job's error bound"), std::string::npos);
        ++ended;
      } else {
        counts += total(recorder.counts());
      }
    }
    EXPECT_LE(noticing_probability(share, outputs_of(net)), even_noticing(share, 5));
    const double checked = counts.checked == 0 ? 5 : static_cast<double>(counts.checked) / (runs - ended);
    if (counts.checked > 0) {
      EXPECT_EQ(counts.sampled, outputs_of(net) * static_cast<uint64_t>(runs - ended));
    }
    return {static_cast<double>(ended) / runs, even_noticing(share, checked)};
  }
};

// The simulated errors fall evenly on all outputs, so more can be asked for than is stated.
TEST_F(Noticing, IsAsFrequentAsTheSampleIsLarge) {
  RoundingRules rules = cancelling_rules(32);
  rules.divergence = 1;  // far below the sound bound, which caps what is simulated
  for (double share : {0.02, 0.1, 0.5, 1.0}) {
    const auto [frequency, stated] = noticed<SparseRecorder>(rules, share, 400);
    // Near-ties are looked at, too, so that it is more often than the sample alone would.
    EXPECT_GT(frequency, stated - 0.06) << share;
    rules.log = log::Kind::kOvt;
    const auto [of_ovt, same_stated] = noticed<OvtRecorder>(rules, share, 200);
    EXPECT_GT(of_ovt, same_stated - 0.09) << share;
    rules.log = log::Kind::kSparse;
  }
}

// Whether or not the sample meets one, no platform within the bound is ever stopped.
TEST_F(Noticing, NeverHappensWithinTheBound) {
  const RoundingRules rules = cancelling_rules(32);
  const Net net = cancelling_net(32);
  for (uint64_t step = 1; step <= 100; ++step) {
    SparseRecorder recorder(rules);
    Simulated platform(recorder, rules, step, {});
    recorder.begin_step(step);
    ASSERT_TRUE(run(net, platform));
  }
}

// What a near-tie shows is noticed without any luck: a value beyond the bound that is written down ends the step.
TEST_F(Noticing, EveryNearTieIsLookedAt) {
  const RoundingRules rules = cancelling_rules(32);
  const Net net = cancelling_net(32);
  int apart = 0, noticed_by_either = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    // Beyond the bound by less than what near-ties cover: four times for a trainer, twice for an auditor.
    SparseRecorder recorder(rules);
    SparseFollower follower(rules);
    Simulated trainer(recorder, rules, seed, {0.9, 4, 0.02}), auditor(follower, rules, seed + 1000, {0.9, 2, 0.02});
    recorder.begin_step(seed);
    const auto trained = run(net, trainer);
    if (!trained) {
      ++noticed_by_either;
      continue;
    }
    follower.begin_step(seed, recorder.log(), StateBefore::kAgreed);
    const auto audited = run(net, auditor);
    if (!audited) {
      EXPECT_EQ(follower.fault()->kind, log::FaultKind::kOwnPlatform) << follower.fault()->what;
      EXPECT_EQ(audited.error().code, ErrorCode::kUnavailable);
      ++noticed_by_either;
      continue;
    }
    apart += same(*trained, *audited) ? 0 : 1;
  }
  EXPECT_EQ(apart, 0);
  EXPECT_GT(noticed_by_either, 30);
}

// A dishonest trainer need not look.
TEST_F(Noticing, CanBeLeftOut) {
  const RoundingRules rules = cancelling_rules(32);
  SparseRecorder recorder(rules, SelfCheck::kNo);
  Simulated platform(recorder, rules, 1, {100});
  recorder.begin_step(1);
  EXPECT_TRUE(run(cancelling_net(32), platform));
  EXPECT_EQ(total(recorder.counts()).checked, 0u);
}

}  // namespace
}  // namespace isobit::runtime
