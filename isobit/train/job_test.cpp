#include "isobit/train/job.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/base/text.h"

namespace isobit::train {
namespace {

constexpr char kSmall[] = R"(
[job]
name = "t"
seed = 3
steps = 100
[model]
builder = "digits-cnn"
[data]
dataset = "digits"
batch = 8
[optimizer]
name = "sgd"
lr = 0.1
momentum = 0.9
[schedule]
name = "cosine"
warmup = 10
)";

Expected<Job> parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_job(text, "job.toml", "", overrides);
}

// Job files that were read once are read for ever.
// A shell variable that was never set is no default.
TEST(Job, ASettingWithoutAValueIsRefused) {
  const auto refused = parse_job("", "job", "", {"optimizer.name="});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_NE(refused.error().message.find("--set optimizer.name=: has no value"), std::string::npos);
}

TEST(Job, AnEmptyChoiceIsTheDefault) {
  const std::vector<std::string> base = {"model.builder=\"resnet\"", "job.arithmetic=logged-1"};
  const std::string plain = job_to_toml(parse(kSmall, base).value());
  for (const char* field : {"optimizer.name", "model.running_variance", "rounding.log", "rounding.bound"}) {
    std::vector<std::string> overrides = base;
    overrides.push_back(text_of(field, "=\"\""));
    const auto job = parse(kSmall, overrides);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job_to_toml(*job), plain) << field;
  }
  const auto constant = parse(kSmall, {"schedule.name=\"\""});
  ASSERT_TRUE(constant) << constant.error().message;
  EXPECT_EQ(constant->schedule, Schedule::kConstant);
}

TEST(Job, ReadsAndWritesBack) {
  const Job job = parse(kSmall).value();
  EXPECT_EQ(job.steps, 100);
  EXPECT_EQ(job.commit_every, 1);
  EXPECT_EQ(job.optimizer, Optimizer::kSgd);
  const Job again = parse(job_to_toml(job)).value();
  EXPECT_EQ(canonical_job_bytes(job), canonical_job_bytes(again));
}

TEST(Job, EveryFieldThatFixesTheResultChangesTheBytesAndNoOther) {
  const Bytes base = canonical_job_bytes(parse(kSmall).value());
  for (const char* set :
       {"job.name=u", "job.seed=4", "job.steps=101", "model.builder=mnist-cnn", "data.batch=9",
        "data.augment=[\"crop\"]", "optimizer.lr=0.2", "optimizer.momentum=0.8", "optimizer.nesterov=true",
        "optimizer.weight_decay=0.1", "optimizer.clip_norm=1", "optimizer.name=adam", "schedule.warmup=11",
        "schedule.name=constant", "schedule.min_lr=0.01", "commit.every=2", "evaluate.samples=7"}) {
    std::vector<std::string> overrides = {set};
    if (std::string(set) == "optimizer.name=adam") {
      std::string text = kSmall;
      text.erase(text.find("momentum = 0.9"), 14);
      EXPECT_NE(canonical_job_bytes(parse(text, overrides).value()), base) << set;
      continue;
    }
    EXPECT_NE(canonical_job_bytes(parse(kSmall, overrides).value()), base) << set;
  }
  for (const char* set : {"checkpoint.every=5", "checkpoint.keep=1", "data.path=\"\""}) {
    EXPECT_EQ(canonical_job_bytes(parse(kSmall, {set}).value()), base) << set;
  }
}

TEST(Job, DoublesSurviveTheRoundTrip) {
  Job job = parse(kSmall).value();
  for (double lr : {0.1, 1.0 / 3, 5e-324, 1e-5, 123456.789012345}) {
    job.lr = lr;
    EXPECT_EQ(parse(job_to_toml(job)).value().lr, lr);
  }
}

TEST(Job, ErrorsNameFileLineAndKeyAndSuggest) {
  auto message = [](const std::string& from, const std::string& to) {
    std::string text = kSmall;
    text.replace(text.find(from), from.size(), to);
    const auto job = parse(text);
    EXPECT_FALSE(job);
    return job ? std::string() : job.error().message;
  };
  EXPECT_NE(message("momentum", "momentun").find("did you mean 'momentum'"), std::string::npos);
  EXPECT_NE(message("[optimizer]", "[optimiser]").find("did you mean [optimizer]"), std::string::npos);
  EXPECT_NE(message("lr = 0.1", "lr = 'fast'").find("optimizer.lr"), std::string::npos);
  EXPECT_NE(message("lr = 0.1", "lr = nan").find("optimizer.lr"), std::string::npos);
  EXPECT_NE(message("steps = 100", "steps = 0").find("expected 1 to"), std::string::npos);
  EXPECT_NE(message("steps = 100", "steps = 99999999999999999999").find("job.toml:"), std::string::npos);
  EXPECT_NE(message("steps = 100", "steps = 1.5").find("whole number"), std::string::npos);
  EXPECT_NE(message("[model]", "[model").find("job.toml:"), std::string::npos);
  EXPECT_NE(message("\"cosine\"", "\"cosin\"").find("constant, step or cosine"), std::string::npos);
  EXPECT_NE(message("warmup = 10", "warmup = 100").find("less than job.steps"), std::string::npos);
  EXPECT_NE(message("steps = 100", "steps = 100\narithmetic = \"fast\"").find("ordered-1"), std::string::npos);
  for (const char* name : {"\"../x\"", "\"\"", "\"a/b\"", "\".hidden\""}) {
    EXPECT_NE(message("name = \"t\"", text_of("name = ", name)).find("job.name"), std::string::npos) << name;
  }
  EXPECT_EQ(parse(kSmall, {"steps=4"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(parse(kSmall, {"job.steps"}).error().code, ErrorCode::kUsage);
}

TEST(Job, ABoundByProofTakesNoMeasurement) {
  const std::vector<std::string> sound = {"job.arithmetic=logged-1", "rounding.bound=sound"};
  const Job job = parse(kSmall, sound).value();
  EXPECT_EQ(canonical_job_bytes(parse(job_to_toml(job)).value()), canonical_job_bytes(job));
  for (const std::string key : {"divergence = 32", "divergences = { Conv = 8 }"}) {
    const std::string text = kSmall + ("[rounding]\n" + key);
    ASSERT_TRUE(parse(text, {"job.arithmetic=logged-1"})) << key;
    const auto refused = parse(text, sound);
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
    const std::string &message = refused.error().message, field = key.substr(0, key.find(' '));
    EXPECT_TRUE(message.starts_with("job.toml:19: rounding." + field + ": found a value, expected none")) << message;
  }
}

TEST(LearningRate, FollowsItsFormulas) {
  Job job = parse(kSmall).value();
  EXPECT_DOUBLE_EQ(learning_rate(job, 0), 0.01);
  EXPECT_DOUBLE_EQ(learning_rate(job, 9), 0.1);
  for (int64_t t = 10; t < 100; ++t) {
    EXPECT_NEAR(learning_rate(job, t), 0.05 * (1 + std::cos(M_PI * static_cast<double>(t - 10) / 90)), 1e-8);
  }
  job.schedule = Schedule::kStep;
  job.decay_every = 30;
  job.decay_factor = 0.5;
  EXPECT_EQ(learning_rate(job, 39), 0.1);
  EXPECT_EQ(learning_rate(job, 40), 0.05);
  EXPECT_EQ(learning_rate(job, 99), 0.025);
  job.schedule = Schedule::kConstant;
  EXPECT_EQ(learning_rate(job, 99), 0.1);
}

}  // namespace
}  // namespace isobit::train
