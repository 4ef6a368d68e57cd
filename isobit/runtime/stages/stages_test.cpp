// Two platforms of logged arithmetic, and what a log can and cannot do between them. The platforms are the ordered
// kernels plus an error of each one's own, up to half the divergence that the rules allow (times `reach`), which is far
// larger here than any library's, so that near-ties are common.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/stages/ovt_stage.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;

Tensor random_tensor(const Ints& dims, uint64_t seed, int bits) {
  std::mt19937_64 random(seed);
  Tensor t(DType::kFloat64, Shape(dims));
  for (double& x : t.span<double>()) {
    const uint64_t w = random();
    x = w % 4 == 0 ? 0.0
                   : kernels::rounding::round_to_bits(static_cast<double>(static_cast<int64_t>(w)) * 0x1p-62, bits);
  }
  return t;
}

// Every inner-product operator, each fed from outside so that one false output is not the next one's operand.
struct Net {
  explicit Net(int bits) {
    auto in = [&](Ints dims) {
      const ValueId id = g.add_input("x", DType::kFloat64, dims);
      feeds.emplace_back(id, random_tensor(dims, feeds.size() + 1, bits));
      return id;
    };
    auto out = [&](const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
      g.add_output(g.emit(op, std::move(inputs), std::move(attributes), op));
    };
    out("Gemm", {in({5, 70}), in({9, 70}), in({9})}, {{"transB", int64_t{1}}});
    out("MatMul", {in({2, 3, 20, 4}), in({3, 20, 6})}, {{"transA", int64_t{1}}});
    const Attributes window = {
        {"pads", Ints{1, 0, 1, 2}}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}, {"group", int64_t{2}}};
    const ValueId x = in({3, 4, 7, 8}), w = in({6, 2, 3, 3}), b = in({6});
    const ValueId y = g.emit("Conv", {x, w, b}, window, "conv");
    g.add_output(y);
    const ValueId dy = in(g.value(y).dims);
    Attributes grad = window;
    grad.set("src_shape", Ints{3, 4, 7, 8});
    out("isobit.ConvGradSrc", {dy, w}, grad);
    grad = window;
    grad.set("weights_shape", Ints{6, 2, 3, 3});
    out("isobit.ConvGradWeights", {x, dy}, grad);
  }
  Graph g;
  Executor::Feeds feeds;
};

// Adds its error to every output of an inner product before the stage sees it.
class Disturbed final : public Stage {
 public:
  Disturbed(Stage& inner, const RoundingRules& rules, uint64_t seed, double reach = 1)
      : inner_(inner), rules_(rules), random_(seed), reach_(reach) {}
  void begin_run(const Graph& graph) override { inner_.begin_run(graph); }
  Status apply(size_t index, KernelCall& call) override {
    for (const ProductBlock& b : is_inner_product(call.node.op) ? product_blocks(call) : std::vector<ProductBlock>{}) {
      const double e = rules_.divergence_of(call.node.op, b.k) / 2 * kUnit * reach_;
      for (int64_t i = 0; i < b.m; ++i) {
        for (int64_t j = 0; j < b.n; ++j) {
          const double share = static_cast<double>(static_cast<int64_t>(random_())) * 0x1p-63;
          double& x = b.out[b.at(i, j)];
          if (x != 0) x += share * e * magnitude_of(b, i, j);  // a sum without terms is zero everywhere
        }
      }
    }
    return inner_.apply(index, call);
  }

 private:
  Stage& inner_;
  const RoundingRules& rules_;
  std::mt19937_64 random_;
  double reach_;
};

class StageTest : public ::testing::Test {
 protected:
  Expected<std::vector<Tensor>> run(const Net& net, Stage& stage) {
    return Executor(net.g).run({kernels::best_isa(), &pool_}, net.feeds, nullptr, nullptr, &stage);
  }
  ThreadPool pool_{2};
};

RoundingRules loose_rules(int bits) {
  RoundingRules rules;
  rules.bits = bits;
  rules.divergence = std::ldexp(1.0, 22 + (32 - bits));  // a twentieth of the outputs or so are near-ties
  return rules;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!identical(a[i], b[i])) return false;
  }
  return true;
}

