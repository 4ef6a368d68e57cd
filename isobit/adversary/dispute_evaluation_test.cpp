// Disputes between two runs that have the same states and not the same evaluation: whoever cheated is found wrong, at
// the sample and in the element or sum that is false.
#include <fstream>

#include "isobit/adversary/dispute_for_test.h"
#include "isobit/adversary/passing_witness_for_test.h"
#include "isobit/formats/npy.h"
#include "isobit/run/evaluation_witness.h"
#include "isobit/run/onnx_for_test.h"
#include "isobit/run/run_witness.h"
#include "isobit/train/metrics.h"

namespace isobit::adversary {
namespace {

using namespace testing;
using train::MetricSum;

constexpr std::array<const char*, 3> kArithmetics = {"ordered-1", "correct-1", "logged-1"};

// Of the values of one sample of the evaluation, one element is another one.
class FalseSample final : public PassingWitness {
 public:
  FalseSample(dispute::Witness& computed, uint64_t entry, int64_t element)
      : PassingWitness(computed), entry_(entry), element_(element) {}
  Expected<dispute::Witness*> scored(uint64_t sample) override {
    ISOBIT_TRY(dispute::Witness * honest, computed().scored(sample));
    false_ = std::make_unique<FalseValueWitness>(*honest, entry_, element_);
    return false_.get();
  }

 private:
  const uint64_t entry_;
  const int64_t element_;
  std::unique_ptr<FalseValueWitness> false_;
};

// Of a sample of many values, these are what makes its false score.
class PerfectItems final : public PassingWitness {
 public:
  explicit PerfectItems(dispute::Witness& computed) : PassingWitness(computed) {}
  Expected<dispute::Witness*> scored(uint64_t sample) override {
    ISOBIT_TRY(dispute::Witness * honest, computed().scored(sample));
    items_ = std::make_unique<Items>(*honest);
    return items_.get();
  }

 private:
  class Items final : public PassingWitness {
   public:
    using PassingWitness::PassingWitness;
    Expected<std::vector<MetricSum>> items(uint64_t metric) override {
      ISOBIT_TRY(auto items, computed().items(metric));
      for (MetricSum& item : items) item.sum = numerics::ExactTotal::of(0);
      return items;
    }
  };
  std::unique_ptr<Items> items_;
};

class DisputedEvaluations : public DisputeTest {
 protected:
  // A run whose scores were changed before they were committed to.
  Made make_scored(const std::string& name, const train::Job& job,
                   const std::function<void(train::SampleScores&)>& change) {
    run::TrainRequest request = train_request(folder_ / name, job);
    request.conduct.evaluate = with_scores(change, run::score);
    const auto trained = run::train_run(request);
    EXPECT_TRUE(trained) << trained.error().message;
    return {request.out, request.conduct, job};
  }

  train::Job gpt_job(const std::string& arithmetic) {
    const fs::path text = folder_ / "text";
    std::ofstream(text) << std::string(4000, 'a') << "the quick brown fox jumps over the lazy dog";
    return train::parse_job(
               text_of(
                   "[job]\nname = \"gpt\"\nseed = 3\nsteps = 2\n[model]\nbuilder = \"gpt\"\nlayers = 1\nheads = 2\n",
                   "channels = 16\n[data]\ndataset = \"text\"\ncontext = 8\nbatch = 4\npath = \"", text.string(),
                   "\"\n[optimizer]\nname = \"adamw\"\nlr = 0.01\n[evaluate]\nsamples = 5\n"),
               "gpt", "", {"job.arithmetic=" + arithmetic})
        .value();
  }

