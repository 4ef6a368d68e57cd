// Two platforms of logged arithmetic, and what a log can and cannot do between them.
#include "isobit/runtime/stages/simulation_for_test.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::evaluate_exactly;
using kernels::rounding::locate;
using kernels::rounding::magnitude_of;
using kernels::rounding::NearTie;
using kernels::rounding::ProductBlock;

using namespace testing;
using graph::Graph;
using graph::ValueId;

// Lines, scales and places of every operator, against the outputs of the kernels.
class CheckBlocks final : public Observer {
 public:
  Status before_stage(const NodeRun& run) override {
    const Tensor& out = run.outputs[0];
    std::vector<int> seen(static_cast<size_t>(out.elements()), 0);
    const std::vector<ProductBlock> blocks = product_blocks(run);
    const double bound = bounds_of(run, blocks[0].k).magnitude();
    for (size_t q = 0; q < blocks.size(); ++q) {
      const ProductBlock& b = blocks[q];
      std::vector<double> left(static_cast<size_t>(b.k)), right(left.size());
      const std::vector<double> left_norms = kernels::rounding::norm_bounds(run.ctx, b.left),
                                right_norms = kernels::rounding::norm_bounds(run.ctx, b.right);
      EXPECT_EQ(b.left.count(), b.m);
      EXPECT_EQ(b.right.count(), b.n);
      EXPECT_EQ(b.left.k(), b.k);
      EXPECT_EQ(b.right.k(), b.k);
      for (int64_t i = 0; i < b.m; ++i) {
        for (int64_t j = 0; j < b.n; ++j) {
          b.left.read(i, left.data());
          b.right.read(j, right.data());
          for (size_t l = 0; l < left.size(); ++l) {
            const auto at = static_cast<int64_t>(l);
            double alone = 0;
            b.left.gather(i, {b.left.place(at)}, &alone);
            EXPECT_EQ(left[l], alone) << run.node.op;
            b.right.gather(j, {b.right.place(at)}, &alone);
            EXPECT_EQ(right[l], alone) << run.node.op;
          }
          double magnitudes = std::fabs(b.bias(i, j));
          for (size_t l = 0; l < left.size(); ++l) magnitudes += std::fabs(left[l] * right[l]);
          EXPECT_NEAR(magnitudes, magnitude_of(b, i, j), 1e-12 * magnitudes);
          const double norms = left_norms[static_cast<size_t>(i)] * right_norms[static_cast<size_t>(j)];
          EXPECT_LE(magnitudes, (norms + std::fabs(b.bias(i, j))) * (1 + 0x1p-40)) << run.node.op;
          EXPECT_LE(magnitudes, bound) << run.node.op;
          const double x = b.out[b.at(i, j)];
          EXPECT_NEAR(evaluate_exactly(b, i, j).high, x, 1e-12 * magnitudes) << run.node.op;
          const auto position = static_cast<uint64_t>(b.offset + b.at(i, j));
          ++seen[position];
          const NearTie place = locate(blocks, position);
          EXPECT_EQ(place.block, q);
          EXPECT_EQ(place.i, i);
          EXPECT_EQ(place.j, j);
          EXPECT_EQ(&out.data<double>()[position], &b.out[b.at(i, j)]);
        }
      }
    }
    for (int times : seen) EXPECT_EQ(times, 1) << run.node.op;
    return {};
  }
};

TEST_F(StageTest, BlocksAreTheOperatorsOwnInnerProducts) {
  CheckBlocks check;
  ASSERT_TRUE(observe(cancelling_net(32), check));
}

TEST_F(StageTest, NoLogNoAgreement) {
  const RoundingRules rules = cancelling_rules(32);
  RoundingStage plain(32);
  Simulated one(plain, rules, 1, {}), other(plain, rules, 2, {});
  const Net net = cancelling_net(32);
  EXPECT_FALSE(same(run(net, one).value(), run(net, other).value()));
}

