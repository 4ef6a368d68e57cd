// Sums and functions of engines that live in a Python: NumPy, PyTorch, ONNX Runtime, TensorFlow.
//
// The worker (scripts/engines/reveal_worker.py) is built into the program and runs in the interpreter that the caller
// names. docs/reveal.md has the frames.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isobit/lab/reveal/functions.h"
#include "isobit/lab/reveal/summation.h"
#include "isobit/lab/reveal/worker_process.h"

namespace isobit::lab::reveal {

// Engines that the worker knows.
const std::vector<std::string>& worker_engines();

struct EngineChoice {
  std::string engine;  // one of worker_engines(), with or without a setting: "pytorch@channels_last"
  int threads = 1;
  std::string python = "python3";
  Patience patience = {};
};

// What the worker says of itself.
struct WorkerReady {
  std::string version, call;  // "NumPy 2.4.6", "numpy.sum of a vector"
  uint64_t at_once = 1;
  bool has_weights = false;
};
inline constexpr uint64_t kMostWorkerText = 4096;
// First answer of a worker. kUnavailable: its refusal, in its words; kUnreadable: no such answer.
Expected<WorkerReady> decode_ready(ByteView answer, const std::string& what);
// Every other answer: `count` float64 numbers.
Expected<std::vector<double>> decode_numbers(ByteView answer, uint64_t count, const std::string& what);

class WorkerSummation : public Summation {
 public:
  virtual const WorkerReady& ready() const = 0;
};

// Errors: kUsage as check(request); kUnavailable: no such interpreter or package, a target that the engine has not.
Expected<std::unique_ptr<WorkerSummation>> open_worker_summation(const SumRequest& request, const EngineChoice& choice);

// float32 functions; a process for each. The choice is copied.
Evaluate worker_functions(const EngineChoice& choice);

}  // namespace isobit::lab::reveal