// Lines, scales and places of every operator, against the outputs of the kernels.
class CheckBlocks final : public Stage {
 public:
  Status apply(size_t, KernelCall& call) override {
    std::vector<int> seen(static_cast<size_t>(call.out().elements()), 0);
    const std::vector<ProductBlock> blocks = product_blocks(call);
    Extents extents;
    const auto extent = [&](int i) { return extents.of(call.ctx, graph::kNoValue, call.in(i)); };
    const double bound = magnitude_bound(blocks[0].k, extent(0), extent(1), call.has(2) ? extent(2).peak : 0);
    for (size_t q = 0; q < blocks.size(); ++q) {
      const ProductBlock& b = blocks[q];
      std::vector<double> left(static_cast<size_t>(b.k)), right(left.size());
      const std::vector<double> left_norms = b.left.norm_bounds(call.ctx), right_norms = b.right.norm_bounds(call.ctx);
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
            EXPECT_EQ(left[l], alone) << call.node.op;
            b.right.gather(j, {b.right.place(at)}, &alone);
            EXPECT_EQ(right[l], alone) << call.node.op;
          }
          double magnitudes = std::fabs(b.bias(i, j));
          for (size_t l = 0; l < left.size(); ++l) magnitudes += std::fabs(left[l] * right[l]);
          EXPECT_NEAR(magnitudes, magnitude_of(b, i, j), 1e-12 * magnitudes);
          const double norms = left_norms[static_cast<size_t>(i)] * right_norms[static_cast<size_t>(j)];
          EXPECT_LE(magnitudes, (norms + std::fabs(b.bias(i, j))) * (1 + 0x1p-40)) << call.node.op;
          EXPECT_LE(magnitudes, bound) << call.node.op;
          const double x = b.out[b.at(i, j)];
          EXPECT_NEAR(evaluate_exactly(b, i, j).high, x, 1e-12 * magnitudes) << call.node.op;
          const auto position = static_cast<uint64_t>(b.offset + b.at(i, j));
          ++seen[position];
          const NearTie place = locate(blocks, position);
          EXPECT_EQ(place.block, q);
          EXPECT_EQ(place.i, i);
          EXPECT_EQ(place.j, j);
          EXPECT_EQ(&call.out().data<double>()[position], &b.out[b.at(i, j)]);
        }
      }
    }
    for (int times : seen) EXPECT_EQ(times, 1) << call.node.op;
    return {};
  }
};

TEST_F(StageTest, BlocksAreTheOperatorsOwnInnerProducts) {
  CheckBlocks check;
  ASSERT_TRUE(run(Net(32), check));
}

TEST_F(StageTest, NoLogNoAgreement) {
  const RoundingRules rules = loose_rules(32);
  RoundingStage plain(32);
  Disturbed one(plain, rules, 1), other(plain, rules, 2);
  const Net net(32);
  EXPECT_FALSE(same(run(net, one).value(), run(net, other).value()));
}

TEST_F(StageTest, AnHonestSparseLogIsFollowedToTheSameBits) {
  for (int bits : {22, 27, 32}) {
    const RoundingRules rules = loose_rules(bits);
    const Net net(bits);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SparseRecorder recorder(rules);
      SparseFollower follower(rules);
      Disturbed trainer(recorder, rules, 2 * seed, 0.99), auditor(follower, rules, 2 * seed + 1, 0.99);
      recorder.begin_step(seed);
      const auto trained = run(net, trainer);
      ASSERT_TRUE(trained) << trained.error().message;
      follower.begin_step(recorder.log());
      const auto audited = run(net, auditor);
      ASSERT_TRUE(audited) << audited.error().message;
      ASSERT_TRUE(follower.end_step());
      ASSERT_TRUE(same(*trained, *audited));
      const LogCounts counts = total(follower.counts());
      EXPECT_GT(counts.entries, 0u);
      EXPECT_GE(counts.entries, counts.needed);
      EXPECT_GT(counts.corrections, 0u);
      EXPECT_EQ(counts.findings(), 0u);
    }
  }
}

