// Disputes between an honest and a dishonest party: whoever cheated is found wrong, at the step and in the operator
// and element that are false, and whoever did not never is.
#include <map>
#include <set>

#include "isobit/adversary/cheat.h"
#include "isobit/adversary/cheat_for_test.h"
#include "isobit/run/dispute_run.h"

namespace isobit::adversary {
namespace {

using namespace testing;
using dispute::Level;
using dispute::Outcome;
using dispute::Verdict;

class Disputes : public ::testing::Test {
 protected:
  // A run of the job, and how it was computed.
  struct Made {
    fs::path path;
    std::optional<run::StepFunction> conduct;
  };

  Made make(const std::string& name, const train::Job& job, const std::string& cheat = "", int64_t step = 0) {
    run::TrainRequest request = train_request(folder_ / name, job);
    if (!cheat.empty()) {
      const Status applied = apply_cheat(cheat, step, request);
      EXPECT_TRUE(applied) << applied.error().message;
    }
    const auto trained = run::train_run(request);
    EXPECT_TRUE(trained) << trained.error().message;
    return {request.out, cheat.empty() ? std::nullopt : std::optional(request.conduct.step)};
  }

  static run::DisputeSide side(const Made& made, uint8_t key) {
    run::DisputeSide side;
    side.open.run = made.path;
    side.open.client = audit_request(made.path).client;
    side.platform = platform::parse_platform("ordered/1t").value();
    side.key = run::testing::key(key);
    side.conduct = made.conduct;
    return side;
  }

  // The trainer's runs are signed by the key that train_request has; the challenger has one of its own.
  run::DisputeResult settle(const Made& trainer, const Made& challenger) {
    run::DisputeRequest request{side(trainer, kTrainerSeed), side(challenger, 77), {}, {}};
    const auto result = run::dispute_runs(request);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : run::DisputeResult{};
  }