  // One element of every value of one sample, each in a dispute of its own, by trainer and challenger.
  size_t expect_each_element_found(const train::Job& job, uint64_t sample) {
    const Made honest = make("honest", job);
    const Made false_run = make_scored("false", job, [&](train::SampleScores& s) {
      s.sums[sample * s.metrics.size()].sum = numerics::ExactTotal::of(0.5F);
    });
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    const run::Session session = run::open_session(job, engine).value();
    const auto schema = run::EvaluationWitness::open(session, engine, sample).value()->schema();
    for (uint64_t entry = 0; entry < schema.size(); ++entry) {
      const train::TraceEntry& e = schema[entry];
      SCOPED_TRACE(text_of(entry, " ", e.name));
      const auto element = static_cast<int64_t>(entry * 7) % Shape(e.dims).elements();
      const auto lie = [=](dispute::Witness& computed) {
        return std::make_unique<FalseSample>(computed, entry, element);
      };
      run::DisputeRequest both{side(false_run, kTrainerSeed), side(honest, 77), {}, {}};
      both.trainer.speaks = lie;
      const auto result = run::dispute_runs(both);
      EXPECT_TRUE(result) << result.error().message;
      if (!result) continue;
      const Verdict& v = result->verdict;
      EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << v.reason;
      EXPECT_EQ(v.level, Level::kElement) << v.reason;
      EXPECT_EQ(v.sample, sample);
      EXPECT_EQ(v.entry, entry);
      EXPECT_EQ(v.step, std::nullopt);
      EXPECT_TRUE(v.element && v.element->element == element) << v.reason;
      EXPECT_EQ(e.node >= 0, v.op != "") << v.op;
      EXPECT_LT(result->counts.bytes - result->counts.list_bytes, uint64_t{1} << 20);
      both = {side(honest, kTrainerSeed), side(false_run, 77), {}, {}};
      both.challenger->speaks = lie;
      const auto turned = run::dispute_runs(both);
      EXPECT_TRUE(turned) << turned.error().message;
      if (turned) {
        EXPECT_EQ(turned->verdict.outcome, Outcome::kChallengerWrong) << turned->verdict.reason;
      }
    }
    fs::remove_all(honest.path);
    fs::remove_all(false_run.path);
    return schema.size();
  }

  // Samples of four numbers each, and three to be learnt.
  void write_numbers() {
    Tensor inputs(DType::kFloat32, {12, 4}), targets(DType::kFloat32, {12, 3});
    for (int64_t i = 0; i < inputs.elements(); ++i) inputs.data<float>()[i] = static_cast<float>(i % 11 - 5) / 8;
    for (int64_t i = 0; i < targets.elements(); ++i) targets.data<float>()[i] = static_cast<float>(i * i % 5) / 4;
    fs::create_directories(folder_ / "data");
    ASSERT_TRUE(formats::write_npy(folder_ / "data/inputs.npy", inputs));
    ASSERT_TRUE(formats::write_npy(folder_ / "data/labels.npy", targets));
    ASSERT_TRUE(formats::write_npy(folder_ / "data/test_inputs.npy", inputs));
    ASSERT_TRUE(formats::write_npy(folder_ / "data/test_labels.npy", targets));
  }
  train::Job numbers_job(const std::string& model, const std::string& loss, const std::string& arithmetic) {
    return train::parse_job(text_of("[job]\nname = \"numbers\"\nseed = 3\nsteps = 2\n[model]\n", model, "loss = \"",
                                    loss, "\"\n[data]\ndataset = \"npy\"\nbatch = 4\npath = \"",
                                    (folder_ / "data/").string(), "\"\n[optimizer]\nlr = 0.05\n"),
                            "numbers", "", {"job.arithmetic=" + arithmetic})
        .value();
  }

  // Between who has the false run and says that each of its values is none, and who is honest.
  auto dispute_of_perfect_items(const Made& false_run, const Made& honest, bool trainer_lies) {
    run::DisputeRequest both{side(false_run, kTrainerSeed), side(honest, 77), {}, {}};
    if (!trainer_lies) both = {side(honest, kTrainerSeed), side(false_run, 77), {}, {}};
    (trainer_lies ? both.trainer : *both.challenger).speaks = [](dispute::Witness& computed) {
      return std::make_unique<PerfectItems>(computed);
    };
    return run::dispute_runs(both);
  }

