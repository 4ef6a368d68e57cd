// The file of metrics: its lines, what resuming keeps of it, and that watching a training changes nothing of it.
#include "isobit/run/metrics_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "isobit/run/job_digest.h"
#include "isobit/run/job_file.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;
using testing::small_job;
using testing::train_request;

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::istringstream text(text_of_file(path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

StepMetrics step_metrics(int64_t step) { return {step, 0.25, 1.5f, 0.1, 0, 0, {}}; }

TEST(MetricsFile, LinesAreObjects) {
  StepMetrics m = step_metrics(7);
  EXPECT_EQ(line_of(m), "{\"step\":7,\"epoch\":0.25,\"loss\":1.5,\"lr\":0.1}\n");
  m.loss = std::numeric_limits<float>::quiet_NaN();
  m.seconds = 0.5;
  m.samples_per_second = 64;
  train::MetricSum sum;
  for (const float x : {0.5f, 1.0f}) {
    sum.sum.add(x);
    ++sum.count;
  }
  m.scores = Scores{2, {{"loss", sum}, {"mae", sum}}};
  EXPECT_EQ(line_of(m),
            "{\"step\":7,\"epoch\":0.25,\"loss\":null,\"lr\":0.1,\"seconds\":0.5,\"samples_per_second\":64,"
            "\"test_samples\":2,\"test_loss\":0.75,\"test_mae\":0.75}\n");
}

TEST(MetricsFile, ResumingKeepsTheLinesBefore) {
  const Folder folder("metrics");
  const fs::path path = folder / "m.jsonl";
  {
    auto file = MetricsFile::begin(path);
    ASSERT_TRUE(file) << file.error().message;
    for (int64_t t = 1; t <= 9; ++t) ASSERT_TRUE(file->append(step_metrics(t)));
  }
  write(folder / "torn", text_of_file(path) + "{\"step\":10,\"epo");
  for (const char* name : {"m.jsonl", "torn"}) {
    auto file = MetricsFile::go_on(folder / name, 4);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(lines_of(folder / name).size(), 4u);
    ASSERT_TRUE(file->append(step_metrics(5)));
    const auto lines = lines_of(folder / name);
    ASSERT_EQ(lines.size(), 5u);
    for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(lines[i].starts_with(text_of("{\"step\":", i + 1, ","))) << lines[i];
  }
  ASSERT_TRUE(MetricsFile::go_on(path, 0));
  EXPECT_EQ(text_of_file(path), "");
  ASSERT_TRUE(MetricsFile::go_on(folder / "none", 4));
  EXPECT_TRUE(fs::exists(folder / "none"));
}

// A name that was mistyped must not cost a file.
TEST(MetricsFile, OtherFilesAreLeftAsTheyAre) {
  const Folder folder("metrics_other");
  const std::string line = "{\"step\":1,\"epoch\":0.25,\"loss\":1.5,\"lr\":0.1}\n";
  for (const std::string& text :
       {std::string("alias ls='ls -l'\n"), std::string("the only copy of it"), line + "and a line", line + "steps\n",
        "[" + line, std::string("{\"steps\":3}\n"), std::string("{\"step\":1\n"), std::string(5000, '{'),
        std::string("\n"), std::string("{\"step\":1.5}\n")}) {
    write(folder / "other", text);
    const auto refused = MetricsFile::go_on(folder / "other", 4);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
    EXPECT_EQ(text_of_file(folder / "other"), text);
    EXPECT_EQ(MetricsFile::begin(folder / "other").error().code, ErrorCode::kUsage);
    EXPECT_EQ(text_of_file(folder / "other"), text);
  }
  fs::create_symlink(folder / "other", folder / "link");
  EXPECT_FALSE(MetricsFile::begin(folder / "link"));
  EXPECT_FALSE(MetricsFile::go_on(folder / "link", 4));
  EXPECT_FALSE(MetricsFile::begin(folder / "no_folder/m"));
}

// Whatever is watched, the transcript stays.
TEST(Metrics, WatchingATrainingChangesNothingOfIt) {
  const Folder folder("watched");
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    const std::string set = text_of("job.arithmetic=", arithmetic), name = arithmetic;
    const auto plain = train_run(train_request(folder / (name + ".plain"), small_job({set}))).value();
    TrainRequest watched = train_request(folder / (name + ".watched"), small_job({set, "evaluate.every=5"}));
    watched.metrics = folder / (name + ".jsonl");
    std::vector<int64_t> scored;
    watched.progress = [&](const TrainProgress& p) {
      if (!p.scores) return;
      scored.push_back(p.step);
      EXPECT_EQ(p.scores->samples, 360u);
    };
    const auto seen = train_run(watched);
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->transcript_root, plain.transcript_root);
    EXPECT_EQ(seen->job_root, plain.job_root);
    EXPECT_EQ(seen->repairs.elements, plain.repairs.elements);
    EXPECT_EQ(scored, (std::vector<int64_t>{5, 10}));
    const auto lines = lines_of(watched.metrics);
    ASSERT_EQ(lines.size(), 12u);
    for (size_t i = 0; i < lines.size(); ++i) {
      EXPECT_TRUE(lines[i].starts_with(text_of("{\"step\":", i + 1, ",\"epoch\":"))) << lines[i];
      EXPECT_EQ(lines[i].find("test_loss") != std::string::npos, i == 4 || i == 9 || i == 11) << lines[i];
    }
    EXPECT_TRUE(audit_run(audit_request(watched.out))->verdict.accepted());
  }
}

