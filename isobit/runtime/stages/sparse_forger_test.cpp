// What a dishonest trainer can do with a sparse log, and what auditors make of it.
#include <functional>

#include "isobit/kernels/rounding/places.h"
#include "isobit/runtime/stages/simulation_for_test.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::adds_exactly;
using kernels::rounding::Candidates;
using kernels::rounding::candidates;
using kernels::rounding::evaluate_outputs;
using kernels::rounding::exact_width;
using kernels::rounding::ExactOutput;
using kernels::rounding::locate;
using kernels::rounding::ProductBlock;
using kernels::rounding::superfluous_width;

using namespace testing;

// What becomes of a log in which one thing was changed.
class Forger : public StageTest {
 protected:
  Forger() : rules_(cancelling_rules(32)), net_(cancelling_net(32)), recorder_(rules_) {
    Simulated trainer(recorder_, rules_, 5, {});
    recorder_.begin_step(1);
    outputs_ = run(net_, trainer).value();
    log_ = recorder_.log();
  }
  // Whether an auditor takes the log; its outputs, counts and fault then.
  bool accepted(const log::SparseLog& log, uint64_t seed = 6, StateBefore before = StateBefore::kAgreed) {
    SparseFollower follower(rules_);
    Simulated auditor(follower, rules_, seed, {});
    follower.begin_step(1, log, before);
    const auto run_outputs = run(net_, auditor);
    const bool ok = run_outputs.has_value() && follower.end_step().has_value();
    EXPECT_EQ(ok, !follower.fault().has_value());
    counts_ = total(follower.counts());
    fault_ = follower.fault();
    if (ok) audited_ = *run_outputs;
    return ok;
  }
  // A log with this entry in its place, in place of any that is there.
  static log::SparseLog with(log::SparseLog forged, size_t node, const log::SparseEntry& entry) {
    auto found = std::find_if(forged.nodes.begin(), forged.nodes.end(),
                              [&](const log::SparseNode& n) { return n.node >= node; });
    if (found == forged.nodes.end() || found->node != node) {
      found = forged.nodes.insert(found, {static_cast<uint32_t>(node), {}});
    }
    auto at = std::lower_bound(found->entries.begin(), found->entries.end(), entry.position,
                               [](const log::SparseEntry& e, uint64_t position) { return e.position < position; });
    if (at != found->entries.end() && at->position == entry.position) {
      *at = entry;
    } else {
      found->entries.insert(at, entry);
    }
    return forged;
  }
  static log::SparseEntry value_of(const ExactOutput& o, double value) {
    return {o.at.position, log::SparseEntry::Kind::kValue, static_cast<float>(value)};
  }
  // The outputs of which something holds, evaluated by a platform without errors.
  struct Found {
    size_t node;
    ExactOutput output;
    bool exact;  // every order of its additions has one result, and no entry may say another
  };
  std::vector<Found> find(const std::function<bool(const ExactOutput&, const ErrorBounds&)>& holds) {
    struct Look final : Observer {
      Look(const RoundingRules& r, const std::function<bool(const ExactOutput&, const ErrorBounds&)>& h)
          : rules(r), holds(h) {}
      Status after_stage(const NodeRun& run) override {
        const std::vector<ProductBlock> blocks = product_blocks(run);
        const ErrorBounds bounds = rules.bounds_of(run.node.op, blocks[0].k);
        for (uint64_t p = 0; p < static_cast<uint64_t>(run.outputs[0].elements()); ++p) {
          const ExactOutput o = evaluate_outputs(run.ctx, blocks, {locate(blocks, p)}, rules.bits)[0];
          const ProductBlock& b = blocks[o.at.block];
          if (holds(o, bounds)) found.push_back({run.index, o, adds_exactly(b, o.at.i, o.at.j, o.at.magnitude)});
        }
        return {};
      }
      const RoundingRules& rules;
      const std::function<bool(const ExactOutput&, const ErrorBounds&)>& holds;
      std::vector<Found> found;
    } look(rules_, holds);
    EXPECT_TRUE(observe(net_, look));
    return look.found;
  }
  double spacing_at(size_t node, uint64_t position) const {
    return kernels::rounding::spacing(outputs_[node].data<double>()[position], 32);
  }
  RoundingRules rules_;
  Net net_;
  SparseRecorder recorder_;
  std::vector<Tensor> outputs_, audited_;
  log::SparseLog log_;
  log::Counts counts_;
  std::optional<log::Fault> fault_;
};