  // A sample that has a score of a metric is said to have none; each in a dispute of its own, by trainer and
  // challenger. Which metrics there were.
  std::vector<std::string> expect_each_metric_found(const train::Job& job) {
    const Made honest = make("honest", job);
    const auto names = train::metric_names(job.loss);
    for (size_t m = 0; m < names.size(); ++m) {
      SCOPED_TRACE(names[m]);
      uint64_t sample = 0;
      const Made made = make_scored("none", job, [&](train::SampleScores& s) {
        const auto zero = numerics::ExactTotal::of(0);
        while (sample + 1 < s.samples() && s.of_sample(sample)[m].sum == zero) ++sample;
        s.sums[sample * names.size() + m].sum = zero;
      });
      for (const bool trainer_lies : {true, false}) {
        const auto result = dispute_of_perfect_items(made, honest, trainer_lies);
        EXPECT_TRUE(result) << result.error().message;
        if (!result) continue;
        const Verdict& v = result->verdict;
        EXPECT_EQ(v.outcome, trainer_lies ? Outcome::kTrainerWrong : Outcome::kChallengerWrong) << v.reason;
        EXPECT_EQ(v.level, Level::kElement) << v.reason;
        EXPECT_EQ(v.sample, sample);
        EXPECT_EQ(v.metric, names[m]);
      }
      fs::remove_all(made.path);
    }
    fs::remove_all(honest.path);
    return names;
  }
};

TEST_F(DisputedEvaluations, AnInflatedOneIsFoundAtItsFirstSample) {
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const train::Job job = small_job({"job.arithmetic=" + arithmetic, "job.steps=4", "commit.every=3"});
    const Made honest = make("honest_" + arithmetic, job), inflated = make("inflated_" + arithmetic, job, "inflate", 4);
    const run::DisputeResult result = settle(inflated, honest);
    const Verdict& v = result.verdict;
    EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << v.reason;
    EXPECT_EQ(v.level, Level::kElement) << v.reason;
    EXPECT_EQ(v.sample, uint64_t{0});
    EXPECT_EQ(v.metric, "loss");
    EXPECT_EQ(v.value, "row_loss");
    EXPECT_EQ(v.op, "isobit.CrossEntropy");
    ASSERT_TRUE(v.element);
    EXPECT_EQ(v.element->trainer, 0U);
    EXPECT_EQ(v.element->right, v.element->challenger);
    EXPECT_LT(result.counts.bytes - result.counts.list_bytes, uint64_t{1} << 20);
    const Verdict turned = settle(honest, inflated).verdict;
    EXPECT_EQ(turned.outcome, Outcome::kChallengerWrong) << turned.reason;
    EXPECT_EQ(turned.sample, uint64_t{0});
  }
}

// Who made a false evaluation and answers honestly cannot lead to it.
TEST_F(DisputedEvaluations, HonestAnswersDoNotSaveAFalseOne) {
  const train::Job job = small_job({"job.steps=4", "evaluate.samples=200"});
  const Made honest = make("honest", job);
  Made inflated = make("inflated", job, "inflate", 4);
  inflated.conduct.reset();
  const Verdict v = settle(inflated, honest).verdict;
  EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << v.reason;
  EXPECT_EQ(v.level, Level::kSum) << v.reason;
}

// The scores of a few samples, anywhere among them, and a hit that was none.
TEST_F(DisputedEvaluations, AFalseScoreIsFoundAtItsSample) {
  const train::Job job = small_job({"job.steps=4", "evaluate.samples=300"});
  const Made honest = make("honest", job);
  for (const uint64_t sample : {1, 127, 128, 256, 299}) {
    for (const size_t metric : {0, 1, 2}) {
      SCOPED_TRACE(text_of(sample, " ", metric));
      const Made made = make_scored(text_of("false_", sample, "_", metric), job, [=](train::SampleScores& s) {
        MetricSum& sum = s.sums[sample * 3 + metric];
        sum.sum = numerics::ExactTotal::of(sum.sum == numerics::ExactTotal::of(1) ? 0 : 1);
      });
      const Verdict v = settle(made, honest).verdict;
      EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << v.reason;
      EXPECT_EQ(v.sample, sample);
      EXPECT_EQ(v.metric, (std::array{"loss", "top1", "top5"}[metric]));
      ASSERT_TRUE(v.element) << v.reason;
      EXPECT_EQ(v.element->right, v.element->challenger);
      EXPECT_EQ(settle(honest, made).verdict.outcome, Outcome::kChallengerWrong);
      fs::remove_all(made.path);
    }
  }
}

TEST_F(DisputedEvaluations, OtherCountsSamplesOrMetricsAreFoundWithoutAnyValue) {
  const train::Job job = small_job({"job.steps=4", "evaluate.samples=20"});
  const Made honest = make("honest", job);
  const Made counts = make_scored("counts", job, [](train::SampleScores& s) { s.sums[5 * 3 + 1].count = 2; });
  const Made fewer = make_scored("fewer", job, [](train::SampleScores& s) { s.sums.resize(3 * 10); });
  const Made none = make_scored("none", job, [](train::SampleScores& s) { s.sums.clear(); });
  const Made renamed = make_scored("renamed", job, [](train::SampleScores& s) { s.metrics[2] = "top9"; });
  for (const Made* made : {&counts, &fewer, &none, &renamed}) {
    const Verdict v = settle(*made, honest).verdict, turned = settle(honest, *made).verdict;
    EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << v.reason;
    EXPECT_EQ(v.level, made == &counts ? Level::kSum : Level::kRun) << v.reason;
    EXPECT_EQ(turned.outcome, Outcome::kChallengerWrong) << turned.reason;
    if (made == &counts) {
      EXPECT_EQ(v.sample, uint64_t{5});
      EXPECT_EQ(v.metric, "top1");
    }
  }
}

TEST_F(DisputedEvaluations, AFalseValueOfASampleIsFoundInItsNode) {
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const train::Job job = digits_job({"job.arithmetic=" + arithmetic, "job.steps=2", "evaluate.samples=9"});
    EXPECT_GE(expect_each_element_found(job, 8), 12U);
  }
}

