// The rule by which decisions are judged, on single sums whose boundaries are known by hand.
#include "isobit/runtime/stages/legality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "isobit/kernels/rounding/one_sum_for_test.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::candidates;
using kernels::rounding::exact_width;
using kernels::rounding::ExactOutput;

using kernels::rounding::testing::OneSum;
using Terms = std::vector<std::pair<double, double>>;

constexpr log::SparseEntry kOdd{0, log::SparseEntry::Kind::kOdd, 0}, kEven{0, log::SparseEntry::Kind::kEven, 0};

log::SparseEntry value(double v) { return {0, log::SparseEntry::Kind::kValue, static_cast<float>(v)}; }

// Terms that add up to 1 + `off` + 2^-60 and whose magnitudes add up to about 2^(2 e + 1).
Terms terms_of(double off, int e) {
  const double huge = std::ldexp(1.0, e);
  return {{1.0, 1.0}, {off, 1.0}, {0x1p-30, 0x1p-30}, {huge, huge}, {-huge, huge}};
}

// z is just above 1 + 2^-24, the boundary between 1 and 1 + 2^-23, and the magnitude about 2^25: so the sound bound,
// 63.5 units, is a little less than 2^-22, and the calibrated one of 1.5 units 0.75 * 2^-27.
class NextToABoundary : public ::testing::Test {
 protected:
  NextToABoundary() : sum_(terms_of(0x1p-24, 12)), output_(sum_.exact(32)) {}
  Ruling rule(const log::SparseEntry& entry) { return rule_on_entry(sum_.block, output_, &entry, bounds_, 32); }
  Ruling rule(uint8_t decision) { return rule_on_decision(sum_.block, output_, decision, bounds_, 32); }

  OneSum sum_;
  ExactOutput output_;
  ErrorBounds bounds_{1, 125};
};

TEST_F(NextToABoundary, ValuesAreLegalWithinTheSoundBound) {
  EXPECT_EQ(output_.rounded, 1 + 0x1p-23);
  const auto expect = [&](double said, Standing standing) {
    const Ruling r = rule(value(said));
    EXPECT_EQ(r.standing, standing) << (said - 1) * 0x1p24 << " half spacings";
    EXPECT_EQ(r.value, said);
  };
  expect(1 - 0x1p-22, Standing::kIllegal);
  expect(1 - 0x1p-23, Standing::kBeyond);
  expect(1 - 0x1p-24, Standing::kBeyond);
  expect(1, Standing::kFollowed);
  expect(1 + 0x1p-23, Standing::kFollowed);
  expect(1 + 0x1p-22, Standing::kBeyond);
  expect(1 + 3 * 0x1p-23, Standing::kIllegal);
  expect(std::numeric_limits<double>::infinity(), Standing::kIllegal);
  EXPECT_EQ(rule(kOdd).value, 1 + 0x1p-23);
  EXPECT_EQ(rule(kEven).value, 1);
  EXPECT_EQ(rule(kEven).standing, Standing::kFollowed);
}

TEST_F(NextToABoundary, WithoutAnEntryTheExactValueDecides) {
  const Ruling r = rule_on_entry(sum_.block, output_, nullptr, bounds_, 32);
  EXPECT_EQ(r.standing, Standing::kMissing);
  EXPECT_EQ(r.value, 1 + 0x1p-23);
}

// A decision needs more room: a quarter of the magnitude.
TEST(Legality, ADecisionIsADirection) {
  OneSum sum(terms_of(0x1p-24, 11));
  const ExactOutput o = sum.exact(32);
  const auto rule = [&](uint8_t decision) { return rule_on_decision(sum.block, o, decision, {1, 125}, 32); };
  EXPECT_EQ(rule(2).value, 1 + 0x1p-23);  // rounded up, as z is
  EXPECT_EQ(rule(2).standing, Standing::kDecided);
  EXPECT_EQ(rule(0).value, 1);
  EXPECT_EQ(rule(0).standing, Standing::kFollowed);
  EXPECT_EQ(rule(1).value, 1 + 0x1p-23);
  EXPECT_EQ(rule(1).standing, Standing::kMissing);
}

