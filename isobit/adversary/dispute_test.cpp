// Disputes between an honest and a dishonest party: whoever cheated is found wrong, at the step and in the operator
// and element that are false, and whoever did not never is.
#include <map>
#include <random>

#include "isobit/adversary/dispute_for_test.h"
#include "isobit/dispute/record.h"

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

TEST_F(Disputes, AFalseValueInAnyNodeIsFoundInThatNode) {
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    SCOPED_TRACE(arithmetic);
    const Planted planted = plant_in_every_node(digits_job({std::string("job.arithmetic=") + arithmetic}));
    EXPECT_EQ(planted.unchanged, (std::set<std::string>{"Flatten", "Reshape"}));
    EXPECT_EQ(planted.found, 33U);
  }
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
    const Made false_run{request.out, request.conduct.step, job};
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
  const Verdict verdict = settle({request.out, request.conduct.step, job}, honest).verdict;
  EXPECT_EQ(verdict.outcome, Outcome::kTrainerWrong) << verdict.reason;
  EXPECT_EQ(verdict.step, uint64_t{3});
  EXPECT_EQ(verdict.level, Level::kValue);
  EXPECT_EQ(settle(honest, {request.out, request.conduct.step, job}).verdict.outcome, Outcome::kChallengerWrong);
}

// Says that its step was fed something else: the values of its batch are not those of the job's samples.
class FalseBatch final : public dispute::Witness {
 public:
  FalseBatch(dispute::Witness& computed, uint64_t entry, int64_t element)
      : computed_(computed), entry_(entry), element_(element) {}
  const std::vector<train::TraceEntry>& schema() const override { return computed_.schema(); }
  Expected<std::vector<dispute::StepPoint>> points(uint64_t first, uint64_t last) override {
    ISOBIT_TRY(auto points, computed_.points(first, last));
    return points;
  }
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override {
    ISOBIT_TRY(auto roots, computed_.roots(step));
    ISOBIT_TRY(const auto changed, values(step, {entry_}));
    ThreadPool pool(1);
    const dispute::TensorIdentity identity = dispute::TensorIdentity::of(schema()[entry_]);
    roots[entry_] = commit::tensor_root(identity.name, changed.at(entry_), identity.layout(), pool);
    return roots;
  }
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override {
    ISOBIT_TRY(auto values, computed_.values(step, entries));
    const auto found = values.find(entry_);
    if (found == values.end()) return values;
    Tensor& tensor = found->second;
    const size_t size = size_of(tensor.dtype());
    static_cast<uint8_t*>(tensor.raw())[static_cast<size_t>(element_ % tensor.elements()) * size] ^= 1;
    return values;
  }
  dispute::ShownNode node(uint64_t index) override { return computed_.node(index); }
  const verify::GraphTree& graph() const override { return computed_.graph(); }
  Expected<Tensor> given(const dispute::Operand& operand) override { return computed_.given(operand); }
  Expected<verify::ShownLeaves> batch(uint64_t step) override { return computed_.batch(step); }
  Expected<verify::ShownSample> sample(uint64_t step, int64_t position) override {
    return computed_.sample(step, position);
  }

 private:
  dispute::Witness& computed_;
  const uint64_t entry_;
  const int64_t element_;
};

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
          return std::make_unique<FalseBatch>(computed, entry, element);
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

TEST_F(Disputes, ARecordGivesTheVerdictAgainAndNoOther) {
  const train::Job job = small_job({"job.steps=5"});
  const Made honest = make("honest", job), false_run = make("false", job, "sample", 3);
  const run::DisputeResult result = settle(false_run, honest);
  const dispute::Record record{result.engagement, result.record, {}};
  const dispute::Subject subject = run::dispute_subject(job, result.engagement);
  const auto again = dispute::replay(record, subject);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->verdict, result.verdict);
  const Bytes bytes = encode(record);
  EXPECT_EQ(dispute::decode_record(bytes, "test").value(), record);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    Bytes changed = bytes;
    const size_t bit = random() % (bytes.size() * 8);
    changed[bit / 8] = static_cast<uint8_t>(changed[bit / 8] ^ (1 << bit % 8));
    const auto decoded = dispute::decode_record(changed, "test");
    if (!decoded || !verify::verify_engagement(decoded->engagement, record.engagement.terms.client_key)) continue;
    EXPECT_FALSE(dispute::replay(*decoded, subject)) << "bit " << bit;
  }
  dispute::Record shorter = record;
  shorter.messages.pop_back();
  EXPECT_FALSE(dispute::replay(shorter, subject));
}

// Messages of a game that was played, given to another referee with changes.
class Replays {
 public:
  Replays(const run::DisputeResult& played, dispute::Subject subject) : played_(played), subject_(std::move(subject)) {}