TEST_F(Forger, WithinTheJobsBoundAnEntryMovesAValueByOneSpacing) {
  int moved = 0, beyond = 0, refused = 0;
  for (const log::SparseNode& node : log_.nodes) {
    for (size_t e = 0; e < node.entries.size(); e += 4) {
      const log::SparseEntry& honest = node.entries[e];
      const double before = outputs_[node.node].data<double>()[honest.position];
      for (int64_t off : {-300, -2, -1, 1, 2, 300}) {
        const double said = before + static_cast<double>(off) * spacing_at(node.node, honest.position);
        const log::SparseEntry entry{honest.position, log::SparseEntry::Kind::kValue, static_cast<float>(said)};
        if (!accepted(with(log_, node.node, entry))) {
          EXPECT_EQ(fault_->kind, log::FaultKind::kIllegal) << fault_->what;
          ++refused;
          continue;
        }
        EXPECT_EQ(audited_[node.node].data<double>()[honest.position], said);
        ++moved;
        if (counts_.beyond == 0) {
          EXPECT_LE(std::abs(off), 1);
        } else {
          ++beyond;
        }
      }
    }
  }
  EXPECT_GT(moved - beyond, 0);
  EXPECT_GT(beyond, 0);
  EXPECT_GT(refused, 0);
}

// A parity says which side, whatever the auditor's own result is.
TEST_F(Forger, AReversedParityGoesToTheOtherSide) {
  int moved = 0;
  for (const log::SparseNode& node : log_.nodes) {
    for (size_t e = 0; e < node.entries.size(); e += 2) {
      log::SparseEntry entry = node.entries[e];
      if (entry.kind == log::SparseEntry::Kind::kValue) continue;
      entry.kind =
          entry.kind == log::SparseEntry::Kind::kOdd ? log::SparseEntry::Kind::kEven : log::SparseEntry::Kind::kOdd;
      if (!accepted(with(log_, node.node, entry))) continue;
      const double before = outputs_[node.node].data<double>()[entry.position],
                   after = audited_[node.node].data<double>()[entry.position];
      EXPECT_EQ(std::abs(kernels::rounding::place_of(after, 32) - kernels::rounding::place_of(before, 32)), 1);
      ++moved;
    }
  }
  EXPECT_GT(moved, 10);
}

// Each move is legal; all of them together are more than errors of honest platforms bring about.
TEST_F(Forger, AllLegalMovesAreMoreThanHonestPlatformsComeTo) {
  net_ = Net();  // of sums long enough that hardly any is exact
  net_.add("Gemm", {{60, 70}, 1, 70}, {{60, 70}, 1, 70}, 0x1p-15, {{"transB", int64_t{1}}});
  for (bool honest : {true, false}) {
    log::Counts counts;
    for (uint64_t step = 1; step <= 24; ++step) {
      SparseRecorder recorder(rules_);
      Simulated trainer(recorder, rules_, step, {});
      recorder.begin_step(step);
      ASSERT_TRUE(run(net_, trainer));
      log_ = recorder.log();
      log::SparseLog forged = log_;
      for (const auto& [n, o, exact] :
           honest ? std::vector<Found>{} : find([&](const ExactOutput& x, const ErrorBounds& b) {
             return !cancels(x, b, 32) && !candidates(x.z, exact_width(b.divergence), x.at.magnitude, 32).one();
           })) {
        if (exact) continue;
        const Candidates c = candidates(o.z, exact_width(rules_.divergence), o.at.magnitude, 32);
        forged = with(std::move(forged), n, value_of(o, o.rounded == c.low ? c.high : c.low));
      }
      ASSERT_TRUE(accepted(forged)) << fault_->what;
      EXPECT_EQ(counts_.findings(), 0u);
      counts += counts_;
    }
    EXPECT_GT(counts.entries, 600u);
    EXPECT_EQ(static_cast<double>(counts.moved) <= log::most_expected_moves(counts), honest)
        << counts.moved << " of " << counts.entries;
  }
}

