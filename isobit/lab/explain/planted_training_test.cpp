// Causes that a test has planted in trainings: powf in the bias correction of Adam.
#include <fstream>

#include "isobit/lab/explain/planted_case_for_test.h"
#include "isobit/lab/measure/training_worker.h"
#include "isobit/run/job_file.h"
#include "isobit/run/job_root.h"

namespace isobit::lab::explain {
namespace {

using testing::Case;
using testing::PlantedBackend;
using testing::PlantedCause;
using testing::Seen;

class PlantedTrainingTest : public PlantedCause {
 protected:
  void begin_training(const std::string& text) {
    request_.replay.inference.model = folder_ / "job.toml";
    std::ofstream(request_.replay.inference.model) << text;
    const auto training = measure::open_training(request_.replay.inference.model, {}, kSteps, {}).value();
    subject_ = training.subject;
    nodes_ = training.nodes;
    runs_.clear();
    request_.replay.own.clear();
  }
  void train(const std::string& name, backends::Backend& backend) {
    const platform::Platform p = platform::parse_platform("ordered@portable/1t").value();
    if (&backend != &backends::native()) request_.replay.own[name] = {p, "", &backend};
    platform::Engine engine(p);
    const train::Job job = run::load_job(request_.replay.inference.model.string(), {}, {}).value();
    const run::Session session = run::open_session(job, engine, {}).value();
    const auto trainer = train::Trainer::create(session.job, session.dataset, engine, backend, session.network).value();
    records::RunRecord run;
    run.subject = subject_;
    run.platform = {name, "ordered", {}, {}, 0};
    run.tapped = true;
    for (int64_t step = 1; step <= kSteps; ++step) {
      Seen seen(step, run.values, nullptr);
      ASSERT_TRUE(trainer->advance({.observer = &seen}).has_value());
    }
    run.values.back().is_output = true;
    runs_.push_back(std::move(run));
  }
  static constexpr int64_t kSteps = 2;
};

constexpr const char* kAdamJob = R"([job]
name = "planted"
seed = 5
steps = 4
arithmetic = "ordered-1"
[model]
builder = "digits-cnn"
[data]
dataset = "digits"
batch = 8
[optimizer]
name = "adam"
lr = 0.001
)";

TEST_F(PlantedTrainingTest, InTheBiasCorrectionOfAdam) {
  begin_training(kAdamJob);
  std::vector<std::string> updates;
  for (const auto& n : nodes_) {
    if (n.op.ends_with("Adam")) updates.push_back(n.outputs[0]);
  }
  ASSERT_GE(updates.size(), 4u);
  for (const std::string& value : updates) {
    const Case c{Kind::kBiasCorrection, value, {}, testing::bias_correction_in_float()};
    SCOPED_TRACE(value);
    begin_training(kAdamJob);
    PlantedBackend planted(value, c.planted);
    train("ordered@portable/1t", backends::native());
    train("another/1t", planted);
    look();
    expect_blamed(c);
    EXPECT_EQ(explanation_.trace.values[explanation_.forks[causes_.replays.forks[0].fork].value].step, 1);
  }
}

TEST_F(PlantedTrainingTest, NothingIsBlamedInEqualTrainings) {
  begin_training(kAdamJob);
  PlantedBackend innocent(nodes_.back().outputs[0], [](auto& call, const auto& run) { return run(call); });
  train("ordered@portable/1t", backends::native());
  train("another/1t", innocent);
  look();
  EXPECT_TRUE(explanation_.forks.empty());
  EXPECT_TRUE(causes_.diagnoses.empty());
}

// What nobody looks for is not called by the name of something else.
TEST_F(PlantedTrainingTest, AnotherChangeOfAnUpdateIsNotTakenForIt) {
  begin_training(kAdamJob);
  std::string value;
  for (const auto& n : nodes_) {
    if (n.op.ends_with("Adam")) value = n.outputs[0];
  }
  PlantedBackend planted(value, testing::one_ulp_off());
  train("ordered@portable/1t", backends::native());
  train("another/1t", planted);
  look();
  EXPECT_EQ(introduced(), std::set<std::string>{value});
  ASSERT_EQ(causes_.diagnoses.size(), 1u);
  EXPECT_EQ(causes_.diagnoses[0].diagnosis.kind, Kind::kUnknown) << said();
}

// Records may be anybody's.
TEST_F(PlantedTrainingTest, StepsThatTheJobDoesNotHaveAreNotTrained) {
  begin_training(kAdamJob);
  PlantedBackend planted(nodes_.back().outputs[0], testing::one_ulp_off());
  train("ordered@portable/1t", backends::native());
  train("another/1t", planted);
  for (records::RunRecord& run : runs_) {
    for (records::ValueRecord& value : run.values) value.step += int64_t{1} << 40;
  }
  look();
  EXPECT_NE(causes_.replays.problem.find("and the job has 4"), std::string::npos) << causes_.replays.problem;
}

TEST_F(PlantedTrainingTest, AnotherJobIsRefused) {
  begin_training(kAdamJob);
  std::string value = nodes_.back().outputs[0];
  PlantedBackend planted(value, testing::one_ulp_off());
  train("ordered@portable/1t", backends::native());
  train("another/1t", planted);
  request_.overrides = {"job.seed=6"};
  const auto none = [](const records::Hash128&) -> Expected<std::optional<Bytes>> { return std::optional<Bytes>(); };
  explanation_ = explain(subject_, runs_, nodes_, none).value();
  const auto refused = find_causes(explanation_, none, request_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage) << refused.error().message;
}

}  // namespace
}  // namespace isobit::lab::explain
