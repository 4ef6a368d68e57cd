// The follower of the published log where it must act: results that lie just beside the boundary of two rounded
// values, on the trainer's platform on one side of it and on the auditor's on the other. Every pair of neighbours is
// written out here, so that nothing of the code under test is asked what lies next to what.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/numerics/bits.h"
#include "isobit/runtime/stages/ovt_stage.h"

namespace isobit::runtime {
namespace {

using isobit::numerics::bits_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Values that lie next to each other, and the middle between them, which goes to the even one.
struct Boundary {
  double low, middle, high;
  bool ends_low;  // a result on the middle rounds to `low`
};

std::vector<Boundary> boundaries(int bits) {
  const int digits = bits - 8;  // of a significand, the leading one included
  const double tiny = std::ldexp(1.0, -149 + 32 - bits), least = 0x1p-126;
  std::vector<Boundary> found = {{0, tiny / 2, tiny, true},
                                 {tiny, tiny * 1.5, 2 * tiny, false},
                                 {least - tiny, least - tiny / 2, least, false},
                                 {least, least + tiny / 2, least + tiny, true}};
  for (const double binade : {0x1p-125, 0x1p-20, 1.0, 0x1p90, 0x1p127}) {
    const double above = std::ldexp(binade, 1 - digits), below = above / 2;
    found.push_back({binade - below, binade - below / 2, binade, false});
    found.push_back({binade, binade + above / 2, binade + above, true});
    found.push_back({binade * 1.5, binade * 1.5 + above / 2, binade * 1.5 + above, true});
  }
  const double last = std::ldexp(1.0, 128 - digits);
  found.push_back({0x1p128 - 2 * last, 0x1p128 - 1.5 * last, 0x1p128 - last, true});
  found.push_back({0x1p128 - last, 0x1p128 - 0.5 * last, kInfinity, false});
  for (size_t i = 0, n = found.size(); i < n; ++i) {
    const Boundary b = found[i];
    found.push_back({-b.high, -b.middle, -b.low + 0.0, !b.ends_low});
  }
  return found;
}

// One output: what the trainer's platform computes, what the auditor's does, what the trainer rounds it to, and what
// the auditor would alone.
struct Case {
  double trainer, auditor, rounded, alone;
};

std::vector<Case> cases(int bits) {
  std::vector<Case> all;
  for (const Boundary& b : boundaries(bits)) {
    const double below = std::nextafter(b.middle, -kInfinity), above = std::nextafter(b.middle, kInfinity);
    const double tie = b.ends_low ? b.low : b.high;
    all.push_back({below, above, b.low, b.high});
    all.push_back({above, below, b.high, b.low});
    all.push_back({below, b.middle, b.low, tie});
    all.push_back({above, b.middle, b.high, tie});
    all.push_back({b.middle, below, tie, b.low});
    all.push_back({b.middle, above, tie, b.high});
    all.push_back({below, below, b.low, b.low});
    if (std::isfinite(b.high)) all.push_back({b.high, b.high, b.high, b.high});
  }
  all.push_back({kInfinity, kInfinity, kInfinity, kInfinity});
  all.push_back({-kInfinity, -kInfinity, -kInfinity, -kInfinity});
  return all;
}

// A platform that computes what it is told.
class Told final : public Stage {
 public:
  Told(Stage& inner, const std::vector<Case>& cases, double Case::*result)
      : inner_(inner), cases_(cases), result_(result) {}
  void begin_run(const graph::Graph& graph) override { inner_.begin_run(graph); }
  Status apply(size_t index, KernelCall& call) override {
    double* out = call.out().data<double>();
    for (int64_t i = 0; i < call.out().elements(); ++i) out[i] = cases_[static_cast<size_t>(i)].*result_;
    return inner_.apply(index, call);
  }
  Status apply_again(size_t index, KernelCall& call) override { return inner_.apply_again(index, call); }