// d + 2 units are half a spacing at d = 14.
TEST_F(NextToABoundary, NothingIsLeftToALogWhereTheBoundExceedsHalfASpacing) {
  bounds_.divergence = 13.99;
  EXPECT_FALSE(cancels(output_, bounds_, 32));
  EXPECT_EQ(rule(value(1)).standing, Standing::kFollowed);
  bounds_.divergence = 14.01;
  EXPECT_TRUE(cancels(output_, bounds_, 32));
  EXPECT_EQ(rule(value(1)).standing, Standing::kForbidden);
  EXPECT_EQ(rule(value(1 + 0x1p-23)).standing, Standing::kSuperfluous);
  EXPECT_EQ(rule(kOdd).standing, Standing::kSuperfluous);
  EXPECT_EQ(rule(kEven).standing, Standing::kForbidden);
  EXPECT_EQ(rule_on_entry(sum_.block, output_, nullptr, bounds_, 32).standing, Standing::kCancels);
  EXPECT_EQ(rule(uint8_t{0}).standing, Standing::kForbidden);
  EXPECT_EQ(rule(uint8_t{2}).standing, Standing::kCancels);
  EXPECT_EQ(rule(uint8_t{1}).standing, Standing::kCancels);
}

TEST(Legality, FarFromABoundaryOnlyTheSoundBoundCounts) {
  // 1 + 2^-25: a quarter of a spacing above 1.
  OneSum sum(terms_of(0x1p-25, 11));
  const ExactOutput o = sum.exact(32);
  const ErrorBounds calibrated{1, 125}, sound{1, 1};
  const auto rule = [&](const log::SparseEntry& e, const ErrorBounds& b) {
    return rule_on_entry(sum.block, o, &e, b, 32);
  };
  EXPECT_EQ(rule(kEven, calibrated).standing, Standing::kSuperfluous);
  EXPECT_EQ(rule(kOdd, calibrated).standing, Standing::kBeyond);
  EXPECT_EQ(rule(kOdd, calibrated).value, 1 + 0x1p-23);  // towards the exact value
  EXPECT_EQ(rule(kEven, sound).standing, Standing::kSuperfluous);
  EXPECT_EQ(rule(kOdd, sound).standing, Standing::kIllegal);
  EXPECT_EQ(rule_on_decision(sum.block, o, 2, sound, 32).standing, Standing::kIllegal);
  EXPECT_EQ(rule_on_decision(sum.block, o, 2, calibrated, 32).standing, Standing::kBeyond);
  EXPECT_EQ(rule_on_decision(sum.block, o, 0, calibrated, 32).standing, Standing::kDecided);
}

// Platforms lie on either side of a value that is the result, so its direction says nothing.
TEST(Legality, ADirectionAtAValueSaysNothing) {
  OneSum sum({{1.0, 1.0}, {0x1p-30, 0x1p-30}});
  const ExactOutput o = sum.exact(32);
  for (uint8_t decision : {uint8_t{0}, uint8_t{2}}) {
    EXPECT_EQ(rule_on_decision(sum.block, o, decision, {32, 64}, 32).standing, Standing::kDecided);
    EXPECT_EQ(rule_on_decision(sum.block, o, decision, {32, 64}, 32).value, 1);
  }
}

// (1 + 2^-20) - (1 + 2^-20) + 2^-60: by the bounds alone any of 4,096 values around it, of either sign, could be its
// rounding.
TEST(Legality, WhatCancellationLeavesIsNotForALogToSay) {
  OneSum sum({{1 + 0x1p-20, 1.0}, {-1 - 0x1p-20, 1.0}, {0x1p-30, 0x1p-30}});
  const ExactOutput o = sum.exact(32);
  EXPECT_EQ(o.rounded, 0x1p-60);
  const ErrorBounds bounds{10, 10};
  EXPECT_TRUE(candidates(o.z, exact_width(10), o.at.magnitude, 32).has(-0x1p-51));
  for (double said : {-0x1p-51, 0.0, 0x1p-60 + 0x1p-83}) {
    const log::SparseEntry e = value(said);
    EXPECT_EQ(rule_on_entry(sum.block, o, &e, bounds, 32).standing, Standing::kForbidden);
  }
}

