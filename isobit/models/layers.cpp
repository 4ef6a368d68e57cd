#include "isobit/models/layers.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "isobit/base/text.h"

namespace isobit::models {

using graph::Attributes;
using graph::kNoValue;
using Ints = std::vector<int64_t>;
using V = Layers::V;

Expected<V> image_input(const ModelConfig& config, Model& model, int64_t smallest_side) {
  const Ints& s = config.input_shape;
  if (s.size() != 3 || s[1] < smallest_side || s[2] < smallest_side || s[0] < 1) {
    return unreadable(text_of("model '", config.builder, "': found samples of shape ", Shape(s).text(),
                              ", expected [channels, height, width] of at least ", smallest_side, " by ",
                              smallest_side));
  }
  model.inputs = {model.graph.add_input("input", DType::kFloat32, {config.batch, s[0], s[1], s[2]})};
  return model.inputs[0];
}

V Layers::parameter(const std::string& name, Ints dims, Init init) {
  const bool matrix = dims.size() >= 2;
  const V value = graph().add_input(name, DType::kFloat32, std::move(dims));
  model_.parameters.push_back({name, value, init, matrix});
  return value;
}

namespace {

// sqrt is one IEEE operation, so the bound is the same everywhere.
Init he_uniform(int64_t fan_in) {
  return {Init::Kind::kUniform, static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in)))};
}
constexpr Init kZero{Init::Kind::kConstant, 0};
constexpr Init kOne{Init::Kind::kConstant, 1};

}  // namespace

V Layers::linear(const std::string& name, V x, int64_t out, bool bias) {
  const int64_t in = graph().value(x).dims[1];
  const V weights = parameter(name + ".weight", {out, in}, he_uniform(in));
  std::vector<V> inputs = {x, weights};
  if (bias) inputs.push_back(parameter(name + ".bias", {out}, kZero));
  return graph().emit("Gemm", inputs, {{"transB", int64_t{1}}}, name);
}

V Layers::linear_normal(const std::string& name, V x, int64_t out, float deviation, bool in_first) {
  const int64_t in = graph().value(x).dims[1];
  const Ints dims = in_first ? Ints{in, out} : Ints{out, in};
  const V weights = parameter(name + ".weight", dims, {Init::Kind::kNormal, deviation});
  const V bias = parameter(name + ".bias", {out}, kZero);
  Attributes attributes;
  if (!in_first) attributes.set("transB", int64_t{1});
  return graph().emit("Gemm", {x, weights, bias}, attributes, name);
}