 private:
  Stage& inner_;
  const std::vector<Case>& cases_;
  double Case::*result_;
};

Expected<std::vector<Tensor>> run_product(int64_t outputs, kernels::Isa isa, Stage& stage) {
  graph::Graph g;
  const graph::ValueId a = g.add_input("a", DType::kFloat64, {1, 1}),
                       b = g.add_input("b", DType::kFloat64, {1, outputs});
  g.add_output(g.emit("MatMul", {a, b}, {}, "y"));
  ThreadPool pool(2);
  return Executor(g).run(
      {isa, &pool}, {{a, Tensor(DType::kFloat64, Shape({1, 1}))}, {b, Tensor(DType::kFloat64, Shape({1, outputs}))}},
      {.stage = &stage});
}

void expect_followed(int bits, kernels::Isa isa) {
  RoundingRules rules;
  rules.bits = bits, rules.log = log::Kind::kOvt;
  rules.distance = false;  // as published: what the results are made of does not count
  const std::vector<Case> some = cases(bits);
  std::vector<Case> all;
  while (all.size() < 40000) all.insert(all.end(), some.begin(), some.end());  // several pieces of work
  uint64_t apart = 0, undecided = 0;
  for (const Case& c : all) {
    apart += c.rounded != c.alone ? 1 : 0;
    undecided += c.trainer != c.rounded ? 1 : 0;  // all others lie at half a spacing
  }
  const auto outputs = static_cast<int64_t>(all.size());
  OvtRecorder recorder(rules);
  Told trainer(recorder, all, &Case::trainer);
  recorder.begin_step(1);
  const auto trained = run_product(outputs, isa, trainer);
  ASSERT_TRUE(trained);
  OvtFollower follower(rules);
  Told auditor(follower, all, &Case::auditor);
  follower.begin_step(1, recorder.log(), StateBefore::kAgreed);
  const auto audited = run_product(outputs, isa, auditor);
  ASSERT_TRUE(audited) << audited.error().message;
  ASSERT_TRUE(follower.end_step());
  for (int64_t i = 0; i < outputs; ++i) {
    const Case& c = all[static_cast<size_t>(i)];
    ASSERT_EQ(bits_of(trained->at(0).data<double>()[i]), bits_of(c.rounded)) << c.trainer;
    ASSERT_EQ(bits_of(audited->at(0).data<double>()[i]), bits_of(c.rounded))
        << bits << " bits: the auditor has " << c.auditor << " and takes " << audited->at(0).data<double>()[i]
        << ", the trainer " << c.trainer << " and took " << c.rounded;
  }
  EXPECT_EQ(total(recorder.counts()).entries, undecided);
  const log::Counts counts = total(follower.counts());
  EXPECT_EQ(counts.elements, all.size());
  EXPECT_EQ(counts.entries, undecided);
  EXPECT_EQ(counts.corrections, apart);
}

TEST(OvtFollower, TakesTheTrainersSideOfEveryBoundary) {
  for (kernels::Isa isa : kernels::available_isas()) {
    for (int bits : {22, 23, 27, 31, 32}) {
      expect_followed(bits, isa);
      if (HasFatalFailure()) return;
    }
  }
}

// Without its log the auditor has the other value in four cases of every boundary.
TEST(OvtFollower, ThereIsWorkForIt) {
  for (int bits : {22, 32}) {
    const std::vector<Case> all = cases(bits);
    RoundingStage alone(bits);
    Told auditor(alone, all, &Case::auditor);
    const auto rounded = run_product(static_cast<int64_t>(all.size()), kernels::best_isa(), auditor);
    ASSERT_TRUE(rounded);
    size_t apart = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const double own = rounded->at(0).data<double>()[i];
      EXPECT_EQ(own, all[i].alone) << all[i].auditor;
      apart += own != all[i].rounded ? 1 : 0;
    }
    EXPECT_EQ(apart, 4 * boundaries(bits).size());
  }
}

}  // namespace
}  // namespace isobit::runtime