TEST(Metrics, AResumedRunWritesEveryStepOnce) {
  const Folder folder("resumed_metrics");
  TrainRequest whole = train_request(folder / "whole", small_job({"evaluate.every=3"}));
  whole.metrics = folder / "whole.jsonl";
  ASSERT_TRUE(train_run(whole));
  // Stops after step 7; its newest checkpoint is of step 7, then of step 4.
  for (const bool lost : {false, true}) {
    const std::string name = lost ? "lost" : "kept";
    TrainRequest request = train_request(folder / name, small_job({"evaluate.every=3"}));
    request.metrics = folder / (name + ".jsonl");
    std::atomic<bool> stop = false;
    request.stop = &stop;
    request.progress = [&](const TrainProgress& p) { stop = p.step == 7; };
    ASSERT_FALSE(train_run(request)->finished);
    EXPECT_EQ(lines_of(request.metrics).size(), 7u);
    if (lost) {
      ASSERT_TRUE(fs::remove(folder / name / "checkpoints/step-7.safetensors"));
    }
    stop = false;
    request.progress = nullptr;
    const auto done = resume_run(request);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->first_step, lost ? 4 : 7);
    EXPECT_EQ(text_of_file(request.metrics), text_of_file(whole.metrics));
  }
}

// A checkpoint is what a run goes on from: whatever is cut short before it is done again, a step's line and scores with
// it.
TEST(Metrics, WhatIsCutShortWhileItIsScoredLosesNoStep) {
  const Folder folder("cut_metrics");
  TrainRequest request = train_request(folder / "cut", small_job({"evaluate.every=4"}));
  request.metrics = folder / "cut.jsonl";
  for (const int64_t last : {4, 8}) {
    request.conduct.evaluate = [&](train::Trainer& trainer) -> Expected<train::SampleScores> {
      if (trainer.step() == last) return unavailable("cut short");
      return score(trainer);
    };
    const auto cut = last == 4 ? train_run(request) : resume_run(request);
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().message, "cut short");
    EXPECT_EQ(lines_of(request.metrics).size(), static_cast<size_t>(last) - 1);
  }
  request.conduct = {};
  ASSERT_TRUE(resume_run(request));
  const auto lines = lines_of(request.metrics);
  ASSERT_EQ(lines.size(), 12u);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].starts_with(text_of("{\"step\":", i + 1, ","))) << lines[i];
    EXPECT_EQ(lines[i].find("test_loss") != std::string::npos, i % 4 == 3) << lines[i];
  }
}

TEST(Metrics, LieOutsideOfRuns) {
  const Folder folder("metrics_place");
  TrainRequest request = train_request(folder / "run", small_job());
  request.metrics = folder / "run/m.jsonl";
  EXPECT_EQ(train_run(request).error().code, ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(folder / "run"));
  request.metrics.clear();
  ASSERT_TRUE(train_run(request));
  EXPECT_EQ(MetricsFile::begin(folder / "run/m.jsonl").error().code, ErrorCode::kUsage);
  EXPECT_EQ(MetricsFile::go_on(folder / "run/log/../m.jsonl", 1).error().code, ErrorCode::kUsage);
}

// By the length in epochs the same job as by the length in steps, to the last byte that is signed.
TEST(JobFile, EpochsComeToTheSameJob) {
  const Folder folder("epochs");
  const std::string rest =
      "[model]\nbuilder = \"logistic\"\n[data]\ndataset = \"digits\"\nbatch = 100\n[optimizer]\nlr = 0.1\n";
  write(folder / "epochs.toml", "[job]\nepochs = 2\n" + rest);
  write(folder / "steps.toml", "[job]\nsteps = 29\n" + rest);  // 2 * 1437 / 100 = 28.7
  const auto by_epochs = load_job((folder / "epochs.toml").string(), {}, {});
  ASSERT_TRUE(by_epochs) << by_epochs.error().message;
  const train::Job by_steps = load_job((folder / "steps.toml").string(), {}, {}).value();
  EXPECT_EQ(job_digest(*by_epochs), job_digest(by_steps));
  const auto a = train_run(train_request(folder / "a", *by_epochs)).value();
  const auto b = train_run(train_request(folder / "b", by_steps)).value();
  EXPECT_EQ(a.job_root, b.job_root);
  EXPECT_EQ(a.transcript_root, b.transcript_root);
  EXPECT_EQ(text_of_file(folder / "a/job.toml"), text_of_file(folder / "b/job.toml"));
}

// The library takes jobs in steps; what a stranger wrote in epochs is no run's job.
TEST(JobFile, ARunsJobIsInSteps) {
  const Folder folder("epochs_refused");
  train::Job job = small_job();
  job.epochs = 2;
  const auto refused = train_run(train_request(folder / "run", job));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
  EXPECT_FALSE(fs::exists(folder / "run"));
}

}  // namespace
}  // namespace isobit::run