// A sample of eight tokens: its loss is a sum.
TEST_F(DisputedEvaluations, AScoreOfManyValuesIsGoneDownToOne) {
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const train::Job job = gpt_job(arithmetic);
    const Made honest = make("honest_" + arithmetic, job), inflated = make("inflated_" + arithmetic, job, "inflate", 2);
    const Verdict sum = settle(inflated, honest).verdict;
    EXPECT_EQ(sum.outcome, Outcome::kTrainerWrong) << sum.reason;
    EXPECT_EQ(sum.level, Level::kSum) << sum.reason;
    EXPECT_EQ(sum.sample, uint64_t{0});
    EXPECT_EQ(settle(honest, inflated).verdict.outcome, Outcome::kChallengerWrong);
    // Who says that each of its values is none has a value that is false.
    for (const bool trainer_lies : {true, false}) {
      const auto result = dispute_of_perfect_items(inflated, honest, trainer_lies);
      ASSERT_TRUE(result) << result.error().message;
      const Verdict& v = result->verdict;
      EXPECT_EQ(v.outcome, trainer_lies ? Outcome::kTrainerWrong : Outcome::kChallengerWrong) << v.reason;
      EXPECT_EQ(v.level, Level::kElement) << v.reason;
      EXPECT_EQ(v.metric, "loss");
      EXPECT_EQ(v.value, "row_loss");
    }
  }
}

// Whatever a job learns by: the inference's values, and each metric where a score is said to be none.
TEST_F(DisputedEvaluations, OfEveryLoss) {
  write_numbers();
  std::set<std::string> metrics;
  for (const std::string loss : {"mse", "l1", "huber", "bce-with-logits"}) {
    for (const std::string arithmetic : kArithmetics) {
      SCOPED_TRACE(text_of(loss, " ", arithmetic));
      const train::Job job = numbers_job("builder = \"logistic\"\n", loss, arithmetic);
      EXPECT_GE(expect_each_element_found(job, 2), 3U);
      for (const std::string& name : expect_each_metric_found(job)) metrics.insert(name);
    }
  }
  EXPECT_EQ(metrics, (std::set<std::string>{"accuracy", "loss", "mae", "mse"}));
}

TEST_F(DisputedEvaluations, OfALossThatTheNetworkComputes) {
  write_numbers();
  onnx::ModelForTest m(13);
  m.input("x", {-1, 4}).input("t", {-1, 3});
  const std::array<float, 12> weights = {0.5F, -0.25F, 0.125F, 1, -0.75F, 0.375F, -1, 0.625F, 0.25F, -0.5F, 2, -0.125F};
  m.initializer("w", Tensor::of<float>({4, 3}, weights));
  m.node("MatMul", {"x", "w"}, {"o"});
  m.node("Sub", {"o", "t"}, {"d"});
  m.node("Mul", {"d", "d"}, {"e"});
  m.node("ReduceMean", {"e"}, {"own"}).with("keepdims", 0);
  m.output("own");
  run::testing::write_model(folder_ / "m.onnx", m);
  const std::string model = text_of("onnx = \"", (folder_ / "m.onnx").string(), "\"\n");
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const train::Job job = numbers_job(model, "output", arithmetic);
    EXPECT_GE(expect_each_element_found(job, 2), 6U);
    EXPECT_EQ(expect_each_metric_found(job), std::vector<std::string>{"loss"});
  }
}