TEST_F(StageTest, APlatformBeyondItsBoundStopsBeforeItSigns) {
  RoundingRules rules = loose_rules(32);
  const Net net(32);
  int stopped = 0;
  for (uint64_t step = 1; step <= 20; ++step) {
    SparseRecorder recorder(rules);
    Disturbed trainer(recorder, rules, step, 100);
    recorder.begin_step(step);
    const auto trained = run(net, trainer);
    if (trained) continue;
    ++stopped;
    EXPECT_EQ(trained.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(trained.error().message.find("beyond the job's error bound"), std::string::npos);
  }
  EXPECT_GT(stopped, 10);
}

// What becomes of a log in which one thing was changed.
class Forger : public StageTest {
 protected:
  Forger() : rules_(loose_rules(32)), net_(32), recorder_(rules_) {
    Disturbed trainer(recorder_, rules_, 5, 0.99);
    recorder_.begin_step(1);
    outputs_ = run(net_, trainer).value();
    log_ = recorder_.log();
  }
  // Whether an auditor takes the log; its outputs and counts then.
  bool accepted(const SparseLog& log) {
    SparseFollower follower(rules_);
    Disturbed auditor(follower, rules_, 6, 0.99);
    follower.begin_step(log);
    const auto run_outputs = run(net_, auditor);
    const bool ok = run_outputs.has_value() && follower.end_step().has_value();
    EXPECT_EQ(ok, !follower.fault().has_value());
    counts_ = total(follower.counts());
    if (ok) audited_ = *run_outputs;
    return ok;
  }
  RoundingRules rules_;
  Net net_;
  SparseRecorder recorder_;
  std::vector<Tensor> outputs_, audited_;
  SparseLog log_;
  LogCounts counts_;
};

// The rounded value is within this share of a boundary that the exact value may lie on its other side.
TEST_F(Forger, AnEntryMovesOnlyWhatLiesNextToABoundary) {
  int moved = 0, refused = 0;
  for (size_t n = 0; n < log_.nodes.size(); ++n) {
    for (size_t e = 0; e < log_.nodes[n].entries.size(); ++e) {
      SparseLog forged = log_;
      SparseEntry& entry = forged.nodes[n].entries[e];
      if (entry.kind == SparseEntry::Kind::kValue) {
        entry.value = std::nextafter(std::nextafter(std::nextafter(entry.value, 1e9f), 1e9f), 1e9f);
      } else {
        entry.kind = entry.kind == SparseEntry::Kind::kOdd ? SparseEntry::Kind::kEven : SparseEntry::Kind::kOdd;
      }
      if (!accepted(forged)) {
        ++refused;
        continue;
      }
      ++moved;
      const double before = outputs_[n].data<double>()[entry.position],
                   after = audited_[n].data<double>()[entry.position];
      EXPECT_LE(std::fabs(after - before), 4 * kernels::rounding::spacing(before, 32));
    }
  }
  EXPECT_GT(moved, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(Forger, AnEntryFarFromABoundaryIsSuperfluousAndCannotMoveTheValue) {
  // The first place of each node without an entry there.
  for (size_t n = 0; n < log_.nodes.size(); ++n) {
    const auto& entries = log_.nodes[n].entries;
    int tried = 0, superfluous = 0;
    for (uint64_t p = 0; tried < 10 && p < static_cast<uint64_t>(outputs_[n].elements()); ++p) {
      const auto at = std::lower_bound(entries.begin(), entries.end(), p,
                                       [](const SparseEntry& x, uint64_t position) { return x.position < position; });
      if (at != entries.end() && at->position == p) continue;
      const double own = outputs_[n].data<double>()[p];
      if (own == 0) continue;
      for (bool honest : {true, false}) {
        SparseLog forged = log_;
        const int parity = kernels::rounding::parity(own, 32) ^ (honest ? 0 : 1);
        const SparseEntry entry{p, parity == 1 ? SparseEntry::Kind::kOdd : SparseEntry::Kind::kEven, 0};
        forged.nodes[n].entries.insert(forged.nodes[n].entries.begin() + (at - entries.begin()), entry);
        const bool ok = accepted(forged);
        EXPECT_EQ(ok, honest);
        if (ok) {
          EXPECT_TRUE(same(outputs_, audited_));
          superfluous += counts_.superfluous > 0 ? 1 : 0;
        }
      }
      ++tried;
    }
    EXPECT_GT(tried, 0);
    EXPECT_GT(superfluous, 0);
  }
}

TEST_F(Forger, ARemovedEntryIsReportedOrRefused) {
  int reported = 0, refused = 0, unneeded = 0;
  for (size_t n = 0; n < log_.nodes.size(); ++n) {
    for (size_t e = 0; e < log_.nodes[n].entries.size(); ++e) {
      SparseLog forged = log_;
      forged.nodes[n].entries.erase(forged.nodes[n].entries.begin() + static_cast<std::ptrdiff_t>(e));
      if (forged.nodes[n].entries.empty()) continue;
      if (!accepted(forged)) {
        ++refused;
      } else if (counts_.missing > 0) {
        ++reported;
      } else {
        ++unneeded;  // the trainer's interval is twice the auditor's
        EXPECT_TRUE(same(outputs_, audited_));
      }
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(unneeded, 0);
}

TEST_F(Forger, EntriesOfAnotherNodeOrBeyondTheOutputAreRefused) {
  SparseLog forged = log_;
  forged.nodes.back().node += 1;
  EXPECT_FALSE(accepted(forged));
  forged = log_;
  forged.nodes[0].entries.back().position = 1 << 20;
  EXPECT_FALSE(accepted(forged));
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
  const auto out = Executor(g).run({kernels::best_isa(), &pool_}, feeds, nullptr, nullptr, &recorder).value();
  RoundingStage plain(32);
  const auto rounded = Executor(g).run({kernels::best_isa(), &pool_}, feeds, nullptr, nullptr, &plain).value();
  EXPECT_TRUE(same(out, rounded));
  EXPECT_EQ(total(recorder.counts()).entries, 0u);
  // That there were ties: a stage that only counts them.
  struct Count final : Stage {
    Status apply(size_t, KernelCall& call) override {
      for (double v : call.out().span<double>()) {
        ties += std::fabs(v - kernels::rounding::round_to_bits(v, 32)) == kernels::rounding::spacing(v, 32) / 2 ? 1 : 0;
      }
      return {};
    }
    int ties = 0;
  } count;
  ASSERT_TRUE(Executor(g).run({kernels::best_isa(), &pool_}, feeds, nullptr, nullptr, &count));
  EXPECT_GT(count.ties, 50);
}

TEST_F(StageTest, OvtIsFollowedToTheSameBits) {
  for (int bits : {26, 32}) {
    RoundingRules rules = loose_rules(bits);
    rules.ovt = true;
    const Net net(bits);
    for (uint64_t seed = 0; seed < 10; ++seed) {
      OvtRecorder recorder(rules);
      OvtFollower follower(rules);
      // Within a quarter of a spacing the published rule cannot go wrong.
      Disturbed trainer(recorder, rules, 2 * seed, 1e-3), auditor(follower, rules, 2 * seed + 1, 1e-3);
      recorder.begin_step();
      const auto trained = run(net, trainer).value();
      follower.begin_step(recorder.log());
      const auto audited = run(net, auditor);
      ASSERT_TRUE(audited) << audited.error().message;
      ASSERT_TRUE(follower.end_step());
      EXPECT_GT(total(follower.counts()).corrections + total(follower.counts()).entries, 0u);
      // Where cancellation leaves less than the error no log of this kind helps, so compare the bulk of them.
      size_t differing = 0, all = 0;
      for (size_t t = 0; t < trained.size(); ++t) {
        for (int64_t i = 0; i < trained[t].elements(); ++i, ++all) {
          differing += trained[t].data<double>()[i] != audited->at(t).data<double>()[i] ? 1 : 0;
        }
      }
      EXPECT_LT(differing * 200, all);
    }
  }
}

TEST_F(StageTest, OvtLogOfAnotherShapeIsRefused) {
  RoundingRules rules = loose_rules(32);
  const Net net(32);
  OvtRecorder recorder(rules);
  recorder.begin_step();
  ASSERT_TRUE(run(net, recorder));
  OvtLog log = recorder.log();
  log.outputs[1].decisions.pop_back();
  OvtFollower follower(rules);
  follower.begin_step(log);
  EXPECT_FALSE(run(net, follower));
  EXPECT_TRUE(follower.fault().has_value());
}

TEST_F(StageTest, SparseWritesTheSameLogOnEveryInstructionSetAndThreadCount) {
  const RoundingRules rules = loose_rules(32);
  const Net net(32);
  std::vector<SparseLog> logs;
  for (kernels::Isa isa : kernels::available_isas()) {
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      SparseRecorder recorder(rules);
      recorder.begin_step(1);
      ASSERT_TRUE(Executor(net.g).run({isa, &pool}, net.feeds, nullptr, nullptr, &recorder));
      logs.push_back(recorder.log());
      EXPECT_EQ(logs.front(), logs.back());
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
