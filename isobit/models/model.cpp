#include "isobit/models/model.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/models/gpt.h"
#include "isobit/models/layers.h"
#include "isobit/models/vision.h"

namespace isobit::models {
namespace {

using Ints = std::vector<int64_t>;
using V = graph::ValueId;

// Two convolutions, a pooling after each where `pools`, two linear layers.
Status small_cnn(const ModelConfig& config, Model& model, int64_t pools) {
  Layers layers(config, model);
  ISOBIT_TRY(V x, image_input(config, model, 4));
  x = layers.relu(layers.conv("conv1", x, {.channels = 16, .kernel = 3, .pad = 1}));
  if (pools > 1) x = layers.max_pool(x, 2);
  x = layers.relu(layers.conv("conv2", x, {.channels = 32, .kernel = 3, .pad = 1}));
  x = layers.flatten(layers.max_pool(x, 2));
  x = layers.relu(layers.linear("fc1", x, 128));
  model.output = layers.linear("fc2", x, config.classes);
  return {};
}

// He et al. 2016, section 4.2: three stages of `blocks` residual blocks, 6 * blocks + 2 layers in all; where a stage
// halves the image, the shortcut is a 1x1 convolution with batch norm.
Status resnet(const ModelConfig& config, Model& model) {
  if (config.blocks < 1 || config.blocks > 100 || config.width < 1 || config.width > 4096) {
    return unreadable("model 'resnet': blocks must be 1 to 100 and width 1 to 4096");
  }
  Layers layers(config, model);
  ISOBIT_TRY(V x, image_input(config, model, 8));
  x = layers.conv("conv0", x, {.channels = config.width, .kernel = 3, .pad = 1, .bias = false});
  x = layers.relu(layers.batch_norm("bn0", x));
  for (int64_t stage = 0; stage < 3; ++stage) {
    const int64_t channels = config.width << stage;
    for (int64_t block = 0; block < config.blocks; ++block) {
      const std::string name = text_of("stage", stage + 1, ".block", block + 1);
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      ConvOptions three{.channels = channels, .kernel = 3, .stride = stride, .pad = 1, .bias = false};
      V y = layers.conv(name + ".conv1", x, three);
      y = layers.relu(layers.batch_norm(name + ".bn1", y));
      three.stride = 1;
      y = layers.batch_norm(name + ".bn2", layers.conv(name + ".conv2", y, three));
      if (stride != 1) {
        const ConvOptions one{.channels = channels, .kernel = 1, .stride = stride, .bias = false};
        x = layers.batch_norm(name + ".bn3", layers.conv(name + ".shortcut", x, one));
      }
      x = layers.relu(model.graph.emit("Add", {y, x}, {}, name));
    }
  }
  x = layers.flatten(model.graph.emit("GlobalAveragePool", {x}, {}, "pool"));
  model.output = layers.linear("fc", x, config.classes);
  return {};
}

Status logistic(const ModelConfig& config, Model& model) {
  int64_t features = 1;
  Ints dims = {config.batch};
  for (int64_t d : config.input_shape) {
    features *= d;
    dims.push_back(d);
  }
  Layers layers(config, model);
  const V input = model.graph.add_input("input", DType::kFloat32, dims);
  model.inputs = {input};
  const V x = model.graph.emit("Reshape", {input}, {{"shape", Ints{config.batch, features}}}, "flatten");
  const V weights = layers.parameter("fc.weight", {config.classes, features}, {});
  const V bias = layers.parameter("fc.bias", {config.classes}, {});
  model.output = model.graph.emit("Gemm", {x, weights, bias}, {{"transB", int64_t{1}}}, "fc");
  return {};
}

double elements_of_sample(const ModelConfig& config) {
  double elements = 1;
  for (int64_t d : config.input_shape) elements *= static_cast<double>(d);
  return elements;
}

// Elements of the largest tensor, roughly: enough to refuse sizes that no machine holds before any product of them
// overflows.
double largest_of_images(const ModelConfig& config, double maps) {
  const double sample = elements_of_sample(config), batch = static_cast<double>(config.batch);
  return std::max(batch * sample * maps, sample * 32 * 128) + sample * static_cast<double>(config.classes);
}

double largest_of_small(const ModelConfig& config) { return largest_of_images(config, 32); }
double largest_of_resnet(const ModelConfig& config) {
  return largest_of_images(config, 4 * static_cast<double>(config.width));
}

struct Builder {
  Status (*build)(const ModelConfig&, Model&);
  double (*largest_tensor)(const ModelConfig&);
  BuilderTraits traits = {};
  WeightNames weight_names = {};
};

// What files of transformers hold beside the parameters: constants of older ones, and the tied matrix twice.
const WeightNames& names_of_gpt2() {
  static const WeightNames kNames = {.prefix = "transformer.",
                                     .passed_over = {"transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias"},
                                     .tied = {{"lm_head.weight", "transformer.wte.weight"}}};
  return kNames;
}

template <const GptForm& kForm>
Builder transformer(WeightNames names = {}) {
  return {[](const ModelConfig& c, Model& m) { return gpt(c, kForm, m); },
          largest_of_gpt,
          {.takes_tokens = true, .sized_by_layers = true, .may_drop = true},
          std::move(names)};
}
template <const ResnetPlan& kPlan>
Builder residual() {
  return {[](const ModelConfig& c, Model& m) { return residual_network(c, kPlan, m); },
          largest_of_vision,
          {.has_forms = true, .may_normalise = true}};
}

const std::map<std::string, Builder>& builders() {
  static const std::map<std::string, Builder> kBuilders = {
      {"digits-cnn", {[](const ModelConfig& c, Model& m) { return small_cnn(c, m, 1); }, largest_of_small}},
      {"mnist-cnn", {[](const ModelConfig& c, Model& m) { return small_cnn(c, m, 2); }, largest_of_small}},
      {"resnet", {resnet, largest_of_resnet, {.sized_by_blocks = true, .may_normalise = true}}},
      {"logistic", {logistic, largest_of_small}},
      {"gpt", transformer<kOwnGpt>()},
      {"gpt2", transformer<kGpt2>(names_of_gpt2())},
      {"resnet18", residual<kResnet18>()},
      {"resnet34", residual<kResnet34>()},
      {"resnet50", residual<kResnet50>()},
      {"vgg11-bn", {vgg11_bn, largest_of_vision, {.may_drop = true, .has_forms = true, .may_normalise = true}}},
  };
  return kBuilders;
}

constexpr double kMostElements = 1e10;

}  // namespace

bool ModelConfig::freezes(const std::string& name) const {
  return std::ranges::any_of(freeze, [&](const std::string& pattern) { return matches_glob(pattern, name); });
}

bool ModelConfig::keeps_statistics(const std::string& mean, const std::string& variance) const {
  return batch_norm == BatchNorm::kFrozen || freezes(mean) || freezes(variance);
}

std::vector<std::string> builder_names() {
  std::vector<std::string> names;
  for (const auto& [name, builder] : builders()) names.push_back(name);
  return names;
}

std::vector<std::string> network_names() {
  std::vector<std::string> names = builder_names();
  names.emplace_back(kFromFile);
  return names;
}

BuilderTraits traits_of(const std::string& builder) {
  if (builder == kFromFile) return {.may_normalise = true, .is_file = true};
  const auto found = builders().find(builder);
  return found == builders().end() ? BuilderTraits{} : found->second.traits;
}

WeightNames weight_names_of(const std::string& builder) {
  const auto found = builders().find(builder);
  return found == builders().end() ? WeightNames{} : found->second.weight_names;
}

Expected<Model> build_model(const ModelConfig& config) {
  const auto found = builders().find(config.builder);
  if (found == builders().end()) {
    const std::string near = nearest_word(config.builder, builder_names());
    return unreadable(text_of("model.builder: found '", config.builder, "', expected ", join_or(builder_names()),
                              near.empty() ? "" : text_of("; did you mean '", near, "'?")));
  }
  if (const double elements = found->second.largest_tensor(config); elements > kMostElements) {
    return unreadable(text_of("model '", config.builder, "' on batches of ", config.batch, " needs a tensor of about ",
                              elements, " elements, more than the ", kMostElements,
                              " supported; make data.batch or the model smaller"));
  }
  Model model;
  ISOBIT_RETURN_IF_ERROR(found->second.build(config, model));
  return model;
}

}  // namespace isobit::models