TEST_F(Forger, AnEntryFarFromABoundaryIsSuperfluousAndMovesNothing) {
  int superfluous = 0, refused = 0, beyond = 0;
  for (size_t n = 0; n < outputs_.size(); ++n) {
    for (uint64_t p = 0; p < std::min<uint64_t>(40, static_cast<uint64_t>(outputs_[n].elements())); ++p) {
      const auto logged = std::find_if(log_.nodes.begin(), log_.nodes.end(), [&](const log::SparseNode& x) {
        return x.node == n && std::any_of(x.entries.begin(), x.entries.end(),
                                          [&](const log::SparseEntry& e) { return e.position == p; });
      });
      const double own = outputs_[n].data<double>()[p];
      if (logged != log_.nodes.end() || own == 0) continue;
      const int parity = kernels::rounding::parity(own, 32);
      ASSERT_TRUE(
          accepted(with(log_, n, {p, parity == 1 ? log::SparseEntry::Kind::kOdd : log::SparseEntry::Kind::kEven, 0})));
      EXPECT_TRUE(same(outputs_, audited_));
      superfluous += counts_.superfluous == 1 ? 1 : 0;
      // The other parity.
      if (accepted(with(log_, n, {p, parity == 1 ? log::SparseEntry::Kind::kEven : log::SparseEntry::Kind::kOdd, 0}))) {
        EXPECT_EQ(counts_.beyond, 1u);
        ++beyond;
      } else {
        ++refused;
      }
    }
  }
  EXPECT_GT(superfluous, 50);
  EXPECT_GT(refused, 50);
  EXPECT_GT(beyond, 0);
}

TEST_F(Forger, MoreSuperfluousEntriesThanAnyHonestLogHasAreRefused) {
  const std::vector<Found> far = find([&](const ExactOutput& o, const ErrorBounds& bounds) {
    return o.rounded != 0 && candidates(o.z, superfluous_width(bounds.divergence), o.at.magnitude, 32).one();
  });
  ASSERT_GT(far.size(), kMostSuperfluous);
  log::SparseLog forged = log_;
  for (uint64_t n = 0; n < kMostSuperfluous; ++n) {
    forged = with(forged, far[n].node, value_of(far[n].output, far[n].output.rounded));
  }
  EXPECT_TRUE(accepted(forged));
  EXPECT_EQ(counts_.superfluous, kMostSuperfluous);
  EXPECT_TRUE(same(outputs_, audited_));
  const Found& last = far[kMostSuperfluous];
  EXPECT_FALSE(accepted(with(forged, last.node, value_of(last.output, last.output.rounded))));
  EXPECT_NE(fault_->what.find("an honest log has none"), std::string::npos) << fault_->what;
}

TEST_F(Forger, AMissingEntryIsEvaluatedAndReported) {
  int missing = 0, apart = 0;
  for (size_t n = 0; n < log_.nodes.size(); ++n) {
    for (size_t e = 0; e < log_.nodes[n].entries.size(); e += 3) {
      log::SparseLog forged = log_;
      forged.nodes[n].entries.erase(forged.nodes[n].entries.begin() + static_cast<std::ptrdiff_t>(e));
      if (forged.nodes[n].entries.empty()) forged.nodes.erase(forged.nodes.begin() + static_cast<std::ptrdiff_t>(n));
      ASSERT_TRUE(accepted(forged)) << fault_->what;
      missing += counts_.missing > 0 ? 1 : 0;
      EXPECT_TRUE(counts_.missing > 0 || same(outputs_, audited_));
      apart += same(outputs_, audited_) ? 0 : 1;  // the trainer's result lay on the other side than the exact value
    }
  }
  EXPECT_GT(missing, 0);
  EXPECT_GT(apart, 0);
}