  size_t size() const { return played_.record.size(); }
  dispute::Message message(size_t i) const { return dispute::decode_message(played_.record[i], "test").value(); }
  // A referee who has heard the first `count` messages.
  std::unique_ptr<dispute::Referee> after(size_t count) const {
    auto referee = std::make_unique<dispute::Referee>(subject_, run::testing::key(77).public_key());
    for (size_t i = 0; i < count; ++i) EXPECT_TRUE(referee->receive(played_.record[i]).counts);
    return referee;
  }
  Bytes signed_by(uint8_t key, dispute::Message m) const {
    return encode(
        dispute::sign_message(m.turn, m.history, std::move(m.body), subject_.engagement.terms, run::testing::key(key)));
  }

 private:
  const run::DisputeResult& played_;
  const dispute::Subject subject_;
};

TEST_F(Disputes, WhatDoesNotCountIsDroppedAndConvictsNobody) {
  const train::Job job = digits_job({"data.batch=40", "optimizer.momentum=0"});
  const Made honest = make("honest", job), false_run = make("false", job, "gradient", 2);
  const run::DisputeResult result = settle(false_run, honest);
  const Replays replays(result, run::dispute_subject(job, result.engagement));
  for (size_t i = 0; i < replays.size(); ++i) {
    SCOPED_TRACE(text_of("message ", i));
    const auto referee = replays.after(i);
    const dispute::Message m = replays.message(i);
    const uint8_t own = m.key == run::testing::key(77).public_key() ? 77 : kTrainerSeed;
    uint64_t dropped = 0;
    const auto expect_dropped = [&](const Bytes& bytes, const char* what) {
      EXPECT_FALSE(referee->receive(bytes).counts) << what;
      EXPECT_EQ(referee->counts().dropped, ++dropped) << what;
      EXPECT_FALSE(referee->verdict()) << what;
    };
    Bytes changed = result.record[i];
    changed.back() ^= 1;
    expect_dropped(changed, "not what was signed");
    expect_dropped(Bytes(changed.begin(), changed.end() - 1), "cut off");
    expect_dropped({}, "nothing");
    dispute::Message other = m;
    other.turn += 1;
    expect_dropped(replays.signed_by(own, other), "of another turn");
    other = m;
    other.history[0] ^= 1;
    expect_dropped(replays.signed_by(own, other), "of another game");
    if (i > 0 || own == kTrainerSeed) expect_dropped(replays.signed_by(5, m), "of nobody");
    if (i > 0) expect_dropped(result.record[i - 1], "said already");
    EXPECT_TRUE(referee->receive(result.record[i]).counts);
    // Signed for this very question, so that it would be an answer beside another one.
    const auto another = replays.after(i);
    other = m;
    other.body.clear();
    EXPECT_FALSE(another->receive(replays.signed_by(own, other)).counts);
    EXPECT_FALSE(another->verdict()) << "says nothing";
  }
}

// Whatever a dishonest party signs, the honest one is not found wrong.
TEST_F(Disputes, NothingThatOnePartySignsConvictsTheOther) {
  const train::Job job = digits_job({"data.batch=40", "optimizer.momentum=0"});
  const Made honest = make("honest", job), false_run = make("false", job, "gradient", 2);
  std::mt19937 random(7);
  for (const bool trainer_is_honest : {false, true}) {
    const run::DisputeResult result = trainer_is_honest ? settle(honest, false_run) : settle(false_run, honest);
    const Replays replays(result, run::dispute_subject(job, result.engagement));
    const uint8_t liar = trainer_is_honest ? 77 : kTrainerSeed;
    int counted = 0;
    for (size_t i = 0; i < replays.size(); ++i) {
      const dispute::Message m = replays.message(i);
      if (m.key != run::testing::key(liar).public_key()) continue;
      for (int n = 0; n < 150; ++n) {
        dispute::Message other = m;
        for (size_t flips = 1 + random() % 3; flips > 0; --flips) {
          other.body[random() % other.body.size()] ^= static_cast<uint8_t>(1 << random() % 8);
        }
        const auto referee = replays.after(i);
        counted += referee->receive(replays.signed_by(liar, other)).counts ? 1 : 0;
        for (size_t later = i + 1; later < replays.size() && !referee->verdict(); ++later) {
          referee->receive(result.record[later]);
        }
        if (!referee->verdict()) continue;
        EXPECT_EQ(referee->verdict()->outcome, trainer_is_honest ? Outcome::kChallengerWrong : Outcome::kTrainerWrong)
            << "message " << i << ": " << referee->verdict()->reason;
      }
    }
    EXPECT_GT(counted, 10) << "else nothing but the door was tried";
  }
}

}  // namespace
}  // namespace isobit::adversary
