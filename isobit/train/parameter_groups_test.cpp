#include "isobit/train/parameter_groups.h"

#include <gtest/gtest.h>

#include "isobit/base/text.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

Job job_with(const std::string& optimizer, const std::string& groups) {
  return parse_job(
             text_of("[job]\nsteps = 3\n[model]\nbuilder = \"digits-cnn\"\n[data]\ndataset = \"digits\"\nbatch = ",
                     "6\n[optimizer]\nlr = 0.02\n", optimizer, "\n", groups),
             "test", "")
      .value();
}

models::Parameter parameter(const std::string& name, bool decay) { return {name, graph::kNoValue, {}, decay}; }

const std::vector<models::Parameter> kParameters = {parameter("conv1.weight", true), parameter("conv1.bias", false),
                                                    parameter("fc1.weight", true), parameter("fc1.bias", false)};

TEST(ParameterGroups, TheFirstThatMatchesCounts) {
  Job job;
  job.weight_decay = 0.5;
  job.groups = {{"*.bias", 2, 0.25}, {"fc1.*", 3, std::nullopt}};
  const std::vector<ParameterPace> expected = {{1, 0.5}, {2, 0.25}, {3, 0.5}, {2, 0.25}};
  EXPECT_EQ(paces_of(job, kParameters).value(), expected);
  job.groups.clear();
  const std::vector<ParameterPace> plain = {{1, 0.5}, {1, 0}, {1, 0.5}, {1, 0}};
  EXPECT_EQ(paces_of(job, kParameters).value(), plain);
}

TEST(ParameterGroups, AGroupWithoutParametersIsAnError) {
  const auto message = [](const ParameterGroups& groups) {
    Job job;
    job.groups = groups;
    const auto refused = paces_of(job, kParameters);
    EXPECT_FALSE(refused);
    return refused ? std::string() : refused.error().message;
  };
  EXPECT_EQ(
      message({{"*.bias", 1, 0.0}, {"conv1.wieght", 1, 0.0}}),
      "optimizer.group 2: match = 'conv1.wieght' names no parameter that is trained; did you mean 'conv1.weight'?");
  EXPECT_EQ(
      message({{"transformer.*", 1, 0.0}}),
      "optimizer.group 1: match = 'transformer.*' names no parameter that is trained; the network has conv1.weight, "
      "conv1.bias, fc1.weight, fc1.bias");
  EXPECT_NE(
      message({{"*", 1, 0.0}, {"*.bias", 1, 0.0}}).find("optimizer.group 2: match = '*.bias' has no parameter left"),
      std::string::npos);
}

std::vector<NamedTensor> after_one_step(const Job& job) {
  platform::Engine engine(platform::parse_platform("ordered").value());
  auto trainer = Trainer::create(job, data::open_dataset(job.data).value(), engine).value();
  EXPECT_TRUE(trainer->advance());
  return trainer->state();
}

const Tensor& named(const std::vector<NamedTensor>& state, const std::string& name) {
  return std::ranges::find(state, name, &NamedTensor::name)->tensor;
}

// The gradient of the first step is the same whatever the groups, so a parameter of a group goes where all parameters
// go under a job with its rate and decay.
TEST(ParameterGroups, AreTrainedAtTheirPace) {
  for (const char* optimizer : {"name = \"sgd\"\nmomentum = 0.9", "name = \"adam\"", "name = \"adamw\""}) {
    const std::string decay = text_of(optimizer, "\nweight_decay = 0.5");
    const auto grouped = after_one_step(
        job_with(decay, "[[optimizer.group]]\nmatch = \"conv?.*\"\nlr_factor = 0.3\nweight_decay = 0\n"));
    Job slower = job_with(optimizer, "");
    slower.lr = 0.3 * 0.02;
    const auto all_slower = after_one_step(slower), plain = after_one_step(job_with(decay, ""));
    for (const char* name : {"conv1.weight", "conv2.bias"}) {
      EXPECT_TRUE(identical(named(grouped, name), named(all_slower, name))) << optimizer << " " << name;
      EXPECT_FALSE(identical(named(grouped, name), named(plain, name))) << optimizer << " " << name;
    }
    for (const char* name : {"fc1.weight", "fc2.bias"}) {
      EXPECT_TRUE(identical(named(grouped, name), named(plain, name))) << optimizer << " " << name;
    }
  }
}

// A group that says nothing is in the job's bytes and changes no bit.
TEST(ParameterGroups, AnEmptyGroupChangesNoGraph) {
  const Job plain = job_with("weight_decay = 0.1", ""),
            grouped = job_with("weight_decay = 0.1", "[[optimizer.group]]\nmatch = \"*\"\n");
  const auto a = after_one_step(plain), b = after_one_step(grouped);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(identical(a[i].tensor, b[i].tensor)) << a[i].name;
  EXPECT_NE(canonical_job_bytes(plain), canonical_job_bytes(grouped));
}

}  // namespace
}  // namespace isobit::train