TEST_F(Forger, WhereTermsCancelNoEntryIsTaken) {
  const std::vector<Found> cancelled =
      find([&](const ExactOutput& o, const ErrorBounds& bounds) { return o.z.high != 0 && cancels(o, bounds, 32); });
  ASSERT_GT(cancelled.size(), 5u);
  EXPECT_LE(total(recorder_.counts()).evaluated, cancelled.size());  // some of them add up exactly
  EXPECT_GT(total(recorder_.counts()).evaluated, cancelled.size() / 2);
  for (const auto& [node, o, exact] : cancelled) {
    EXPECT_EQ(outputs_[node].data<double>()[o.at.position], o.rounded);
    EXPECT_TRUE(accepted(with(log_, node, value_of(o, o.rounded))));
    EXPECT_EQ(counts_.superfluous, 1u);
    EXPECT_FALSE(accepted(with(log_, node, value_of(o, kernels::rounding::neighbour(o.rounded, true, 32)))));
    EXPECT_EQ(fault_->kind, log::FaultKind::kIllegal);
    EXPECT_NE(fault_->what.find("no entry may stand"), std::string::npos) << fault_->what;
  }
}

// Whatever a log says, two auditors with different results have one opinion of it and the same outputs.
TEST_F(Forger, TwoAuditorsNeverDisagreeAboutOneLog) {
  std::mt19937_64 random(7);
  int taken = 0, refused = 0;
  for (int trial = 0; trial < 120; ++trial) {
    log::SparseLog forged = log_;
    for (int change = 0; change < 3; ++change) {
      log::SparseNode& node = forged.nodes[random() % forged.nodes.size()];
      log::SparseEntry& entry = node.entries[random() % node.entries.size()];
      switch (random() % 4) {
        case 0:
          entry.kind = log::SparseEntry::Kind::kOdd;
          break;
        case 1:
          entry.kind = log::SparseEntry::Kind::kEven;
          break;
        case 2: {
          const double value = outputs_[node.node].data<double>()[entry.position];
          entry = {entry.position, log::SparseEntry::Kind::kValue,
                   static_cast<float>(kernels::rounding::neighbour(value, random() % 2 == 0, 32))};
          break;
        }
        default:
          if (node.entries.size() > 1) node.entries.erase(node.entries.begin());
      }
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
      ASSERT_EQ(ok, outputs.has_value());
      ASSERT_EQ(fault, said);
      ASSERT_TRUE(!ok || same(*outputs, audited_));
    }
    ++(outputs ? taken : refused);
  }
  EXPECT_GT(taken, 20);
  EXPECT_GT(refused, 10);
}

// A value is called illegal only on operands that are known to be shared.
TEST_F(Forger, WithoutAnAgreedStateNobodyIsNamed) {
  const log::SparseEntry& honest = log_.nodes[0].entries[0];
  const log::SparseLog forged = with(log_, log_.nodes[0].node, {honest.position, log::SparseEntry::Kind::kValue, 1e9f});
  EXPECT_FALSE(accepted(forged, 6, StateBefore::kAgreed));
  EXPECT_EQ(fault_->kind, log::FaultKind::kIllegal);
  EXPECT_FALSE(accepted(forged, 6, StateBefore::kUnknown));
  EXPECT_EQ(fault_->kind, log::FaultKind::kDiffers);
}

TEST_F(Forger, EntriesOfAnotherNodeOrBeyondTheOutputOrOfOtherBitsAreDamage) {
  log::SparseLog forged = log_;
  forged.nodes.back().node += 1;
  EXPECT_FALSE(accepted(forged, 6, StateBefore::kUnknown));
  EXPECT_EQ(fault_->kind, log::FaultKind::kDamaged);
  forged = log_;
  forged.nodes[0].entries.back().position = 1 << 20;
  EXPECT_FALSE(accepted(forged, 6, StateBefore::kUnknown));
  EXPECT_EQ(fault_->kind, log::FaultKind::kDamaged);
  for (float no_value : {1 + 0x1p-20f, __builtin_nanf("")}) {
    rules_.bits = 27;
    EXPECT_FALSE(accepted(with(log_, 0, {0, log::SparseEntry::Kind::kValue, no_value}), 6, StateBefore::kUnknown));
    EXPECT_EQ(fault_->kind, log::FaultKind::kDamaged) << fault_->what;
  }
}

}  // namespace
}  // namespace isobit::runtime