// A sum just above the middle between the largest finite value and infinity.
TEST(Legality, AnEntryChoosesBetweenTheLargestValueAndInfinity) {
  const double infinity = std::numeric_limits<double>::infinity(), largest = 0x1p128 * (1 - 0x1p-24);
  for (double sign : {1.0, -1.0}) {
    OneSum sum({{sign * 0x1p64 * (1 - 0x1p-24), 0x1p64}, {sign * 0x1p52, 0x1p51}, {sign * 0x1p30, 0x1p30}});
    const ExactOutput o = sum.exact(32);
    EXPECT_EQ(o.rounded, sign * infinity);
    const ErrorBounds bounds{8, 10};
    EXPECT_EQ(rule_on_entry(sum.block, o, &kOdd, bounds, 32).value, sign * largest);
    EXPECT_EQ(rule_on_entry(sum.block, o, &kOdd, bounds, 32).standing, Standing::kFollowed);
    EXPECT_EQ(rule_on_entry(sum.block, o, &kEven, bounds, 32).value, sign * infinity);
    EXPECT_EQ(rule_on_entry(sum.block, o, &kEven, bounds, 32).standing, Standing::kFollowed);
    const uint8_t towards_zero = sign > 0 ? 0 : 2;
    EXPECT_EQ(rule_on_decision(sum.block, o, towards_zero, bounds, 32).value, sign * largest);
    EXPECT_EQ(rule_on_decision(sum.block, o, 2 - towards_zero, bounds, 32).value, sign * infinity);
    const log::SparseEntry next = value(sign * 0x1p128 * (1 - 0x1p-23));
    EXPECT_EQ(rule_on_entry(sum.block, o, &next, bounds, 32).standing, Standing::kIllegal);
  }
}

TEST(Legality, InfinitiesComeFromTheOperands) {
  const double infinity = std::numeric_limits<double>::infinity();
  OneSum sum({{1.0, infinity}, {2.0, 3.0}});
  const ExactOutput o = sum.exact(32, infinity);
  const log::SparseEntry own = value(infinity), other = value(6);
  EXPECT_EQ(rule_on_entry(sum.block, o, &own, {32, 64}, 32).standing, Standing::kSuperfluous);
  EXPECT_EQ(rule_on_entry(sum.block, o, &other, {32, 64}, 32).standing, Standing::kIllegal);
  EXPECT_EQ(rule_on_decision(sum.block, o, 0, {32, 64}, 32).value, infinity);
}

// One product of two float32 values that ends half way between two others: within any bound of a boundary, and the same
// on every machine.
TEST(Legality, AnExactTieIsNotLoggedAndCannotBeMoved) {
  OneSum sum({{1 + 0x1p-23, 1.5}});
  const ExactOutput o = sum.exact(32);
  EXPECT_EQ(o.rounded, 1.5 + 0x1p-22);  // to even
  for (double said : {o.rounded, 1.5 + 0x1p-23}) {
    const log::SparseEntry e = value(said);
    EXPECT_EQ(rule_on_entry(sum.block, o, &e, {4, 6}, 32).standing,
              said == o.rounded ? Standing::kSuperfluous : Standing::kIllegal);
  }
  EXPECT_EQ(rule_on_decision(sum.block, o, 0, {4, 6}, 32).standing, Standing::kIllegal);

  graph::Graph g;
  Executor::Feeds feeds;
  for (double x : {1 + 0x1p-23, 1.5}) {
    Tensor t(DType::kFloat64, Shape({1, 1}));
    t.data<double>()[0] = x;
    feeds.emplace_back(g.add_input("x", DType::kFloat64, {1, 1}), t);
  }
  g.add_output(g.emit("MatMul", {feeds[0].first, feeds[1].first}, {}, "product"));
  const RoundingRules rules;
  SparseRecorder recorder(rules);
  recorder.begin_step(1);
  ThreadPool pool{1};
  const auto trained = Executor(g).run({kernels::best_isa(), &pool}, feeds, {.stage = &recorder});
  ASSERT_TRUE(trained);
  EXPECT_TRUE(recorder.log().nodes.empty());
  EXPECT_EQ(trained->at(0).data<double>()[0], o.rounded);
}

}  // namespace
}  // namespace isobit::runtime
