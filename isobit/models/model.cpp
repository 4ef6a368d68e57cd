#include "isobit/models/model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "isobit/base/text.h"
#include "isobit/models/layers.h"

namespace isobit::models {
namespace {

using Ints = std::vector<int64_t>;
using V = graph::ValueId;

std::string shape_text(const Ints& dims) { return Shape(dims).text(); }

Expected<V> image_input(const ModelConfig& config, Model& model, int64_t smallest_side) {
  const Ints& s = config.input_shape;
  if (s.size() != 3 || s[1] < smallest_side || s[2] < smallest_side || s[0] < 1) {
    return unreadable(text_of("model '", config.builder, "': found samples of shape ", shape_text(s),
                              ", expected [channels, height, width] of at least ", smallest_side, " by ",
                              smallest_side));
  }
  return model.graph.add_input("input", DType::kFloat32, {config.batch, s[0], s[1], s[2]});
}

// Two convolutions, a pooling after each where `pools`, two linear layers.
Status small_cnn(const ModelConfig& config, Model& model, int64_t pools) {
  Layers layers(config, model);
  ISOBIT_TRY(V x, image_input(config, model, 4));
  model.inputs = {x};
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
  model.inputs = {x};
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

// Radford et al. 2019 in small: learned positions, pre-norm blocks, GELU (tanh form), output weights tied to the
// embedding.
Status gpt(const ModelConfig& config, Model& model) {
  if (config.input_shape.size() != 1) {
    return unreadable(text_of("model 'gpt': found samples of shape ", shape_text(config.input_shape),
                              ", expected [context]: token sequences"));
  }
  if (config.layers < 1 || config.layers > 200 || config.heads < 1 || config.channels < 1 ||
      config.channels > 1 << 16 || config.channels % config.heads != 0) {
    return unreadable("model 'gpt': layers must be 1 to 200 and channels a multiple of heads");
  }
  if (!(config.dropout >= 0 && config.dropout < 1)) return unreadable("model 'gpt': dropout must be in [0, 1)");
  const int64_t context = config.input_shape[0], rows = config.batch * context, c = config.channels;
  // Residual branches start smaller, so that their sum over the layers starts at unit scale.
  const auto branch = static_cast<float>(0.02 / std::sqrt(2.0 * static_cast<double>(config.layers)));
  Layers layers(config, model);
  auto& g = model.graph;
  const V input = g.add_input("input", DType::kInt64, {config.batch, context});
  model.inputs = {input};
  const V tokens = layers.parameter("wte.weight", {config.classes, c}, {Init::Kind::kNormal, 0.02f});
  const V positions = layers.parameter("wpe.weight", {context, c}, {Init::Kind::kNormal, 0.02f});
  V x = g.emit("Add", {g.emit("Gather", {tokens, input}, {}, "embedded"), positions}, {}, "positioned");
  x = layers.dropout(g.emit("Reshape", {x}, {{"shape", Ints{rows, c}}}, "rows"));
  for (int64_t l = 0; l < config.layers; ++l) {
    const std::string name = text_of("h", l);
    V y = layers.causal_attention(name + ".attn", layers.layer_norm(name + ".ln1", x), context);
    y = layers.dropout(layers.linear_normal(name + ".attn.proj", y, c, branch));
    x = g.emit("Add", {x, y}, {}, name + ".mid");
    y = layers.linear_normal(name + ".mlp.fc", layers.layer_norm(name + ".ln2", x), 4 * c, 0.02f);
    y = g.emit("Gelu", {y}, {{"approximate", std::string("tanh")}}, name + ".mlp.gelu");
    y = layers.dropout(layers.linear_normal(name + ".mlp.proj", y, c, branch));
    x = g.emit("Add", {x, y}, {}, name);
  }
  x = layers.layer_norm("ln_f", x);
  model.output = g.emit("Gemm", {x, tokens}, {{"transB", int64_t{1}}}, "logits");
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

double largest_of_gpt(const ModelConfig& config) {
  const double sample = elements_of_sample(config), c = static_cast<double>(config.channels);
  const double rows = static_cast<double>(config.batch) * sample;
  return std::max({rows * 4 * c, rows * sample * static_cast<double>(config.heads),
                   rows * static_cast<double>(config.classes), 4 * c * c, static_cast<double>(config.classes) * c});
}

struct Builder {
  Status (*build)(const ModelConfig&, Model&);
  double (*largest_tensor)(const ModelConfig&);
  BuilderTraits traits = {};
};

const std::map<std::string, Builder>& builders() {
  static const std::map<std::string, Builder> kBuilders = {
      {"digits-cnn", {[](const ModelConfig& c, Model& m) { return small_cnn(c, m, 1); }, largest_of_small}},
      {"mnist-cnn", {[](const ModelConfig& c, Model& m) { return small_cnn(c, m, 2); }, largest_of_small}},
      {"resnet", {resnet, largest_of_resnet, {.sized_by_blocks = true, .may_normalise = true}}},
      {"logistic", {logistic, largest_of_small}},
      {"gpt", {gpt, largest_of_gpt, {.takes_tokens = true, .sized_by_layers = true}}},
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
