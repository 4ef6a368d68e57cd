#include "isobit/models/vision.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/models/layers.h"

namespace isobit::models {
namespace {

using Ints = std::vector<int64_t>;
using V = graph::ValueId;

// Of the convolutions here that come before a batch norm.
ConvOptions square(int64_t channels, int64_t kernel, int64_t stride = 1) {
  return {.channels = channels, .kernel = kernel, .stride = stride, .pad = kernel / 2, .bias = false};
}

class Residual {
 public:
  Residual(const ModelConfig& config, const ResnetPlan& plan, Model& model)
      : config_(config), plan_(plan), layers_(config, model) {}

  V run(V x) {
    x = stem(x);
    int64_t stage = 0;
    for (const int64_t blocks : plan_.blocks) {
      const int64_t channels = int64_t{64} << stage;
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        x = residual(text_of("layer", stage + 1, ".", block), x, channels, stride);
      }
      ++stage;
    }
    x = layers_.flatten(layers_.graph().emit("GlobalAveragePool", {x}, {}, "pool"));
    return layers_.linear("fc", x, config_.classes);
  }

 private:
  V stem(V x) {
    const bool small = config_.form == Form::kSmall;
    x = layers_.conv("conv1", x, small ? square(64, 3) : square(64, 7, 2));
    x = layers_.relu(layers_.batch_norm("bn1", x));
    return small ? x : layers_.max_pool(x, 3, 2, 1);
  }

  V normed(const std::string& block, int64_t place, V x, const ConvOptions& options) {
    x = layers_.conv(text_of(block, ".conv", place), x, options);
    return layers_.batch_norm(text_of(block, ".bn", place), x);
  }

  V residual(const std::string& name, V x, int64_t channels, int64_t stride) {
    const int64_t out = plan_.bottleneck ? 4 * channels : channels;
    V y;
    if (plan_.bottleneck) {
      y = layers_.relu(normed(name, 1, x, square(channels, 1)));
      y = layers_.relu(normed(name, 2, y, square(channels, 3, stride)));
      y = normed(name, 3, y, square(out, 1));
    } else {
      y = layers_.relu(normed(name, 1, x, square(channels, 3, stride)));
      y = normed(name, 2, y, square(channels, 3));
    }
    if (stride != 1 || layers_.graph().value(x).dims[1] != out) {
      x = layers_.conv(text_of(name, ".downsample.0"), x, square(out, 1, stride));
      x = layers_.batch_norm(text_of(name, ".downsample.1"), x);
    }
    return layers_.relu(layers_.graph().emit("Add", {y, x}, {}, name));
  }

  const ModelConfig& config_;
  const ResnetPlan& plan_;
  Layers layers_;
};

constexpr int64_t kPooled = 7;  // rows and columns that VGG's linear layers of the ImageNet form take

// What torchvision's adaptive pooling is where it needs no windows of several sizes: none, or equal ones.
Expected<V> pool_to_seven(const ModelConfig& config, Layers& layers, V x) {
  const Ints dims = layers.graph().value(x).dims;
  const int64_t height = dims[2] / kPooled, width = dims[3] / kPooled;
  if (height * kPooled != dims[2] || width * kPooled != dims[3]) {
    return unreadable(text_of("model '", config.builder, "': images of ", config.input_shape[1], " by ",
                              config.input_shape[2], " become maps of ", dims[2], " by ", dims[3],
                              ", expected multiples of ", kPooled,
                              ", as 224 by 224 do; bring the images to such a size, or set model.form"));
  }
  if (height == 1 && width == 1) return x;
  const Ints window = {height, width};
  return layers.graph().emit("AveragePool", {x}, {{"kernel_shape", window}, {"strides", window}}, "pool");
}

}  // namespace

Status residual_network(const ModelConfig& config, const ResnetPlan& plan, Model& model) {
  ISOBIT_TRY(const V x, image_input(config, model, 8));
  model.output = Residual(config, plan, model).run(x);
  return {};
}

Status vgg11_bn(const ModelConfig& config, Model& model) {
  if (!(config.dropout >= 0 && config.dropout < 1)) {
    return unreadable(text_of("model '", config.builder, "': dropout must be in [0, 1)"));
  }
  ISOBIT_TRY(V x, image_input(config, model, 32));
  Layers layers(config, model);
  // 0: a pooling. The places are torchvision's: those of convolution, batch norm and ReLU, one of a pooling.
  int64_t place = 0;
  for (const int64_t channels : {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}) {
    if (channels == 0) {
      x = layers.max_pool(x, 2);
      place += 1;
      continue;
    }
    ConvOptions conv = square(channels, 3);
    conv.bias = true;
    x = layers.conv(text_of("features.", place), x, conv);
    x = layers.relu(layers.batch_norm(text_of("features.", place + 1), x));
    place += 3;
  }
  if (config.form == Form::kSmall) {
    x = layers.flatten(layers.graph().emit("GlobalAveragePool", {x}, {}, "pool"));
    model.output = layers.linear("classifier", x, config.classes);
    return {};
  }
  ISOBIT_TRY(x, pool_to_seven(config, layers, x));
  x = layers.flatten(x);
  x = layers.dropout(layers.relu(layers.linear("classifier.0", x, 4096)));
  x = layers.dropout(layers.relu(layers.linear("classifier.3", x, 4096)));
  model.output = layers.linear("classifier.6", x, config.classes);
  return {};
}

double largest_of_vision(const ModelConfig& config) {
  double elements = static_cast<double>(config.batch);
  for (const int64_t d : config.input_shape) elements *= static_cast<double>(d);
  // Maps of the image's size are the widest: 64 channels, of a bottleneck's first stage 256.
  return std::max(elements * 256, 25088.0 * 4096) + 4096 * static_cast<double>(config.classes);
}

}  // namespace isobit::models