// What a network from a file makes of a batch may be another network for each size: the one that scored is disputed.
TEST_F(DisputedEvaluations, OfANetworkFromAFile) {
  run::testing::write_model(folder_ / "m.onnx", run::testing::small_mlp());
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const train::Job job =
        train::parse_job(
            text_of("[job]\nname = \"mlp\"\nseed = 3\nsteps = 2\n[model]\nonnx = \"", (folder_ / "m.onnx").string(),
                    "\"\nfreeze = [\"a.bias\"]\n[data]\ndataset = \"digits\"\nbatch = 8\n[optimizer]\n",
                    "lr = 0.05\nmomentum = 0.9\n[evaluate]\nsamples = 40\n"),
            "mlp", "", {"job.arithmetic=" + arithmetic})
            .value();
    EXPECT_GE(expect_each_element_found(job, 37), 6U);
  }
}

// One party plays many games at a time, and each of them may have come to another sample.
TEST_F(DisputedEvaluations, GamesOfOtherSamplesKeepTheirOwn) {
  using dispute::Kind;
  const Made honest = make("honest", small_job({"job.steps=4", "evaluate.samples=20"}));
  const run::DisputeSide of = side(honest, kTrainerSeed);
  const auto witness = run::RunWitness::open(of.open, of.platform, {}).value();
  const dispute::Subject subject = run::dispute_subject(witness->session().job, witness->reader().engagement());
  const auto new_player = [&] {
    return dispute::Player(subject, witness->session().parts, dispute::Party::kTrainer, *witness,
                           &witness->reader().transcript(), *of.key, witness->engine().pool());
  };
  const auto asked = [](Kind kind, uint64_t sample, uint64_t entry = 0) {
    dispute::Question q;
    q.kind = kind;
    q.of_evaluation = true;
    q.sample = sample;
    q.entry = entry;
    q.part = {0, 1};
    return q;
  };
  const auto said = [](dispute::Player& player, const dispute::Question& q) {
    const auto body = player.answer(q);
    EXPECT_TRUE(body) << body.error().message;
    return body ? dispute::encode(*body) : Bytes();
  };
  dispute::Player alone = new_player();
  const Bytes values = said(alone, asked(Kind::kValues, 0)), leaf = said(alone, asked(Kind::kLeaf, 0));
  dispute::Player first = new_player(), second = new_player();
  said(first, asked(Kind::kGraph, 0));
  EXPECT_NE(said(second, asked(Kind::kValues, 1)), values);
  EXPECT_EQ(said(first, asked(Kind::kValues, 0)), values);
  EXPECT_NE(said(second, asked(Kind::kLeaf, 1)), leaf);
  EXPECT_EQ(said(first, asked(Kind::kLeaf, 0)), leaf);
  // A game goes to one sample, and to one value of it.
  EXPECT_FALSE(first.answer(asked(Kind::kValues, 1)));
  EXPECT_FALSE(first.answer(asked(Kind::kLeaf, 0, 1)));
}

// ... or to a step, which takes other states than the last one.
TEST_F(DisputedEvaluations, AGameAboutAStepLeavesTheStateThatIsScored) {
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const Made honest =
        make("honest_" + arithmetic, small_job({"job.arithmetic=" + arithmetic, "job.steps=4", "evaluate.samples=20"}));
    const run::DisputeSide of = side(honest, kTrainerSeed);
    const auto witness = run::RunWitness::open(of.open, of.platform, {}).value();
    const auto roots = [&] { return witness->scored(3).value()->roots(0).value(); };
    const auto before = roots();
    ASSERT_TRUE(witness->roots(2));
    EXPECT_TRUE(roots() == before);
    ASSERT_TRUE(witness->values(1, {0}));
    EXPECT_TRUE(roots() == before);
  }
}

}  // namespace
}  // namespace isobit::adversary
