// Whole logged runs between simulated platforms: what an honest trainer with errors of its own, and an honest auditor
// with others, come to.
//
// A run is a few steps of a small network whose state goes through two inner products a step, each of sums that cancel,
// so that near-ties are common and every value that is rounded apart changes all later operands.
#pragma once

#include <optional>
#include <string>

#include "isobit/runtime/stages/ovt_stage.h"
#include "isobit/runtime/stages/simulation_for_test.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime::testing {

enum class Ending {
  kAccepted,        // trainer and auditor have the same states
  kTrainerStopped,  // unsigned
  kInconclusive,    // the auditor stopped
  kDiffers,         // rejected, and no value is called illegal
  kNamed,           // rejected, and a value of the honest run called illegal, or its log damage
};

struct RunResult {
  Ending ending = Ending::kAccepted;
  uint64_t checked = 0;  // outputs of the samples of both
  log::Counts counts;    // of the auditor
};

// y = [x, x(1+a)] [w; -w(1+b)]; state' = state / 2 + tanh(c y), and the same once more with the result in place of w.
class SimulatedRun {
 public:
  SimulatedRun(double divergence, log::Kind log) {
    rules_.divergence = divergence;
    rules_.log = log;
    const graph::ValueId state = input(random_tensor({kHalf, kSide}, 1));
    state_ = feeds_.back().second;
    graph::ValueId next = state;
    for (uint64_t layer = 0; layer < 2; ++layer) {
      Tensor left = random_tensor({kSide, 2 * kHalf}, 10 * layer + 2);
      cancel_along(left, 1, 2 * kHalf, 1, kChange, 10 * layer + 3);
      Tensor scale = random_tensor({kHalf, kSide}, 10 * layer + 4);
      for (double& x : scale.span<double>()) x = kernels::rounding::round_to_bits(-1 - x * kChange, 32);
      const graph::ValueId twin = g_.emit("Mul", {next, input(scale)}, {}, "twin");
      const graph::ValueId both = g_.emit("Concat", {next, twin}, {{"axis", int64_t{0}}}, "both");
      const graph::ValueId product = g_.emit("MatMul", {input(left), both}, {}, "product");
      Tensor large(DType::kFloat64, Shape({kSide, kSide})), half(DType::kFloat64, Shape({kHalf, kSide}));
      std::fill_n(large.data<double>(), large.elements(), 1 / kChange);
      std::fill_n(half.data<double>(), half.elements(), 0.5);
      const graph::ValueId y = g_.emit("Tanh", {g_.emit("Mul", {product, input(large)}, {}, "large")}, {}, "tanh");
      next = g_.emit("Add", {g_.emit("Mul", {next, input(half)}, {}, "half"), y}, {}, "next");
    }
    g_.add_output(next);
  }

  // As train_run and audit_run do it: a state root after every other step, compared by its bits.
  RunResult operator()(uint64_t seed, const Errors& trainer, const Errors& auditor, int steps);
  static constexpr int64_t kHalf = 40, kSide = 40, kTerms = 2 * kHalf;

 private:
  static constexpr double kChange = 0x1p-15;

  graph::ValueId input(const Tensor& t) {
    feeds_.emplace_back(g_.add_input("x", DType::kFloat64, t.shape().dims()), t);
    return feeds_.back().first;
  }
  Expected<Tensor> step(const Tensor& state, Stage& stage) {
    feeds_[0].second = state;
    auto outputs = Executor(g_).run({kernels::best_isa(), &pool_}, feeds_, {.stage = &stage});
    if (!outputs) return tl::unexpected<Error>(outputs.error());
    return (*outputs)[0];
  }

  RoundingRules rules_;
  graph::Graph g_;
  Executor::Feeds feeds_;
  Tensor state_;
  ThreadPool pool_{1};
};

inline RunResult SimulatedRun::operator()(uint64_t seed, const Errors& trainer_errors, const Errors& auditor_errors,
                                          int steps) {
  const std::unique_ptr<LogRecorder> recorder = make_recorder(rules_);
  const std::unique_ptr<LogFollower> follower = make_follower(rules_);
  Simulated trainer(*recorder, rules_, 2 * seed, trainer_errors),
      auditor(*follower, rules_, 2 * seed + 1, auditor_errors);
  Tensor trained = state_, audited = state_;
  RunResult result;
  for (int t = 1; t <= steps; ++t) {
    recorder->begin_step(static_cast<uint64_t>(t));
    const auto next = step(trained, trainer);
    result.checked = total(recorder->counts()).checked + total(follower->counts()).checked;
    if (!next) {
      EXPECT_EQ(next.error().code, ErrorCode::kUnavailable);
      result.ending = Ending::kTrainerStopped;
      return result;
    }
    trained = *next;
    follower->begin_step(static_cast<uint64_t>(t), recorder->take_log(),
                         t % 2 == 1 ? StateBefore::kAgreed : StateBefore::kUnknown);
    const auto replayed = step(audited, auditor);
    const bool followed = replayed && follower->end_step();
    result.counts = total(follower->counts());
    result.checked = total(recorder->counts()).checked + result.counts.checked;
    if (!followed) {
      const log::FaultKind kind = follower->fault()->kind;
      result.ending = kind == log::FaultKind::kOwnPlatform ? Ending::kInconclusive
                      : kind == log::FaultKind::kDiffers   ? Ending::kDiffers
                                                           : Ending::kNamed;
      return result;
    }
    audited = *replayed;
    if (t % 2 == 0 || t == steps) {
      if (!identical(trained, audited)) {
        result.ending = Ending::kDiffers;
        return result;
      }
    }
  }
  return result;
}

}  // namespace isobit::runtime::testing
