#include <gtest/gtest.h>

#include <map>

#include "isobit/models/model.h"

namespace isobit::models {
namespace {

int64_t parameter_count(const Model& model) {
  int64_t n = 0;
  for (const Parameter& p : model.parameters) n += model.graph.value(p.value).shape().elements();
  return n;
}

TEST(Models, ResNetOfThreeBlocksIsResNet20) {
  ModelConfig config{.builder = "resnet", .batch = 2, .input_shape = {3, 32, 32}};
  config.blocks = 3;
  const Model model = build_model(config).value();
  // He et al. 2016, table 6: 0.27M parameters (here with 1x1 shortcuts: 2,560 more and their norms).
  EXPECT_EQ(parameter_count(model), 272474);
  EXPECT_EQ(model.graph.value(model.output).dims, (std::vector<int64_t>{2, 10}));
  EXPECT_EQ(model.buffers.size(), 42u);
  for (const Buffer& b : model.buffers) EXPECT_NE(b.updated, graph::kNoValue);
}

TEST(Models, TheInferenceGraphHasTheSameParametersAndNoUpdates) {
  ModelConfig config{.builder = "resnet", .batch = 2, .input_shape = {3, 32, 32}};
  const Model training = build_model(config).value();
  config.training = false;
  const Model inference = build_model(config).value();
  ASSERT_EQ(training.parameters.size(), inference.parameters.size());
  for (size_t i = 0; i < training.parameters.size(); ++i) {
    EXPECT_EQ(training.parameters[i].name, inference.parameters[i].name);
  }
  for (const Buffer& b : inference.buffers) EXPECT_EQ(b.updated, graph::kNoValue);
}

TEST(Models, TheUnbiasedRunningVarianceIsThatOfAChannelsValues) {
  ModelConfig config{.builder = "resnet", .batch = 2, .input_shape = {3, 32, 32}};
  // By node name: the count that its update corrects by, 0 for none.
  const auto counts = [&] {
    const Model model = build_model(config).value();
    std::map<std::string, int64_t> found;
    for (const graph::Node& n : model.graph.nodes()) {
      if (n.op != "isobit.RunningUpdate") continue;
      found[model.graph.value(n.outputs[0]).name] = n.attributes.integer("count", 0);
    }
    return found;
  };
  for (const auto& [name, count] : counts()) EXPECT_EQ(count, 0) << name;
  config.running_variance = RunningVariance::kUnbiased;
  const auto unbiased = counts();
  EXPECT_EQ(unbiased.size(), 18u);
  for (const auto& [name, count] : unbiased) {
    EXPECT_EQ(count > 0, name.find("running_var") != std::string::npos) << name;
  }
  EXPECT_EQ(unbiased.at("bn0.running_var.next"), 2 * 32 * 32);
  EXPECT_EQ(unbiased.at("stage3.block1.bn2.running_var.next"), 2 * 8 * 8);
}

TEST(Models, GptHasTheParametersOfItsFormula) {
  ModelConfig config{.builder = "gpt", .batch = 2, .input_shape = {8}, .classes = 256};
  const Model model = build_model(config).value();
  const int64_t c = config.channels, l = config.layers;
  EXPECT_EQ(parameter_count(model), 256 * c + 8 * c + l * (12 * c * c + 13 * c) + 2 * c);
  EXPECT_EQ(model.step, graph::kNoValue);
  config.dropout = 0.1;
  EXPECT_NE(build_model(config).value().step, graph::kNoValue);
}

TEST(Models, BadConfigurationsAreRefused) {
  ModelConfig config{.builder = "resnett", .input_shape = {3, 32, 32}};
  const auto unknown = build_model(config);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("did you mean 'resnet'"), std::string::npos) << unknown.error().message;
  config = {.builder = "digits-cnn", .input_shape = {64}};
  EXPECT_FALSE(build_model(config));
  config = {.builder = "gpt", .input_shape = {8}};
  config.heads = 3;
  EXPECT_FALSE(build_model(config));
  config = {.builder = "gpt", .batch = 1 << 20, .input_shape = {1 << 20}};
  config.heads = 1024;
  config.channels = 1 << 16;
  EXPECT_FALSE(build_model(config)) << "products of these sizes overflow";
}

}  // namespace
}  // namespace isobit::models