  Folder folder_{"disputes"};
  static constexpr uint8_t kTrainerSeed = 2;
};

train::Job digits_job(const std::vector<std::string>& overrides) {
  constexpr char kJob[] =
      "[job]\nname = \"digits\"\nseed = 3\nsteps = 3\n[model]\nbuilder = \"digits-cnn\"\n[data]\ndataset = \"digits\"\n"
      "batch = 8\n[optimizer]\nlr = 0.05\nmomentum = 0.9\n[evaluate]\nsamples = 8\n";
  return train::parse_job(kJob, "digits", "", overrides).value();
}

struct Found {
  Level level;
  std::string op;
};

// Cheats of a small network of images, and where each is found.
const std::map<std::string, Found> kFound = {
    {"sample", {Level::kElement, "Conv"}},
    {"label", {Level::kElement, "isobit.CrossEntropy"}},
    {"rate", {Level::kElement, "isobit.Sgd"}},
    {"momentum", {Level::kElement, "isobit.Sgd"}},
    {"weight", {Level::kElement, "isobit.Sgd"}},
    {"order", {Level::kElement, "Conv"}},
    {"precision", {Level::kElement, "Conv"}},
    {"freeze", {Level::kElement, "isobit.Sgd"}},
    {"skip", {Level::kElement, "isobit.RunningUpdate"}},
    {"overwrite", {Level::kRun, ""}},
};

TEST_F(Disputes, EveryCheatIsFoundInItsOperator) {
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    const train::Job job = small_job({std::string("job.arithmetic=") + arithmetic, "job.steps=5"});
    const Made honest = make(text_of("honest_", arithmetic), job);
    for (const auto& [cheat, where] : kFound) {
      SCOPED_TRACE(text_of(arithmetic, " ", cheat));
      const int64_t step = cheat == "overwrite" ? 5 : 3;
      const Made false_run = make(text_of(arithmetic, "_", cheat), job, cheat, step);
      const Verdict verdict = settle(false_run, honest).verdict;
      EXPECT_EQ(verdict.outcome, Outcome::kTrainerWrong) << verdict.reason;
      EXPECT_EQ(verdict.level, where.level) << verdict.reason;
      EXPECT_EQ(verdict.op, where.op) << verdict.reason;
      if (where.level == Level::kRun) continue;
      EXPECT_EQ(verdict.step, uint64_t{3});
      ASSERT_TRUE(verdict.element);
      EXPECT_NE(verdict.element->trainer, verdict.element->challenger);
      EXPECT_EQ(verdict.element->right, verdict.element->challenger);
      // The same dispute the other way round: the one who doubts is wrong.
      const Verdict turned = settle(honest, false_run).verdict;
      EXPECT_EQ(turned.outcome, Outcome::kChallengerWrong) << turned.reason;
      EXPECT_EQ(turned.op, where.op) << turned.reason;
    }
  }
}

// Other values in every output of one node, at step 2: all of them, so that something of it reaches the state.
template <class Float>
void replace(Tensor& out) {
  for (Float& x : out.span<Float>()) x = static_cast<float>(1 - x);
}

run::StepFunction planted_at(size_t node) {
  return with_outputs(
      2,
      [=](const graph::Graph&, size_t index, runtime::KernelCall& call) {
        for (Tensor& out : call.outputs) {
          if (index != node || !out.defined()) continue;
          if (out.dtype() == DType::kFloat32) {
            replace<float>(out);
          } else if (out.dtype() == DType::kFloat64) {
            replace<double>(out);
          } else {  // indices and truths, still in their range
            auto* bytes = static_cast<uint8_t*>(out.raw());
            for (size_t i = 0; i < out.bytes(); i += size_of(out.dtype()))
              bytes[i] = static_cast<uint8_t>(bytes[i] ^ 1);
          }
        }
      },
      run::take_step);
}

TEST_F(Disputes, AFalseValueInAnyNodeIsFoundInThatNode) {
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    const train::Job job = digits_job({std::string("job.arithmetic=") + arithmetic});
    const Made honest = make(text_of("honest_", arithmetic), job);
    const graph::Graph graph = train::build_step_graph(job, *data::open_dataset(job.data).value()).value().graph;
    size_t found = 0;
    std::set<std::string> unchanged;
    for (size_t node = 0; node < graph.nodes().size(); ++node) {
      SCOPED_TRACE(text_of(arithmetic, " node ", node, " ", graph.nodes()[node].op));
      run::TrainRequest request = train_request(folder_ / text_of(arithmetic, "_", node), job);
      request.conduct.step = planted_at(node);
      ASSERT_TRUE(run::train_run(request));
      const Made false_run{request.out, request.conduct.step};
      run::DisputeRequest both{side(false_run, kTrainerSeed), side(honest, 77), {}, {}};
      const auto result = run::dispute_runs(both);
      fs::remove_all(request.out);
      if (!result) {  // nothing was changed: a view, or a value that nobody reads
        EXPECT_NE(result.error().message.find("nothing to dispute"), std::string::npos) << result.error().message;
        unchanged.insert(graph.nodes()[node].op);
        continue;
      }
      EXPECT_EQ(result->verdict.outcome, Outcome::kTrainerWrong) << result->verdict.reason;
      EXPECT_EQ(result->verdict.step, uint64_t{2});
      EXPECT_EQ(result->verdict.node, uint64_t{node}) << result->verdict.reason;
      EXPECT_EQ(result->verdict.op, graph.nodes()[node].op);
      ++found;
    }
    EXPECT_EQ(unchanged, (std::set<std::string>{"Flatten", "Reshape"}));
    EXPECT_EQ(found, 33U) << "of " << graph.nodes().size();
  }
}

TEST_F(Disputes, RareCommitmentsAreGoneDownToTheStep) {
  const train::Job job = small_job({"commit.every=4", "job.steps=11"});
  const Made honest = make("honest", job);
  for (const int64_t step : {1, 4, 6, 10}) {
    const Made false_run = make(text_of("rate_", step), job, "rate", step);
    const run::DisputeResult result = settle(false_run, honest);
    EXPECT_EQ(result.verdict.outcome, Outcome::kTrainerWrong) << result.verdict.reason;
    EXPECT_EQ(result.verdict.step, static_cast<uint64_t>(step));
    EXPECT_EQ(result.verdict.op, "isobit.Sgd");
  }
}

}  // namespace
}  // namespace isobit::adversary
