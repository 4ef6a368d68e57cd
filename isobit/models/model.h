// A network as a graph plus what training needs to know of it: parameters with their initial distribution, and buffers
// (batch-norm statistics) with the value that replaces them after a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"

namespace isobit::models {

// The initial value of element i of parameter p (its place in Model::parameters) is a pure function of (seed, p, i):
//   kConstant  a
//   kUniform   (2u - 1) * a, u uniform on [0, 1) with 24 bits: one float32 multiplication
//   kNormal    z * a, z standard normal: one float32 multiplication
struct Init {
  enum class Kind { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  float a = 0;
};

struct Parameter {
  std::string name;
  graph::ValueId value;
  Init init;
  bool decay = false;  // weight decay applies: matrices and kernels, not biases and norms
};

struct Buffer {
  std::string name;
  graph::ValueId value;
  graph::ValueId updated;  // kNoValue in an inference graph
  float initial;
};

struct Model {
  graph::Graph graph;
  graph::ValueId input = graph::kNoValue;
  graph::ValueId step = graph::kNoValue;    // int64 scalar, where dropout needs it
  graph::ValueId logits = graph::kNoValue;  // [rows, classes]; rows = batch, or batch * context for sequences
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
};

// What batch norm's running variance, which inference scales by, is an average of: with N values of a channel in a
// batch and Q the sum of their squared distances from the mean, Q / N as ONNX says, or Q / (N - 1) as PyTorch takes. In
// a training step both scale by Q / N.
enum class RunningVariance { kBiased, kUnbiased };

struct ModelConfig {
  std::string builder;  // "digits-cnn", "mnist-cnn", "resnet", "logistic", "gpt"
  int64_t batch = 1;
  std::vector<int64_t> input_shape;  // without the batch: [C, H, W], or [context] for gpt
  int64_t classes = 10;
  bool training = true;  // batch statistics and dropout, or running statistics and none
  uint64_t seed = 0;     // of dropout
  // resnet: residual blocks per stage and channels of the first of its three stages.
  int64_t blocks = 1;
  int64_t width = 16;
  RunningVariance running_variance = RunningVariance::kBiased;
  // gpt: layers, heads and channels (a multiple of heads).
  int64_t layers = 2;
  int64_t heads = 4;
  int64_t channels = 64;
  double dropout = 0;  // gpt only
};

// What a builder is fed, and which members of ModelConfig give the size of its networks.
struct BuilderTraits {
  bool takes_tokens = false;     // int64 sequences; else float32 samples
  bool sized_by_blocks = false;  // blocks, width; and it reads running_variance
  bool sized_by_layers = false;  // layers, heads, channels; and it reads dropout
};
// Of an unknown builder: none.
BuilderTraits traits_of(const std::string& builder);

// Errors: kUnreadable for an unknown builder (with the nearest one) or sizes that do not fit it.
Expected<Model> build_model(const ModelConfig& config);

std::vector<std::string> builder_names();

}  // namespace isobit::models
