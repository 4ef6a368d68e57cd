// What the tests of disputes about logged runs share.
#pragma once

#include "isobit/adversary/dispute_for_test.h"

namespace isobit::adversary::testing {

class LogDisputeTest : public DisputeTest {
 protected:
  Expected<run::DisputeResult> dispute(const Made& trainer, const Made& challenger) {
    return run::dispute_runs({side(trainer, kTrainerSeed), side(challenger, 77), {}, {}});
  }
  // A run of the job whose log of step kAt is changed, node by node, until `forge` has changed something.
  Made forged(const std::string& name, const train::Job& job,
              const std::function<bool(runtime::KernelCall& call, std::vector<log::SparseEntry>& entries)>& forge) {
    run::TrainRequest request = train_request(folder_ / name, job);
    const auto done = std::make_shared<bool>(false);
    LogFalsehood falsehood;
    falsehood.forge = [=](uint64_t step, size_t, runtime::KernelCall& call, log::StepLog& log) {
      auto& nodes = std::get<log::SparseLog>(log).nodes;
      if (step != kAt || *done || nodes.empty()) return;
      *done = forge(call, nodes[0].entries);
      if (nodes[0].entries.empty()) nodes.clear();
    };
    falsehood.change = [=](uint64_t step, Bytes&) -> Status {
      if (step == kAt) *done = false;
      return {};
    };
    falsify_log(request, std::move(falsehood));
    const auto trained = run::train_run(request);
    EXPECT_TRUE(trained) << trained.error().message;
    return {request.out, request.conduct, job};
  }
};

inline bool is_product(const std::string& op) {
  return std::set<std::string>{"Conv", "Gemm", "MatMul", "isobit.ConvGradSrc", "isobit.ConvGradWeights"}.contains(op);
}

inline void expect_at(const Verdict& v, Level level) {
  EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << v.reason;
  EXPECT_EQ(v.level, level) << v.reason;
  EXPECT_EQ(v.step, static_cast<uint64_t>(kAt));
  EXPECT_TRUE(is_product(v.op)) << v.op;
  ASSERT_TRUE(v.element) << v.reason;
  EXPECT_NE(v.element->trainer, v.element->right);
  EXPECT_EQ(v.element->challenger, v.element->right);
  EXPECT_EQ(v.finding, "");
}

}  // namespace isobit::adversary::testing
