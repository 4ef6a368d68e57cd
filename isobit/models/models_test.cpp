#include <gtest/gtest.h>

#include <algorithm>
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

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const Parameter& p : model.parameters) names.push_back(p.name);
  for (const Buffer& b : model.buffers) names.push_back(b.name);
  return names;
}

// The numbers that torchvision's own pages give, and the usual one of a ResNet-18 for images of 32 by 32.
TEST(Models, TorchvisionsNetworksHaveItsParameters) {
  ModelConfig config{.builder = "", .batch = 2, .input_shape = {3, 224, 224}, .classes = 1000};
  const std::pair<const char*, int64_t> of_imagenet[] = {
      {"resnet18", 11689512}, {"resnet34", 21797672}, {"resnet50", 25557032}, {"vgg11-bn", 132868840}};
  for (const auto& [builder, count] : of_imagenet) {
    config.builder = builder;
    EXPECT_EQ(parameter_count(build_model(config).value()), count) << builder;
  }
  config = {.builder = "resnet18", .batch = 2, .input_shape = {3, 32, 32}};
  config.form = Form::kSmall;
  EXPECT_EQ(parameter_count(build_model(config).value()), 11173962);
  config.builder = "vgg11-bn";
  const Model vgg = build_model(config).value();
  EXPECT_EQ(parameter_count(vgg), 9231114);
  EXPECT_EQ(vgg.graph.value(vgg.output).dims, (std::vector<int64_t>{2, 10}));
}

TEST(Models, MapsOfTorchvisionsNetworksHaveItsSizes) {
  ModelConfig config{.builder = "resnet50", .batch = 2, .input_shape = {3, 224, 224}};
  const auto sides = [&] {
    std::map<std::string, std::vector<int64_t>> found;
    const Model model = build_model(config).value();
    for (const graph::Node& n : model.graph.nodes()) {
      const graph::Value& value = model.graph.value(n.outputs[0]);
      if (value.dims.size() == 4) found[value.name] = value.dims;
    }
    return found;
  };
  using Dims = std::vector<int64_t>;
  auto found = sides();
  EXPECT_EQ(found.at("conv1"), (Dims{2, 64, 112, 112}));
  EXPECT_EQ(found.at("layer1.0"), (Dims{2, 256, 56, 56}));
  EXPECT_EQ(found.at("layer2.0.conv1"), (Dims{2, 128, 56, 56}));  // the 3x3 convolution strides
  EXPECT_EQ(found.at("layer4.2"), (Dims{2, 2048, 7, 7}));
  config.form = Form::kSmall;
  config.input_shape = {3, 32, 32};
  found = sides();
  EXPECT_EQ(found.at("layer1.0"), (Dims{2, 256, 32, 32}));
  EXPECT_EQ(found.at("layer4.2"), (Dims{2, 2048, 4, 4}));
}

TEST(Models, NamesAreThoseOfTheLibraries) {
  ModelConfig config{.builder = "resnet18", .batch = 2, .input_shape = {3, 64, 64}};
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto resnet = names_of(build_model(config).value());
  for (const char* name : {"conv1.weight", "bn1.running_var", "layer1.0.conv1.weight", "layer2.0.downsample.0.weight",
                           "layer2.0.downsample.1.bias", "layer4.1.bn2.running_mean", "fc.bias"}) {
    EXPECT_TRUE(has(resnet, name)) << name;
  }
  config = {.builder = "gpt2", .batch = 2, .input_shape = {8}, .classes = 50257};
  config.layers = config.heads = 12;
  config.channels = 768;
  config.positions = 1024;
  const Model gpt2 = build_model(config).value();
  EXPECT_EQ(parameter_count(gpt2), 124439808);
  const auto names = names_of(gpt2);
  EXPECT_TRUE(has(names, "transformer.h.11.attn.c_attn.weight"));
  EXPECT_EQ(gpt2.graph.value(gpt2.graph.find("transformer.h.11.attn.c_attn.weight")).dims,
            (std::vector<int64_t>{768, 2304}));
  EXPECT_EQ(gpt2.graph.value(gpt2.output).dims, (std::vector<int64_t>{16, 50257}));
}

// Behind the first two of three linear layers; the form with one has none.
TEST(Models, VggDropsWhereTorchvisionDoes) {
  ModelConfig config{.builder = "vgg11-bn", .batch = 2, .input_shape = {3, 224, 224}};
  config.dropout = 0.5;
  const auto dropouts = [&] {
    const Model model = build_model(config).value();
    std::vector<std::string> before;
    for (const graph::Node& n : model.graph.nodes()) {
      if (n.op != "isobit.Dropout") continue;
      before.push_back(Shape(model.graph.value(n.inputs[0]).dims).text());
    }
    EXPECT_EQ(model.step != graph::kNoValue, !before.empty());
    return before;
  };
  EXPECT_EQ(dropouts(), (std::vector<std::string>{"[2, 4096]", "[2, 4096]"}));
  config.input_shape = {3, 448, 448};  // maps of 14 by 14 are averaged to 7 by 7
  EXPECT_EQ(dropouts().size(), 2u);
  config.form = Form::kSmall;
  EXPECT_TRUE(dropouts().empty());
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

  const auto refused = [&](const std::string& words) {
    const auto model = build_model(config);
    ASSERT_FALSE(model) << words;
    EXPECT_NE(model.error().message.find(words), std::string::npos) << model.error().message;
  };
  config = {.builder = "gpt2", .input_shape = {8}};
  config.positions = 7;
  refused("has 7 positions (model.positions), and samples of 8 tokens");
  config = {.builder = "vgg11-bn", .input_shape = {3, 64, 64}};
  refused("become maps of 2 by 2, expected multiples of 7");
  config.dropout = 1;
  refused("dropout must be in [0, 1)");
  config = {.builder = "resnet50", .input_shape = {3, 7, 7}};
  refused("at least 8 by 8");
  config = {.builder = "resnet50", .batch = 1 << 20, .input_shape = {3, 1 << 20, 1 << 20}};
  refused("make data.batch or the model smaller");
}

}  // namespace
}  // namespace isobit::models
