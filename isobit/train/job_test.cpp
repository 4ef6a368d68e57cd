#include "isobit/train/job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "isobit/base/file.h"
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
  for (const char* set : {"job.name=u",
                          "job.seed=4",
                          "job.steps=101",
                          "model.builder=mnist-cnn",
                          "data.batch=9",
                          "data.augment=[\"crop\"]",
                          "optimizer.lr=0.2",
                          "optimizer.momentum=0.8",
                          "optimizer.nesterov=true",
                          "optimizer.weight_decay=0.1",
                          "optimizer.clip_norm=1",
                          "optimizer.name=adam",
                          "schedule.warmup=11",
                          "schedule.name=constant",
                          "schedule.name=linear",
                          "schedule.min_lr=0.01",
                          "model.loss=mse",
                          "model.label_smoothing=0.1",
                          "model.freeze=[\"conv1.*\"]",
                          "commit.every=2",
                          "evaluate.samples=7",
                          "data.micro_batches=2",
                          "optimizer.group=[{match='*'}]"}) {
    std::vector<std::string> overrides = {set};
    if (std::string(set) == "optimizer.name=adam") {
      std::string text = kSmall;
      text.erase(text.find("momentum = 0.9"), 14);
      EXPECT_NE(canonical_job_bytes(parse(text, overrides).value()), base) << set;
      continue;
    }
    EXPECT_NE(canonical_job_bytes(parse(kSmall, overrides).value()), base) << set;
  }
  for (const char* set : {"checkpoint.every=5", "checkpoint.keep=1", "data.path=\"\"", "data.micro_batches=1",
                          "optimizer.group=[]", "evaluate.every=10", "model.weights=/w"}) {
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
  EXPECT_NE(message("\"cosine\"", "\"cosin\"").find("constant, step, cosine or linear"), std::string::npos);
  EXPECT_NE(message("warmup = 10", "warmup = 100").find("less than job.steps"), std::string::npos);
  EXPECT_NE(message("steps = 100", "steps = 100\narithmetic = \"fast\"").find("ordered-1"), std::string::npos);
  for (const char* name : {"\"../x\"", "\"\"", "\"a/b\"", "\".hidden\""}) {
    EXPECT_NE(message("name = \"t\"", text_of("name = ", name)).find("job.name"), std::string::npos) << name;
  }
  EXPECT_EQ(parse(kSmall, {"steps=4"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(parse(kSmall, {"job.steps"}).error().code, ErrorCode::kUsage);
}

// One of model.builder and model.onnx; a run's own file has the builder alone.
TEST(Job, ANetworkIsABuildersOrThatOfAFile) {
  std::string text = kSmall;
  text.replace(text.find("builder = \"digits-cnn\""), 22, "onnx = \"m.onnx\"");
  const Job job = parse_job(text, "job.toml", "/folder").value();
  EXPECT_EQ(job.model.builder, models::kFromFile);
  EXPECT_EQ(job.model.onnx, "/folder/m.onnx");
  const Job again = parse(job_to_toml(job)).value();
  EXPECT_EQ(again.model.onnx, job.model.onnx);
  EXPECT_EQ(canonical_job_bytes(again), canonical_job_bytes(job));
  const Job nameless = parse(kSmall, {"model.builder=onnx"}).value();
  EXPECT_EQ(canonical_job_bytes(nameless), canonical_job_bytes(job)) << "a path is no part of a job";
  const auto message = [&](const std::vector<std::string>& overrides) {
    const auto refused = parse_job(kSmall, "job.toml", "", overrides);
    return refused ? std::string("accepted") : refused.error().message;
  };
  EXPECT_NE(message({"model.onnx=m.onnx"}).find("found 'digits-cnn' beside model.onnx"), std::string::npos);
  EXPECT_NE(message({"model.outputs=[\"a\"]"}).find("has no key 'outputs'"), std::string::npos);
  EXPECT_NE(message({"model.builder=onnx", "model.outputs=[\"a\", \"b\"]"}).find("expected one"), std::string::npos);
  EXPECT_NE(message({"model.loss=output"}).find("only a file can have one"), std::string::npos);
  EXPECT_NE(message({"model.loss=mse", "model.label_smoothing=0.1"}).find("label_smoothing"), std::string::npos);
  EXPECT_NE(message({"model.huber_delta=2"}).find("huber_delta"), std::string::npos);
  EXPECT_NE(message({"model.loss=huber", "model.huber_delta=0"}).find("expected 1e-30"), std::string::npos);
  EXPECT_NE(message({"model.freeze=[\"" + std::string(5000, 'a') + "\"]"}).find("at most 4096"), std::string::npos);
  EXPECT_NE(message({"model.batch_norm=frozen"}).find("batch_norm"), std::string::npos);
  EXPECT_EQ(message({"model.builder=resnet", "model.batch_norm=frozen"}), "accepted");
}

TEST(Job, FormsPositionsAndTokenizersStandWhereTheyMeanSomething) {
  const auto message = [&](std::vector<std::string> overrides) {
    const auto job = parse_job(kSmall, "job.toml", "", overrides);
    if (!job) return job.error().message;
    const Job again = parse(job_to_toml(*job)).value();
    EXPECT_EQ(canonical_job_bytes(again), canonical_job_bytes(*job));
    return std::string("accepted");
  };
  const auto refuses = [&](const std::vector<std::string>& overrides, const std::string& words) {
    EXPECT_NE(message(overrides).find(words), std::string::npos) << message(overrides);
  };
  for (const char* builder : {"resnet18", "resnet34", "resnet50", "vgg11-bn"}) {
    EXPECT_EQ(message({text_of("model.builder=", builder), "model.form=small", "model.running_variance=unbiased"}),
              "accepted");
  }
  refuses({"model.builder=resnet", "model.form=small"}, "has no key 'form'");
  refuses({"model.builder=resnet50", "model.form=tiny"}, "found 'tiny', expected imagenet or small");
  refuses({"model.builder=resnet50", "model.dropout=0.5"}, "has no key 'dropout'");
  refuses({"model.builder=logistic", "model.positions=8"}, "has no key 'positions'");
  const std::vector<std::string> text = {"model.builder=gpt2", "model.positions=64", "data.dataset=text",
                                         "data.context=16"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), text.begin(), text.end());
    return more;
  };
  EXPECT_EQ(message(with({"data.tokenizer=gpt2", "data.encoder=e.json", "data.merges=m.bpe"})), "accepted");
  refuses(with({"data.encoder=e.json"}), "has no key 'encoder'");
  refuses({"data.tokenizer=gpt2"}, "has no key 'tokenizer'");
  // What bytes commit to did not change when there was something else.
  EXPECT_EQ(canonical_job_bytes(parse(kSmall, with({"data.tokenizer=bytes"})).value()),
            canonical_job_bytes(parse(kSmall, text).value()));
  EXPECT_NE(canonical_job_bytes(parse(kSmall, with({"data.tokenizer=gpt2"})).value()),
            canonical_job_bytes(parse(kSmall, text).value()));
}

TEST(Job, EveryExampleIsRead) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  int jobs = 0;
  for (const auto& entry : fs::directory_iterator(std::string(source ? source : ".") + "/examples/jobs")) {
    if (entry.path().extension() != ".toml") continue;
    const auto job = load_job(entry.path());
    EXPECT_TRUE(job) << (job ? "" : job.error().message);
    ++jobs;
  }
  EXPECT_GE(jobs, 15);
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

// The example of docs/formats/job.md.
TEST(Job, EpochsAreStepsOnceTheSamplesAreCounted) {
  std::string text = kSmall;
  text.replace(text.find("steps = 100"), 11, "epochs = 3");
  const Job job = parse(text).value();
  EXPECT_EQ(job.epochs, 3);
  EXPECT_NE(job_to_toml(job).find("epochs = 3"), std::string::npos);
  EXPECT_EQ(parse(job_to_toml(job)).value().epochs, 3);
  EXPECT_FALSE(check_in_steps(job, "job.toml"));
  const Job resolved = in_steps(job, 1437).value();
  EXPECT_EQ(resolved.steps, 539);  // 3 * 1437 / 8 = 538.9
  EXPECT_TRUE(check_in_steps(resolved, "job.toml"));
  const Job same = parse(kSmall, {"job.steps=539"}).value();
  EXPECT_EQ(canonical_job_bytes(resolved), canonical_job_bytes(same));
  EXPECT_EQ(job_to_toml(resolved), job_to_toml(same));
  EXPECT_EQ(canonical_job_bytes(in_steps(same, 1).value()), canonical_job_bytes(same));  // in steps already
}

TEST(Job, EpochsThatAreNoLengthOfAJob) {
  std::string text = kSmall;
  text.replace(text.find("steps = 100"), 11, "epochs = 3");
  const auto message = [](const auto& refused) {
    EXPECT_FALSE(refused);
    return refused ? std::string() : refused.error().message;
  };
  EXPECT_NE(message(parse(kSmall, {"job.epochs=3"})).find("job.steps: found a value, expected none: job.epochs"),
            std::string::npos);
  std::string neither = kSmall;
  neither.erase(neither.find("steps = 100"), 11);
  EXPECT_NE(message(parse(neither)).find("job.steps: is missing"), std::string::npos);
  const Job job = parse(text).value();
  EXPECT_NE(message(in_steps(job, 0)).find("no training samples"), std::string::npos);
  EXPECT_NE(message(in_steps(job, 20)).find("schedule.warmup: found 10, expected less than job.steps (8)"),
            std::string::npos);
  for (const int64_t count : {int64_t{1} << 30, int64_t{1} << 62}) {
    EXPECT_NE(message(in_steps(job, count)).find("more than the 4194304 steps"), std::string::npos) << count;
  }
  EXPECT_EQ(in_steps(job, (int64_t{8} << 22) / 3)->steps, int64_t{1} << 22);
}

TEST(Job, MicroBatchesDivideTheBatch) {
  EXPECT_EQ(parse(kSmall, {"data.micro_batches=4"})->micro_batches, 4);
  const auto refused = parse(kSmall, {"data.micro_batches=3"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("data.micro_batches: found 3, expected a number that divides data.batch (8)"),
            std::string::npos);
}

constexpr char kGroups[] = R"([[optimizer.group]]
match = "*.bias"
lr_factor = 2
[[optimizer.group]]
match = "fc?.*"
weight_decay = 0.25
)";

TEST(Job, GroupsKeepTheirOrder) {
  std::string text = kSmall;
  text.insert(text.find("[schedule]"), kGroups);
  const Job job = parse(text).value();
  const ParameterGroups expected = {{"*.bias", 2, std::nullopt}, {"fc?.*", 1, 0.25}};
  EXPECT_EQ(job.groups, expected);
  EXPECT_EQ(parse(job_to_toml(job)).value().groups, expected);
  Job swapped = job;
  std::swap(swapped.groups[0], swapped.groups[1]);
  EXPECT_NE(canonical_job_bytes(swapped), canonical_job_bytes(job));
  Job without_decay = job;
  without_decay.groups[1].weight_decay.reset();
  EXPECT_NE(canonical_job_bytes(without_decay), canonical_job_bytes(job));
}

TEST(Job, GroupsThatAreNone) {
  const auto message = [](const std::string& groups) {
    std::string text = kSmall;
    text.insert(text.find("[schedule]"), groups);
    const auto refused = parse(text);
    EXPECT_FALSE(refused) << groups;
    return refused ? std::string() : refused.error().message;
  };
  EXPECT_EQ(message("[[optimizer.group]]\nlr_factor = 2\n"),
            "job.toml:15: optimizer.group.match: is missing; say of which parameters, like match = \"*.bias\"");
  EXPECT_NE(message("[[optimizer.group]]\nmatch = '*'\nlr_facto = 2\n").find("did you mean 'lr_factor'"),
            std::string::npos);
  EXPECT_NE(
      message("[[optimizer.group]]\nmatch = '*'\nlr_factor = -1\n").find("job.toml:17: optimizer.group.lr_factor"),
      std::string::npos);
  EXPECT_NE(message("[[optimizer.group]]\nmatch = '*'\nweight_decay = 'a'\n").find("expected a number"),
            std::string::npos);
  EXPECT_NE(message("[optimizer.group]\nmatch = '*'\n").find("expected a list of tables"), std::string::npos);
  EXPECT_NE(message("group = [3]\n").find("expected a list of tables"), std::string::npos);
}

TEST(LearningRate, FallsInALineToTheLastStep) {
  Job job = parse(kSmall, {"schedule.name=linear", "schedule.min_lr=0.01"}).value();
  EXPECT_EQ(learning_rate(job, 9), 0.1);
  EXPECT_EQ(learning_rate(job, 10), 0.1);
  EXPECT_EQ(learning_rate(job, 99), 0.01);
  for (int64_t t = 10; t < 100; ++t) {
    EXPECT_NEAR(learning_rate(job, t), 0.1 - 0.09 * static_cast<double>(t - 10) / 89, 1e-15);
    EXPECT_LE(learning_rate(job, t), learning_rate(job, t - 1));
  }
  job.steps = 11;
  EXPECT_EQ(learning_rate(job, 10), 0.1);  // one step after the warm-up
  EXPECT_FALSE(parse(kSmall, {"schedule.name=constant", "schedule.min_lr=0.01"}));
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