TEST_F(StageTest, AnHonestSparseLogIsFollowedToTheSameBits) {
  for (int bits : {22, 27, 32}) {
    const RoundingRules rules = cancelling_rules(bits);
    const Net net = cancelling_net(bits);
    log::Counts trainers, counts;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SparseRecorder recorder(rules);
      SparseFollower follower(rules);
      Simulated trainer(recorder, rules, 2 * seed, {}), auditor(follower, rules, 2 * seed + 1, {});
      recorder.begin_step(seed + 1);
      const auto trained = run(net, trainer);
      ASSERT_TRUE(trained) << trained.error().message;
      follower.begin_step(seed + 1, recorder.log(), StateBefore::kAgreed);
      const auto audited = run(net, auditor);
      ASSERT_TRUE(audited) << audited.error().message;
      ASSERT_TRUE(follower.end_step());
      ASSERT_TRUE(same(*trained, *audited)) << bits;
      counts += total(follower.counts());
      trainers += total(recorder.counts());
    }
    EXPECT_GT(counts.entries, 100u) << bits;
    EXPECT_GT(counts.needed, 0u);
    EXPECT_GT(counts.corrections, 0u) << bits;
    EXPECT_GT(trainers.evaluated, 0u) << bits;
    EXPECT_GE(counts.checked, 20u);
    EXPECT_EQ(counts.findings(), 0u) << bits;
    // What the trainer evaluates the auditor need not: its own result may lie far enough from a boundary.
    EXPECT_LE(counts.evaluated, trainers.evaluated);
  }
}

// Pixels of four bits: one sum in some tens is an exact tie, on every platform alike, and none of them a near-tie.
TEST_F(StageTest, ExactTiesAreNotWrittenDown) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kFloat64, {8, 1, 12, 12}),
                w = g.add_input("w", DType::kFloat64, {4, 1, 3, 3});
  const ValueId b = g.add_input("b", DType::kFloat64, {4});
  g.add_output(g.emit("Conv", {x, w, b}, {}, "y"));
  Tensor pixels = random_tensor({8, 1, 12, 12}, 1, 32);
  for (double& p : pixels.span<double>()) p = std::round(p * 8) / 16;
  const Executor::Feeds feeds = {{x, pixels}, {w, random_tensor({4, 1, 3, 3}, 2, 32)}, {b, random_tensor({4}, 3, 32)}};
  RoundingRules rules;
  SparseRecorder recorder(rules);
  recorder.begin_step(1);
  const auto out = Executor(g).run({kernels::best_isa(), &pool_}, feeds, {.stage = &recorder}).value();
  RoundingStage plain(32);
  const auto rounded = Executor(g).run({kernels::best_isa(), &pool_}, feeds, {.stage = &plain}).value();
  EXPECT_TRUE(same(out, rounded));
  EXPECT_EQ(total(recorder.counts()).entries, 0u);
  // That there were ties.
  struct Count final : Observer {
    Status after_stage(const NodeRun& run) override {
      for (double v : run.outputs[0].span<double>()) {
        ties += std::fabs(v - kernels::rounding::round_to_bits(v, 32)) == kernels::rounding::spacing(v, 32) / 2 ? 1 : 0;
      }
      return {};
    }
    int ties = 0;
  } count;
  ASSERT_TRUE(Executor(g).run({kernels::best_isa(), &pool_}, feeds, {.observer = &count}));
  EXPECT_GT(count.ties, 50);
}

TEST_F(StageTest, SparseWritesTheSameLogOnEveryInstructionSetAndThreadCount) {
  const RoundingRules rules = cancelling_rules(32);
  const Net net = cancelling_net(32);
  std::vector<log::SparseLog> logs;
  for (kernels::Isa isa : kernels::available_isas()) {
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      SparseRecorder recorder(rules);
      recorder.begin_step(1);
      ASSERT_TRUE(Executor(net.g).run({isa, &pool}, net.feeds, {.stage = &recorder}));
      logs.push_back(recorder.log());
      EXPECT_EQ(logs.front(), logs.back());
    }
  }
  EXPECT_FALSE(logs.front().nodes.empty());
}

}  // namespace
}  // namespace isobit::runtime