V Layers::conv(const std::string& name, V x, const ConvOptions& options) {
  const int64_t ic = graph().value(x).dims[1], oc = options.channels;
  const int64_t kernel = options.kernel, stride = options.stride, pad = options.pad;
  const V weights = parameter(name + ".weight", {oc, ic, kernel, kernel}, he_uniform(ic * kernel * kernel));
  std::vector<V> inputs = {x, weights};
  if (options.bias) inputs.push_back(parameter(name + ".bias", {oc}, kZero));
  return graph().emit(
      "Conv", inputs,
      {{"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}},
      name);
}

int64_t Layers::values_of_a_channel(V x) const {
  const Ints& dims = model_.graph.value(x).dims;
  return std::accumulate(dims.begin() + 2, dims.end(), dims[0], std::multiplies<>());
}

V Layers::batch_norm(const std::string& name, V x) {
  const int64_t c = graph().value(x).dims[1];
  const V scale = parameter(name + ".weight", {c}, kOne), bias = parameter(name + ".bias", {c}, kZero);
  const std::string mean_name = name + ".running_mean", var_name = name + ".running_var";
  const V mean = graph().add_input(mean_name, DType::kFloat32, {c});
  const V var = graph().add_input(var_name, DType::kFloat32, {c});
  V new_mean = kNoValue, new_var = kNoValue, y = kNoValue;
  if (config_.training && !config_.keeps_statistics(mean_name, var_name)) {
    const auto stats = graph().emit_all("isobit.BatchStatistics", {x}, {}, {name + ".mean", name + ".var"});
    const Attributes momentum = {{"momentum", 0.9}};
    new_mean = graph().emit("isobit.RunningUpdate", {mean, stats[0]}, momentum, mean_name + ".next");
    Attributes of_variance = momentum;
    if (config_.running_variance == RunningVariance::kUnbiased) of_variance.set("count", values_of_a_channel(x));
    new_var = graph().emit("isobit.RunningUpdate", {var, stats[1]}, of_variance, var_name + ".next");
    y = graph().emit("isobit.BatchNormApply", {x, scale, bias, stats[0], stats[1]}, {}, name);
  } else {
    y = graph().emit("BatchNormalization", {x, scale, bias, mean, var}, {}, name);
  }
  model_.buffers.push_back({mean_name, mean, new_mean, kZero});
  model_.buffers.push_back({var_name, var, new_var, kOne});
  return y;
}

V Layers::layer_norm(const std::string& name, V x) {
  const int64_t c = graph().value(x).dims.back();
  const V scale = parameter(name + ".weight", {c}, kOne), bias = parameter(name + ".bias", {c}, kZero);
  return graph().emit_all("LayerNormalization", {x, scale, bias}, {}, {name, name + ".mean", name + ".inv_std"})[0];
}

V Layers::relu(V x) { return graph().emit("Relu", {x}, {}, "relu"); }

V Layers::max_pool(V x, int64_t kernel, int64_t stride, int64_t pad) {
  if (stride == 0) stride = kernel;
  Attributes attributes = {{"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}};
  if (pad > 0) attributes.set("pads", Ints{pad, pad, pad, pad});
  return graph().emit_all("MaxPool", {x}, attributes, {"pool", "pool.indices"})[0];
}

V Layers::flatten(V x) { return graph().emit("Flatten", {x}, {}, "flatten"); }

V Layers::dropout(V x) {
  if (!config_.training || config_.dropout == 0) return x;
  if (model_.step == kNoValue) model_.step = graph().add_input("step", DType::kInt64, {});
  return graph().emit("isobit.Dropout", {x, model_.step},
                      {{"seed", static_cast<int64_t>(config_.seed)}, {"node", dropouts_++}, {"ratio", config_.dropout}},
                      "dropout");
}

// Part 0, 1 or 2 (queries, keys, values) of qkv [B*T, 3C] as [B, heads, T, C / heads].
V Layers::heads_of(const std::string& name, V qkv, int64_t part, int64_t context) {
  const int64_t rows = graph().value(qkv).dims[0], c = config_.channels;
  const V block = graph().emit("isobit.Block", {qkv}, {{"starts", Ints{0, part * c}}, {"counts", Ints{rows, c}}}, name);
  const V split = graph().emit("Reshape", {block},
                               {{"shape", Ints{rows / context, context, config_.heads, c / config_.heads}}}, name);
  return graph().emit("Transpose", {split}, {{"perm", Ints{0, 2, 1, 3}}}, name);
}

V Layers::causal_attention(const std::string& name, V qkv, int64_t context) {
  const int64_t rows = graph().value(qkv).dims[0], c = config_.channels;
  const V q = heads_of(name + ".q", qkv, 0, context), k = heads_of(name + ".k", qkv, 1, context),
          v = heads_of(name + ".v", qkv, 2, context);
  const V scores = graph().emit("MatMul", {q, k}, {{"transB", int64_t{1}}}, name + ".scores");
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c / config_.heads)));
  const V scaled = graph().emit("Mul", {scores, graph().add_initializer(name + ".scale", Tensor::scalar(scale))}, {},
                                name + ".scaled");
  const V weights = dropout(graph().emit("isobit.CausalSoftmax", {scaled}, {}, name + ".weights"));
  const V mixed = graph().emit("MatMul", {weights, v}, {}, name + ".mixed");
  const V together = graph().emit("Transpose", {mixed}, {{"perm", Ints{0, 2, 1, 3}}}, name + ".together");
  return graph().emit("Reshape", {together}, {{"shape", Ints{rows, c}}}, name + ".heads");
}

}  // namespace isobit::models
