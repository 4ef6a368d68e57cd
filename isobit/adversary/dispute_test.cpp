// Disputes between an honest and a dishonest party: whoever cheated is found wrong, at the step and in the operator
// and element that are false, and whoever did not never is.
#include <map>

#include "isobit/adversary/dispute_for_test.h"
#include "isobit/adversary/passing_witness_for_test.h"
#include "isobit/base/whole_for_test.h"
#include "isobit/run/onnx_for_test.h"

namespace isobit::adversary {
namespace {

using namespace testing;

class Disputes : public DisputeTest {};

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
    {"order", {Level::kStep, ""}},
    {"precision", {Level::kElement, "Conv"}},
    {"freeze", {Level::kElement, "isobit.Sgd"}},
    {"skip", {Level::kElement, "isobit.RunningUpdate"}},
    {"overwrite", {Level::kRun, ""}},
    {"initial", {Level::kRun, ""}},
    {"repeat", {Level::kStep, ""}},
    {"dataset", {Level::kElement, "Conv"}},
    {"gradient", {Level::kElement, "isobit.ConvGradWeights"}},
};

const std::vector<std::string> kArithmetics = {"ordered-1", "correct-1", "logged-1"};
// Each case under one arithmetic, in turn; the whole test under all.
bool takes_turn(size_t number, size_t arithmetic) { return whole_test() || number % kArithmetics.size() == arithmetic; }

TEST_F(Disputes, EveryCheatIsFoundInItsOperator) {
  for (size_t a = 0; a < kArithmetics.size(); ++a) {
    const std::string& arithmetic = kArithmetics[a];
    size_t number = 0;
    const train::Job job = small_job({"job.arithmetic=" + arithmetic, "job.steps=5"});
    const Made honest = make(text_of("honest_", arithmetic), job);
    for (const auto& [cheat, where] : kFound) {
      if (!takes_turn(number++, a)) continue;
      SCOPED_TRACE(text_of(arithmetic, " ", cheat));
      const int64_t step = cheat == "overwrite" ? 5 : 3;
      const Made false_run = make(text_of(arithmetic, "_", cheat), job, cheat, step);
      const Verdict verdict = settle(false_run, honest).verdict;
      EXPECT_EQ(verdict.outcome, Outcome::kTrainerWrong) << verdict.reason;
      EXPECT_EQ(verdict.level, where.level) << verdict.reason;
      EXPECT_EQ(verdict.op, where.op) << verdict.reason;
      if (where.level == Level::kRun) continue;
      EXPECT_EQ(verdict.step, uint64_t{3});
      if (where.level == Level::kStep) continue;
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

// Who doubts by a run that a machine once computed wrongly computes it rightly now: it is told so, and signs nothing by
// which it would be wrong.
TEST_F(Disputes, AChallengerWhoseOwnRunIsTheFalseOneIsToldSo) {
  for (const char* arithmetic : {"ordered-1", "logged-1"}) {
    const train::Job job = small_job({std::string("job.arithmetic=") + arithmetic, "job.steps=5", "commit.every=2"});
    const Made honest = make(text_of("honest_", arithmetic), job);
    for (const auto& [cheat, step] : std::map<std::string, int64_t>{
             {"gradient", 3}, {"gradient_at_the_end", 5}, {"sample", 2}, {"overwrite", 5}, {"initial", 1}}) {
      SCOPED_TRACE(text_of(arithmetic, " ", cheat));
      const std::string kind = cheat.substr(0, cheat.find('_'));
      Made mistaken = make(text_of(arithmetic, "_", cheat), job, kind, step);
      const Made liar = mistaken;
      mistaken.conduct.reset();
      const auto result = run::dispute_runs({side(honest, kTrainerSeed), side(mistaken, 77), {}, {}});
      ASSERT_FALSE(result) << result->verdict.reason;
      EXPECT_EQ(result.error().code, ErrorCode::kUsage);
      EXPECT_NE(result.error().message.find("nothing to dispute"), std::string::npos) << result.error().message;
      // Of a trainer who lies it finds that all the same.
      EXPECT_EQ(settle(liar, honest).verdict.outcome, Outcome::kTrainerWrong);
    }
    // Its own error takes nothing from the trainer's.
    Made mistaken = make(text_of(arithmetic, "_mistaken"), job, "gradient", 3);
    mistaken.conduct.reset();
    EXPECT_EQ(settle(make(text_of(arithmetic, "_liar"), job, "rate", 3), mistaken).verdict.outcome,
              Outcome::kTrainerWrong);
  }
}

// Beyond the steps that are false both go on as the job says.
TEST_F(Disputes, RunsThatBeginOtherwiseAreFoundWhereTheyBegin) {
  for (const char* arithmetic : {"ordered-1", "logged-1"}) {
    const train::Job job = small_job({std::string("job.arithmetic=") + arithmetic, "job.steps=5"});
    const Made honest = make(text_of("honest_", arithmetic), job);
    const Made prefix = make(text_of("prefix_", arithmetic), job, "prefix", 3);
    const Made initial = make(text_of("initial_", arithmetic), job, "initial", 1);
    const Verdict of_prefix = settle(prefix, honest).verdict, of_initial = settle(initial, honest).verdict;
    EXPECT_EQ(of_prefix.outcome, Outcome::kTrainerWrong) << of_prefix.reason;
    EXPECT_EQ(of_prefix.level, Level::kStep) << of_prefix.reason;
    EXPECT_EQ(of_prefix.step, uint64_t{1});
    EXPECT_EQ(of_initial.outcome, Outcome::kTrainerWrong) << of_initial.reason;
    EXPECT_NE(of_initial.reason.find("begins"), std::string::npos) << of_initial.reason;
    EXPECT_EQ(settle(honest, prefix).verdict.outcome, Outcome::kChallengerWrong);
    EXPECT_EQ(settle(honest, initial).verdict.outcome, Outcome::kChallengerWrong);
  }
}

TEST_F(Disputes, AFalseValueInAnyNodeIsFoundInThatNode) {
  Planted all;
  for (size_t a = 0; a < kArithmetics.size(); ++a) {
    SCOPED_TRACE(kArithmetics[a]);
    const auto chosen = [a](size_t node) { return takes_turn(node, a); };
    const Planted planted = plant_in_every_node(digits_job({"job.arithmetic=" + kArithmetics[a]}), chosen);
    all.found += planted.found;
    all.unchanged.insert(planted.unchanged.begin(), planted.unchanged.end());
  }
  EXPECT_EQ(all.unchanged, (std::set<std::string>{"Flatten", "Reshape"}));
  EXPECT_EQ(all.found, whole_test() ? 3 * 33U : 33U);
}

// A gradient of 2,560 terms.
TEST_F(Disputes, WhoLiesInTheStatesOfASumIsFoundInTheChunk) {
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    SCOPED_TRACE(arithmetic);
    const train::Job job = digits_job({std::string("job.arithmetic=") + arithmetic, "data.batch=40"});
    const Made honest = make(text_of("honest_", arithmetic), job);
    run::TrainRequest request = train_request(folder_ / text_of("false_", arithmetic), job);
    request.conduct.step = with_outputs(
        2,
        [](const graph::Graph& graph, size_t index, runtime::KernelCall& call) {
          if (graph.nodes()[index].op != "isobit.ConvGradWeights") return;
          call.out().dtype() == DType::kFloat32 ? replace_values<float>(call.out())
                                                : replace_values<double>(call.out());
        },
        run::take_step);
    ASSERT_TRUE(run::train_run(request));
    const Made false_run{request.out, request.conduct, job};
    for (const size_t chunk : {0, 1, 2}) {
      for (const bool trainer_lies : {true, false}) {
        run::DisputeRequest both{side(false_run, kTrainerSeed), side(honest, 77), {}, {}};
        if (!trainer_lies) both = {side(honest, kTrainerSeed), side(false_run, 77), {}, {}};
        // From this chunk on the states of another sum.
        const auto forge = [=](std::vector<judge::State>& states) {
          for (size_t c = chunk; c < states.size(); ++c) states[c][1] ^= 1;
        };
        (trainer_lies ? both.trainer : *both.challenger).forge_states = forge;
        const auto result = run::dispute_runs(both);
        ASSERT_TRUE(result) << result.error().message;
        const Verdict& verdict = result->verdict;
        EXPECT_EQ(verdict.outcome, trainer_lies ? Outcome::kTrainerWrong : Outcome::kChallengerWrong) << verdict.reason;
        EXPECT_EQ(verdict.op, "isobit.ConvGradWeights");
        EXPECT_EQ(verdict.level, Level::kSum) << verdict.reason;
        EXPECT_EQ(verdict.chunk, static_cast<int64_t>(chunk));
      }
    }
  }
}

TEST_F(Disputes, AFalseLossIsFound) {
  const train::Job job = small_job({"job.steps=5"});
  const Made honest = make("honest", job);
  run::TrainRequest request = train_request(folder_ / "false", job);
  request.conduct.step = [](train::Trainer& trainer, runtime::RunOptions options) -> Expected<train::StepResult> {
    ISOBIT_TRY(train::StepResult result, run::take_step(trainer, options));
    if (result.step == 3) result.loss *= 0.5F;
    return result;
  };
  ASSERT_TRUE(run::train_run(request));
  const Verdict verdict = settle({request.out, request.conduct, job}, honest).verdict;
  EXPECT_EQ(verdict.outcome, Outcome::kTrainerWrong) << verdict.reason;
  EXPECT_EQ(verdict.step, uint64_t{3});
  EXPECT_EQ(verdict.level, Level::kValue);
  EXPECT_EQ(settle(honest, {request.out, request.conduct, job}).verdict.outcome, Outcome::kChallengerWrong);
}

TEST_F(Disputes, WhoSaysThatItsStepWasFedOtherSamplesIsFound) {
  for (const char* arithmetic : {"ordered-1", "logged-1"}) {
    const train::Job job = small_job({std::string("job.arithmetic=") + arithmetic, "job.steps=4"});
    const Made honest = make(text_of("honest_", arithmetic), job);
    const Made false_run = make(text_of("rate_", arithmetic), job, "rate", 3);
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    const auto schema = train::trace_schema(run::open_session(job, engine).value().trainer->step_graph());
    int batch_entries = 0;
    for (uint64_t entry = 0; entry < schema.size(); ++entry) {
      if (schema[entry].kind != train::TraceEntry::Kind::kBatch) continue;
      ++batch_entries;
      for (const int64_t element : {0, 5, 300}) {
        const auto lie = [=](dispute::Witness& computed) {
          return std::make_unique<FalseValueWitness>(computed, entry, element);
        };
        run::DisputeRequest both{side(false_run, kTrainerSeed), side(honest, 77), {}, {}};
        both.trainer.speaks = lie;
        const Verdict verdict = run::dispute_runs(both).value().verdict;
        EXPECT_EQ(verdict.outcome, Outcome::kTrainerWrong) << verdict.reason;
        EXPECT_EQ(verdict.entry, entry);
        ASSERT_TRUE(verdict.element);
        EXPECT_EQ(verdict.element->right, verdict.element->challenger);
        both = {side(honest, kTrainerSeed), side(false_run, 77), {}, {}};
        both.challenger->speaks = lie;
        EXPECT_EQ(run::dispute_runs(both).value().verdict.outcome, Outcome::kChallengerWrong);
      }
    }
    EXPECT_EQ(batch_entries, 2);
  }
}

// Stands by a tree of the tiles of a value that has none.
class FalseTree final : public FalseValueWitness {
 public:
  FalseTree(dispute::Witness& computed, uint64_t entry) : FalseValueWitness(computed, entry, 0), entry_(entry) {}
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override {
    ISOBIT_TRY(auto roots, computed().roots(step));
    roots[entry_].tiles.root[0] ^= 1;
    return roots;
  }
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override {
    return computed().values(step, entries);
  }

 private:
  const uint64_t entry_;
};

// A game about a value without elements has no tile to come to.
TEST_F(Disputes, WhoStandsByTilesOfAnEmptyValueIsFound) {
  onnx::ModelForTest m(13);
  m.input("x", {-1, 1, 8, 8});
  Tensor weight = Tensor::zeros(DType::kFloat32, {64, 10});
  weight.data<float>()[7] = 0.25F;
  m.initializer("w", weight).initializer("zero", Tensor::of<int64_t>({1}, std::vector<int64_t>{0}));
  m.initializer("one", Tensor::of<int64_t>({1}, std::vector<int64_t>{1}));
  m.node("Flatten", {"x"}, {"flat"});
  m.node("Gemm", {"flat", "w"}, {"scores"});
  m.node("Slice", {"scores", "zero", "zero", "one"}, {"nothing"});
  m.node("Concat", {"scores", "nothing"}, {"all"}).with("axis", 1);
  m.output("all");
  run::testing::write_model(folder_ / "m.onnx", m);
  const train::Job job =
      train::parse_job(
          text_of("[job]\nname = \"empty\"\nseed = 3\nsteps = 3\n[model]\nonnx = \"", (folder_ / "m.onnx").string(),
                  "\"\n[data]\ndataset = \"digits\"\nbatch = 4\n[optimizer]\nlr = 0.05\n"),
          "empty", "", {})
          .value();
  const Made honest = make("honest", job), false_run = make("false", job, "rate", 2);
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto schema = train::trace_schema(run::open_session(job, engine).value().trainer->step_graph());
  const auto empty = std::ranges::find_if(schema, [](const auto& e) { return Shape(e.dims).elements() == 0; });
  ASSERT_NE(empty, schema.end());
  const auto entry = static_cast<uint64_t>(empty - schema.begin());
  run::DisputeRequest both{side(false_run, kTrainerSeed), side(honest, 77), {}, {}};
  both.trainer.speaks = [=](dispute::Witness& computed) { return std::make_unique<FalseTree>(computed, entry); };
  const Verdict verdict = run::dispute_runs(both).value().verdict;
  EXPECT_EQ(verdict.outcome, Outcome::kTrainerWrong) << verdict.reason;
  EXPECT_EQ(verdict.level, Level::kValue);
  EXPECT_EQ(verdict.entry, entry);
}

// Who trained dishonestly and answers honestly cannot lead to its own claims.
TEST_F(Disputes, HonestAnswersDoNotSaveADishonestRun) {
  const train::Job job = small_job({"job.steps=5"});
  const Made honest = make("honest", job);
  for (const char* cheat : {"rate", "sample", "weight", "skip"}) {
    Made false_run = make(text_of("false_", cheat), job, cheat, 3);
    false_run.conduct.reset();
    const Verdict verdict = settle(false_run, honest).verdict;
    EXPECT_EQ(verdict.outcome, Outcome::kTrainerWrong) << cheat << ": " << verdict.reason;
    EXPECT_EQ(verdict.step, uint64_t{3}) << cheat;
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
