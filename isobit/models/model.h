// A network as a graph plus what training needs to know of it: parameters with their initial distribution, and buffers
// (batch-norm statistics) with the value that replaces them after a step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"

namespace isobit::models {

// The initial value of element i of parameter p (its place in Model::parameters) is a pure function of (seed, p, i):
//   kConstant  a
//   kUniform   (2u - 1) * a, u uniform on [0, 1) with 24 bits: one float32 multiplication
//   kNormal    z * a, z standard normal: one float32 multiplication
// but for kGiven, of which the network brings the values (Network::given_values).
struct Init {
  enum class Kind { kConstant, kUniform, kNormal, kGiven };
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
  graph::ValueId updated;  // kNoValue in an inference graph, and where training leaves it as it is
  Init init;
};

struct Model {
  graph::Graph graph;
  std::vector<graph::ValueId> inputs;       // one for each of ModelConfig::inputs, in their order
  graph::ValueId step = graph::kNoValue;    // int64 scalar, where dropout needs it
  graph::ValueId output = graph::kNoValue;  // of builders: scores [rows, classes]; rows = batch, or batch * context
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::vector<std::string> remarks;  // what of the network its owner should know: a sentence each
};

// What batch norm's running variance, which inference scales by, is an average of: with N values of a channel in a
// batch and Q the sum of their squared distances from the mean, Q / N as ONNX says, or Q / (N - 1) as PyTorch takes. In
// a training step both scale by Q / N.
enum class RunningVariance { kBiased, kUnbiased };

// By which statistics batch norm normalises in a training step: those of the batch, which the running ones follow, or
// the running ones, which stay as they are.
enum class BatchNorm { kTrain, kFrozen };

// What a network of torchvision begins with: a step from images of 224 by 224 to maps of 56 by 56, or none, which is
// how it is trained on images of 32 by 32.
enum class Form { kImagenet, kSmall };

// One thing that a network is fed, without the batch.
struct ModelInput {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape = {};
  bool is_target = false;  // what the samples are to come to, of a network that computes its loss itself
};

// In place of a builder: the network is that of a file, which Network::build knows to read.
inline constexpr const char* kFromFile = "onnx";

struct ModelConfig {
  std::string builder;  // one of builder_names(), or kFromFile
  int64_t batch = 1;
  std::vector<int64_t> input_shape;     // of builders, without the batch: [C, H, W], or [context] for gpt
  std::vector<ModelInput> inputs = {};  // of networks from files; a target, if there is one, is the last
  int64_t classes = 10;
  bool training = true;  // batch statistics and dropout, or running statistics and none
  uint64_t seed = 0;     // of dropout
  // resnet: residual blocks per stage and channels of the first of its three stages.
  int64_t blocks = 1;
  int64_t width = 16;
  RunningVariance running_variance = RunningVariance::kBiased;
  // gpt, gpt2: layers, heads and channels (a multiple of heads).
  int64_t layers = 2;
  int64_t heads = 4;
  int64_t channels = 64;
  int64_t positions = 0;  // that have an embedding, at least as many as a sample has tokens; 0: as many
  double dropout = 0;     // of builders that may drop
  // of builders that have both forms
  Form form = Form::kImagenet;
  // Of a file: where it lies, and which of its outputs is learnt from (at most one; none: the first).
  std::string onnx = {};
  std::vector<std::string> outputs = {};
  // A file of values that parameters and buffers begin with, in place of those that they would have.
  std::string weights = {};
  // Globs (matches_glob) over names of parameters and buffers that training leaves as they are.
  std::vector<std::string> freeze = {};
  BatchNorm batch_norm = BatchNorm::kTrain;

  bool freezes(const std::string& name) const;
  // Whether a batch norm with these running statistics normalises by them in a training step.
  bool keeps_statistics(const std::string& mean, const std::string& variance) const;
};

// What a builder is fed, and which members of ModelConfig give the size of its networks.
struct BuilderTraits {
  bool takes_tokens = false;     // int64 sequences; else float32 samples
  bool sized_by_blocks = false;  // blocks, width
  bool sized_by_layers = false;  // layers, heads, channels, positions
  bool may_drop = false;         // it reads dropout
  bool has_forms = false;        // it reads form
  bool may_normalise = false;    // by batch norm: it reads running_variance and batch_norm
  bool is_file = false;          // kFromFile: it reads onnx and outputs
};
// Of an unknown builder: none.
BuilderTraits traits_of(const std::string& builder);

// How files that the library of a builder's names writes may differ from what parameters and buffers are called.
struct WeightNames {
  std::string prefix = {};                       // of every name, which files of a part of the network leave out
  std::vector<std::string> passed_over = {};     // globs over whole names: constants, not parameters
  std::map<std::string, std::string> tied = {};  // a second name, and the parameter that it must be equal to
};
WeightNames weight_names_of(const std::string& builder);

// Errors: kUnreadable for an unknown builder (with the nearest one) or sizes that do not fit it.
Expected<Model> build_model(const ModelConfig& config);

std::vector<std::string> builder_names();
// And kFromFile.
std::vector<std::string> network_names();

}  // namespace isobit::models
