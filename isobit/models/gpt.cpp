#include "isobit/models/gpt.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/models/layers.h"

namespace isobit::models {
namespace {

using Ints = std::vector<int64_t>;
using V = graph::ValueId;

constexpr Init kEmbedded{Init::Kind::kNormal, 0.02f};

Status check(const ModelConfig& config) {
  const auto wrong = [&](auto&&... words) { return unreadable(text_of("model '", config.builder, "': ", words...)); };
  if (config.input_shape.size() != 1) {
    return wrong("found samples of shape ", Shape(config.input_shape).text(), ", expected [context]: token sequences");
  }
  if (config.layers < 1 || config.layers > 200 || config.heads < 1 || config.channels < 1 ||
      config.channels > 1 << 16 || config.channels % config.heads != 0) {
    return wrong("layers must be 1 to 200 and channels a multiple of heads");
  }
  if (config.positions != 0 && config.positions < config.input_shape[0]) {
    return wrong("has ", config.positions, " positions (model.positions), and samples of ", config.input_shape[0],
                 " tokens; make data.context as small");
  }
  if (!(config.dropout >= 0 && config.dropout < 1)) return wrong("dropout must be in [0, 1)");
  return {};
}

class Gpt {
 public:
  Gpt(const ModelConfig& config, const GptForm& form, Model& model)
      : config_(config), form_(form), layers_(config, model), graph_(model.graph) {}

  V run(V input) {
    const int64_t context = config_.input_shape[0], rows = config_.batch * context, c = config_.channels;
    const V tokens = layers_.parameter(text_of(form_.root, "wte.weight"), {config_.classes, c}, kEmbedded);
    const V places = positions(context);
    V x = graph_.emit("Gather", {tokens, input}, {}, "embedded");
    x = graph_.emit("Add", {x, places}, {}, "positioned");
    x = layers_.dropout(graph_.emit("Reshape", {x}, {{"shape", Ints{rows, c}}}, "rows"));
    for (int64_t l = 0; l < config_.layers; ++l) x = block(text_of(form_.root, form_.block, l), x, context);
    x = layers_.layer_norm(text_of(form_.root, "ln_f"), x);
    return graph_.emit("Gemm", {x, tokens}, {{"transB", int64_t{1}}}, "logits");
  }

 private:
  V positions(int64_t context) {
    const int64_t there = std::max(config_.positions, context), c = config_.channels;
    const V all = layers_.parameter(text_of(form_.root, "wpe.weight"), {there, c}, kEmbedded);
    if (there == context) return all;
    return graph_.emit("isobit.Block", {all}, {{"starts", Ints{0, 0}}, {"counts", Ints{context, c}}}, "positions");
  }

  V linear(const std::string& name, V x, int64_t out, float deviation) {
    return layers_.linear_normal(name, x, out, deviation, form_.in_first);
  }

  V block(const std::string& name, V x, int64_t context) {
    const int64_t c = config_.channels;
    const auto called = [&](const char* part) { return text_of(name, ".", part); };
    // Residual branches start smaller, so that their sum over the layers starts at unit scale.
    const auto branch = static_cast<float>(0.02 / std::sqrt(2.0 * static_cast<double>(config_.layers)));
    V y = linear(called(form_.qkv), layers_.layer_norm(called(form_.norm1), x), 3 * c, 0.02f);
    y = layers_.causal_attention(text_of(name, ".attn"), y, context);
    y = layers_.dropout(linear(called(form_.attention_out), y, c, branch));
    x = graph_.emit("Add", {x, y}, {}, name + ".mid");
    y = linear(called(form_.feed), layers_.layer_norm(called(form_.norm2), x), 4 * c, 0.02f);
    y = graph_.emit("Gelu", {y}, {{"approximate", std::string("tanh")}}, name + ".mlp.gelu");
    y = layers_.dropout(linear(called(form_.feed_out), y, c, branch));
    return graph_.emit("Add", {x, y}, {}, name);
  }

  const ModelConfig& config_;
  const GptForm& form_;
  Layers layers_;
  graph::Graph& graph_;
};

}  // namespace

Status gpt(const ModelConfig& config, const GptForm& form, Model& model) {
  ISOBIT_RETURN_IF_ERROR(check(config));
  const V input = model.graph.add_input("input", DType::kInt64, {config.batch, config.input_shape[0]});
  model.inputs = {input};
  model.output = Gpt(config, form, model).run(input);
  return {};
}

double largest_of_gpt(const ModelConfig& config) {
  double sample = 1;
  for (const int64_t d : config.input_shape) sample *= static_cast<double>(d);
  const auto c = static_cast<double>(config.channels), classes = static_cast<double>(config.classes);
  const double rows = static_cast<double>(config.batch) * sample;
  return std::max({rows * 4 * c, rows * sample * static_cast<double>(config.heads), rows * classes, 4 * c * c,
                   std::max(classes, static_cast<double>(config.positions)) * c});
}

}  // namespace isobit::models
