// Disputes in which one party computes values of a step again and the other keeps them: their runs, lists and answers
// are the same, so that only what is false tells them apart.
#include "isobit/adversary/dispute_for_test.h"

namespace isobit::adversary {
namespace {

using namespace testing;
using runtime::Recompute;

class RecomputedDisputes : public DisputeTest {
 protected:
  struct Party {
    std::string cheat;
    Recompute what = Recompute::kNothing;
  };
  Made made(const std::string& name, const train::Job& job, const Party& party) {
    run::TrainRequest request = train_request(folder_ / name, job);
    request.limits.recompute = party.what;
    if (!party.cheat.empty()) {
      EXPECT_TRUE(apply_cheat(party.cheat, 3, request));
    }
    const auto trained = run::train_run(request);
    EXPECT_TRUE(trained) << trained.error().message;
    return {request.out, party.cheat.empty() ? std::nullopt : std::optional(request.conduct), job};
  }
  Verdict settled(const train::Job& job, const Party& trainer, const Party& challenger) {
    const Made one = made("one", job, trainer), other = made("other", job, challenger);
    run::DisputeRequest request{side(one, kTrainerSeed), side(other, 77), {}, {}};
    request.trainer.open.limits.recompute = trainer.what;
    request.challenger->open.limits.recompute = challenger.what;
    const auto result = run::dispute_runs(request);
    EXPECT_TRUE(result) << result.error().message;
    fs::remove_all(one.path);
    fs::remove_all(other.path);
    return result ? result->verdict : Verdict{};
  }
};

TEST_F(RecomputedDisputes, ConvictWhoIsWrong) {
  const std::map<std::string, std::string> found_in = {{"precision", "Conv"}, {"gradient", "isobit.ConvGradWeights"}};
  for (const std::string arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    const train::Job job = small_job({"job.arithmetic=" + arithmetic, "job.steps=5"});
    const Recompute what = arithmetic == "logged-1" ? Recompute::kCheap : Recompute::kEverything;
    for (const auto& [cheat, op] : found_in) {
      SCOPED_TRACE(text_of(arithmetic, " ", cheat));
      const Verdict plain = settled(job, {cheat, Recompute::kNothing}, {"", what});
      EXPECT_EQ(plain.outcome, Outcome::kTrainerWrong) << plain.reason;
      const Verdict again = settled(job, {cheat, what}, {"", Recompute::kNothing});
      EXPECT_EQ(again.outcome, Outcome::kTrainerWrong) << again.reason;
      EXPECT_EQ(again.op, op);
      EXPECT_EQ(again.op, plain.op);
      EXPECT_EQ(again.node, plain.node);
      EXPECT_EQ(again.element.has_value(), plain.element.has_value());
      EXPECT_EQ(again.step, uint64_t{3});
      const Verdict honest = settled(job, {"", what}, {cheat, Recompute::kNothing});
      EXPECT_EQ(honest.outcome, Outcome::kChallengerWrong) << honest.reason;
    }
  }
}

// Of a value that somebody changes, the changed one is what comes again: the run is as false as without.
TEST_F(RecomputedDisputes, AChangedValueComesAgainAsChanged) {
  const train::Job job = small_job({"job.steps=3"});
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const graph::Graph graph = run::open_session(job, engine).value().trainer->step_graph().graph;
  int tried = 0;
  for (size_t node = 0; node < graph.nodes().size(); node += 3) {
    commit::Digest roots[2];
    for (const bool again : {false, true}) {
      run::TrainRequest request = train_request(folder_ / "planted", job);
      request.conduct.step = planted_at(node);
      request.limits.recompute = again ? Recompute::kEverything : Recompute::kNothing;
      const auto trained = run::train_run(request);
      ASSERT_TRUE(trained) << trained.error().message;
      roots[again ? 1 : 0] = trained->transcript_root;
      fs::remove_all(request.out);
    }
    EXPECT_EQ(roots[0], roots[1]) << graph.nodes()[node].op;
    ++tried;
  }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace isobit::adversary
