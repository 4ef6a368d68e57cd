// What a log may say of a single product of two numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {
namespace {

struct OneProduct {
  OneProduct(double x, double y) {
    for (double z : {x, y}) {
      Tensor t(DType::kFloat64, Shape({1, 1}));
      t.data<double>()[0] = z;
      feeds.emplace_back(g.add_input("x", DType::kFloat64, {1, 1}), t);
    }
    g.add_output(g.emit("MatMul", {feeds[0].first, feeds[1].first}, {}, "product"));
  }
  Expected<std::vector<Tensor>> run(Stage& stage) {
    return Executor(g).run({kernels::best_isa(), &pool}, feeds, nullptr, nullptr, &stage);
  }
  ThreadPool pool{1};
  graph::Graph g;
  Executor::Feeds feeds;
};

SparseLog log_of(double value) { return {{{0, {{0, SparseEntry::Kind::kValue, static_cast<float>(value)}}}}}; }

// One product of two float32 values that ends half way between two others: within any bound of a boundary, and the same
// on every machine.
TEST(OneProduct, AnExactTieIsNotLoggedAndCannotBeMoved) {
  OneProduct product(1 + 0x1p-23, 1.5);
  const RoundingRules rules;
  SparseRecorder recorder(rules);
  recorder.begin_step(1);
  const auto trained = product.run(recorder);
  ASSERT_TRUE(trained);
  EXPECT_TRUE(recorder.log().nodes.empty());
  const double own = trained->at(0).data<double>()[0];
  EXPECT_EQ(own, 1.5 + 0x1p-22);  // to even
  for (double said : {own, 1.5 + 0x1p-23}) {
    SparseFollower follower(rules);
    follower.begin_step(log_of(said));
    const auto audited = product.run(follower);
    EXPECT_EQ(audited.has_value(), said == own);
    EXPECT_EQ(follower.fault().has_value(), said != own);
    EXPECT_EQ(total(follower.counts()).superfluous, 1u);
  }
}

// Several values are within so wide a bound; a value between two of them is none that the arithmetic has.
TEST(OneProduct, AnEntryNamesOnlyValuesOfTheBitsKept) {
  OneProduct product(1 + 0x1p-10, 1 + 0x1p-9);
  RoundingRules rules;
  rules.bits = 22;
  rules.divergence = 0x1p41;
  const double own = kernels::rounding::round_to_bits((1 + 0x1p-10) * (1 + 0x1p-9), 22), spacing = 0x1p-13;
  for (double off : {0.0, 1.0, -1.0, 0.5, -0.5, 0x1p-10}) {
    SparseFollower follower(rules);
    follower.begin_step(log_of(own + off * spacing));
    const auto audited = product.run(follower);
    EXPECT_EQ(audited.has_value(), off == 0 || off == 1 || off == -1) << off;
    EXPECT_EQ(follower.fault().has_value(), !audited.has_value());
    if (audited) {
      EXPECT_EQ(audited->at(0).data<double>()[0], own + off * spacing);
    }
  }
}

// A result just beyond the middle between the largest finite value and infinity; the trainer's lay on either side.
TEST(OneProduct, AnEntryChoosesBetweenTheLargestValueAndInfinity) {
  RoundingRules rules;
  rules.bits = 22;
  rules.divergence = 0x1p30;
  for (double sign : {1.0, -1.0}) {
    OneProduct product(sign * 0x1p127 * (1 - 0x1p-15 + 0x1p-24), 2);
    for (auto kind : {SparseEntry::Kind::kOdd, SparseEntry::Kind::kEven}) {
      SparseFollower follower(rules);
      follower.begin_step({{{0, {{0, kind, 0}}}}});
      const auto audited = product.run(follower);
      ASSERT_TRUE(audited);
      const double expected = kind == SparseEntry::Kind::kOdd ? 0x1p128 * (1 - 0x1p-14) : HUGE_VAL;
      EXPECT_EQ(audited->at(0).data<double>()[0], sign * expected);
      EXPECT_EQ(total(follower.counts()).corrections, kind == SparseEntry::Kind::kOdd ? 1u : 0u);
      EXPECT_EQ(total(follower.counts()).superfluous, 0u);
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
