// This program as a worker: one model, or some steps of a training, on one of its own platforms.
//
// A process runs one request in its life: a vendor's library keeps its core type until the process ends.
#pragma once

#include <functional>

#include "isobit/lab/measure/protocol.h"
#include "isobit/platform/platform.h"

namespace isobit::lab::measure {

inline constexpr const char* kWorkerWord = "--worker";  // isobit --worker REQUEST.json FOLDER

// Trains as a request with steps asks for, and says which arithmetic the job has. What goes wrong is the answer.
using Trainer = std::function<WorkerAnswer(const WorkerRequest& request, platform::Engine& engine,
                                           const fs::path& folder, std::string& arithmetic)>;

// Reads the request, runs it, and writes the answer and the tensors that are to be kept into the folder. What goes
// wrong with platform or model is the answer; an error is what keeps it from being read or written.
// Without a trainer trainings are refused.
Status run_native_worker(const fs::path& request, const fs::path& folder, const Trainer& train = nullptr);

// The same without files, but for the tensors that are kept.
WorkerAnswer answer_of(const WorkerRequest& request, const fs::path& folder, const Trainer& train = nullptr);

// "openblas@haswell/2t" and "ordered/1t:correct-1": a platform of ours and its arithmetic, float32 where none is named.
struct NativePlatform {
  platform::Platform platform;
  std::string arithmetic;
  std::string text() const;
};
// Errors: kUsage, kUnavailable as platform::parse_platform; kUsage for an arithmetic that is no inference's.
Expected<NativePlatform> parse_native_platform(const std::string& text);

}  // namespace isobit::lab::measure
