// A network that somebody brings as an ONNX file, run on a platform.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/lab/profile/steps_observer.h"
#include "isobit/onnx/model.h"
#include "isobit/platform/platform.h"
#include "isobit/runtime/executor.h"
#include "isobit/tensor/tensor.h"

namespace isobit::lab {

struct InferenceRequest {
  fs::path model;
  // By the name of the model's input; "" is the first input that no other one names.
  std::vector<NamedTensor> inputs;
  std::map<std::string, int64_t> extents;  // of dimensions that the model names ("batch") and no input settles
  // Inputs that are not given are drawn: real numbers from the standard normal distribution, integers from 0 to 7,
  // truth values by a coin; extents that nobody knows are 1. The same seed, model and shapes give the same numbers.
  uint64_t seed = 1;
  std::string arithmetic = "ordered-1";
  int repeat = 1;                    // REQUIRES at least 1
  uint64_t max_memory = UINT64_MAX;  // of all of it together, as far as it grows with the model and its inputs
  uint64_t max_tensor = UINT64_MAX;  // of one tensor that is drawn, or that a node makes
  int64_t max_trips = 1 << 20;       // of all loops of a run together
};

// What computed a convolution on a platform that names an algorithm.
struct ChosenKernel {
  std::string node;          // its name
  std::string src, weights;  // shapes: "[1, 16, 32, 32]"
  std::string kernel;        // kernels::ConvKernel
  std::string why;
};

struct Inference {
  std::vector<NamedTensor> inputs;   // as they were fed, in the model's order
  std::vector<NamedTensor> outputs;  // in the model's order
  std::vector<double> seconds;       // of each run, the first one with all that is made once
  platform::Repairs repairs;         // of correct-1
  // Of the first run, in the order of execution; empty on other platforms. Convolutions within If, Loop and Scan are
  // not among them: an observer sees such an operator as one.
  std::vector<ChosenKernel> chosen;
};

// The model's inputs under the names that its file has for them, in its order: those given, the others drawn. What
// every engine is fed that is to be compared. The model need not be one that isobit imports. Errors: as infer, as far
// as they concern the model's inputs.
Expected<std::vector<NamedTensor>> inputs_of(const InferenceRequest& request, ThreadPool& pool);
// The same of a model that was loaded from request.model, which is not read again.
Expected<std::vector<NamedTensor>> inputs_of(const InferenceRequest& request, const onnx::Model& model,
                                             ThreadPool& pool);

// A model made ready on a platform, with its inputs.
class ReadyInference {
 public:
  // Neither is kept; the engine must outlive it. request.repeat is not looked at. Errors: as infer.
  static Expected<ReadyInference> prepare(const InferenceRequest& request, platform::Engine& engine);
  ReadyInference(ReadyInference&&) noexcept;
  ReadyInference& operator=(ReadyInference&&) = delete;
  ~ReadyInference();

  const graph::Graph& graph() const;
  const std::vector<NamedTensor>& inputs() const;  // as they are fed, under the names of the graph
  platform::Repairs repairs() const;               // so far
  // Files that the model's tensors were read from, beside its own: relative to its folder, sorted.
  const std::vector<std::string>& external() const;

  struct Run {
    std::vector<NamedTensor> outputs;  // in the model's order
    double seconds = 0;
  };
  // Nothing is owned; null: none. A stage makes another inference of it than the model's.
  Expected<Run> run(runtime::Observer* observer = nullptr, runtime::Stage* stage = nullptr);
  // The same, written over an earlier run where nobody else holds its outputs; those of an error are lost.
  Status run_into(Run& done, runtime::Observer* observer = nullptr, runtime::Stage* stage = nullptr);

 private:
  struct Impl;
  explicit ReadyInference(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What computed the convolution that an observer has just seen: empty for another operator, and on a platform that
// names no algorithm.
kernels::ConvKernel conv_kernel_of(const runtime::NodeRun& run);

// Errors: kUsage for an input that the model does not have, one that is given twice, one too many, one of a rank that
// neither the model says nor a given tensor, and an extent that the model does not name or that is negative;
// kUnreadable for a model that cannot be imported (onnx/import.h), an input of another type or shape, a network of
// which the arithmetic promises nothing, and what is over a limit; kUnavailable where this machine has less memory than
// the limits allow, and when two runs of one input differ in a bit, which no platform may do. Determinism class: that
// of the arithmetic.
Expected<Inference> infer(const InferenceRequest& request, platform::Engine& engine);
// The same of one that was prepared for this request. observer: of the first run; of_all: of all runs, a step each.
// Neither is owned, null: none; there is at most one of them.
Expected<Inference> infer(const InferenceRequest& request, ReadyInference& ready, runtime::Observer* observer,
                          runtime::Stage* stage = nullptr, profile::StepsObserver* of_all = nullptr);

}  // namespace isobit::lab
