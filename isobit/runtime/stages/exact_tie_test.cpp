// An output that every platform computes exactly, half way between two float32 values: no log may speak of it.
#include <gtest/gtest.h>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {
namespace {

// One product of two float32 values that ends half way between two others: within any bound of a boundary, and the same
// on every machine.
TEST(ExactTie, IsNotLoggedAndCannotBeMoved) {
  ThreadPool pool(1);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  graph::Graph g;
  Executor::Feeds feeds;
  for (double x : {1 + 0x1p-23, 1.5}) {
    Tensor t(DType::kFloat64, Shape({1, 1}));
    t.data<double>()[0] = x;
    feeds.emplace_back(g.add_input("x", DType::kFloat64, {1, 1}), t);
  }
  g.add_output(g.emit("MatMul", {feeds[0].first, feeds[1].first}, {}, "tie"));
  const RoundingRules rules;
  SparseRecorder recorder(rules);
  recorder.begin_step(1);
  const auto trained = Executor(g).run(ctx, feeds, nullptr, nullptr, &recorder);
  ASSERT_TRUE(trained);
  EXPECT_TRUE(recorder.log().nodes.empty());
  const double own = trained->at(0).data<double>()[0];
  EXPECT_EQ(own, 1.5 + 0x1p-22);  // to even
  for (double said : {own, 1.5 + 0x1p-23}) {
    SparseFollower follower(rules);
    follower.begin_step({{{0, {{0, SparseEntry::Kind::kValue, static_cast<float>(said)}}}}});
    const auto audited = Executor(g).run(ctx, feeds, nullptr, nullptr, &follower);
    EXPECT_EQ(audited.has_value(), said == own);
    EXPECT_EQ(follower.fault().has_value(), said != own);
    EXPECT_EQ(total(follower.counts()).superfluous, 1u);
  }
}

}  // namespace
}  // namespace isobit::runtime
