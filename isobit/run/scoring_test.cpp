// The evaluation after the last step: what it needs is there before the first, and a training outlives one that fails.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "isobit/run/network.h"
#include "isobit/run/onnx_for_test.h"
#include "isobit/run/price.h"
#include "isobit/train/check_evaluation.h"

namespace isobit::run {
namespace {

using testing::Folder;
using testing::model_path;
using testing::npy_path;
using testing::train_request;

// Four samples to train on and `tests` to score, of three tokens below 5 each; one of the test has token 9.
void write_tokens(const fs::path& folder, int64_t tests, int64_t bad) {
  fs::create_directories(folder);
  for (const std::string prefix : {"", "test_"}) {
    const int64_t n = prefix.empty() ? 4 : tests;
    Tensor inputs(DType::kInt64, {n, 3}), labels(DType::kInt64, {n});
    for (int64_t i = 0; i < 3 * n; ++i) inputs.data<int64_t>()[i] = i % 5;
    for (int64_t i = 0; i < n; ++i) labels.data<int64_t>()[i] = i % 3;
    if (!prefix.empty() && bad >= 0) inputs.data<int64_t>()[3 * bad + 1] = 9;
    ISOBIT_CHECK(formats::write_npy(folder / (prefix + "inputs.npy"), inputs).has_value());
    ISOBIT_CHECK(formats::write_npy(folder / (prefix + "labels.npy"), labels).has_value());
  }
}

// The mean of three rows of a table of 5, as 3 scores.
onnx::ModelForTest embedding(int64_t batch = -1) {
  onnx::ModelForTest m(17);
  m.input("x", {batch, 3}, onnx::kInt64);
  m.initializer("table", onnx::floats({5, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  m.node("Gather", {"table", "x"}, {"rows"}).named("rows");
  m.node("ReduceMean", {"rows"}, {"scores"}).with("axes", std::vector<int64_t>{1}).with("keepdims", 0);
  m.output("scores");
  return m;
}

train::Job job_in(const Folder& folder, const std::vector<std::string>& more = {}) {
  std::vector<std::string> set = {npy_path(folder / "data"), "model.builder=onnx", model_path(folder / "m.onnx")};
  set.insert(set.end(), more.begin(), more.end());
  return testing::npy_job(set);
}

std::string refusal(const train::Job& job, Purpose purpose = Purpose::kTrain) {
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto session = open_session(job, engine, {}, purpose);
  return session ? "accepted" : session.error().message;
}

TEST(Scoring, ATestSampleThatTheNetworkCannotComputeIsNamedBeforeTheFirstStep) {
  const Folder folder("scoring_token");
  testing::write_model(folder / "m.onnx", embedding());
  write_tokens(folder / "data", 40, 37);  // in the second batch, the smaller one
  const train::Job job = job_in(folder);
  const std::string said = refusal(job);
  EXPECT_NE(said.find("test sample 37: node 'rows': index 1 is 9, expected less than 5"), std::string::npos) << said;
  EXPECT_FALSE(price_job(job, platform::parse_platform("ordered/1t").value(), {}, [] { return 0.0; }));
  EXPECT_FALSE(train_run(train_request(folder / "run", job)));
  EXPECT_FALSE(fs::exists(folder / "run")) << "nothing has begun";
  EXPECT_EQ(refusal(job_in(folder, {"evaluate.samples=37"})), "accepted") << "it is not scored";
  EXPECT_EQ(refusal(job, Purpose::kAudit), "accepted") << "an audit finds out for itself";
  write_tokens(folder / "data", 40, -1);
  EXPECT_EQ(refusal(job), "accepted");
}

TEST(Scoring, AFixedBatchNeedsAsManyTestSamples) {
  const Folder folder("scoring_fixed");
  testing::write_model(folder / "m.onnx", embedding(2));
  write_tokens(folder / "data", 1, -1);
  EXPECT_NE(refusal(job_in(folder)).find("batches of 2 samples and no other, and 1 test samples"), std::string::npos);
  write_tokens(folder / "data", 3, 2);  // scored with sample 1, which was scored before
  EXPECT_NE(refusal(job_in(folder)).find("test sample 2: node 'rows'"), std::string::npos);
}

// What it does not take: batches of 8.
class Narrow : public models::Network {
 public:
  explicit Narrow(std::shared_ptr<const models::Network> network) : network_(std::move(network)) {}
  Expected<models::Model> build(const models::ModelConfig& config) const override {
    if (config.batch == 8) return unreadable("no batches of 8");
    return network_->build(config);
  }
  Expected<std::vector<NamedTensor>> given_values() const override { return network_->given_values(); }
  uint64_t given_bytes() const override { return network_->given_bytes(); }

 private:
  std::shared_ptr<const models::Network> network_;
};

TEST(Scoring, TheGraphOfEveryBatchIsBuilt) {
  const Folder folder("scoring_batches");
  testing::write_model(folder / "m.onnx", embedding());
  write_tokens(folder / "data", 40, -1);  // 32 and 8
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto said = [&](const train::Job& job) {
    const Narrow network(open_network(job, {}).value());
    const auto dataset = data::open_dataset(job.data).value();
    const Status checked =
        train::check_evaluation(job, *dataset, network.given_values().value(), engine, backends::native(), network);
    return checked ? "accepted" : checked.error().message;
  };
  EXPECT_EQ(said(job_in(folder)), "no batches of 8");
  EXPECT_EQ(said(job_in(folder, {"evaluate.samples=39"})), "accepted");
}

std::string text_of_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Scoring, WhatWasTrainedOutlivesAnEvaluationThatFails) {
  const Folder folder("scoring_fails");
  for (const std::string arithmetic : {"ordered-1", "logged-1"}) {
    SCOPED_TRACE(arithmetic);
    const train::Job job = testing::small_job({"job.arithmetic=" + arithmetic, "checkpoint.every=0"});
    const auto whole = train_run(train_request(folder / (arithmetic + ".whole"), job));
    ASSERT_TRUE(whole) << whole.error().message;
    TrainRequest request = train_request(folder / (arithmetic + ".run"), job);
    request.metrics = folder / (arithmetic + ".jsonl");
    request.conduct.evaluate = [](train::Trainer&) -> Expected<train::SampleScores> { return unavailable("no disk"); };
    const auto failed = train_run(request);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(failed.error().message.find("--resume scores it again"), std::string::npos) << failed.error().message;
    request.conduct.evaluate = score;
    request.conduct.step = [](train::Trainer&, runtime::RunOptions) -> Expected<train::StepResult> {
      return unavailable("no step is taken");
    };
    const auto done = resume_run(request);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->final_state_root, whole->final_state_root);
    EXPECT_EQ(done->evaluation.tree, whole->evaluation.tree);
    EXPECT_EQ(done->final_loss, whole->final_loss);
    const std::string lines = text_of_file(request.metrics);
    EXPECT_EQ(std::ranges::count(lines, '\n'), 12);
    EXPECT_NE(lines.find("{\"step\":12,"), std::string::npos);
    EXPECT_NE(lines.rfind("\"test_top1\":"), std::string::npos) << lines;
    EXPECT_TRUE(audit_run(testing::audit_request(folder / (arithmetic + ".run")))->verdict.accepted());
  }
}

}  // namespace
}  // namespace isobit::run
