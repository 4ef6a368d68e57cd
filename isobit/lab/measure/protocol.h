// What a worker is asked and what it answers: docs/formats/engine-answer.md.
//
// A worker is a process of its own that runs one model once on one platform: a Python with an engine, or this program.
// What it answers is read as if a stranger had sent it.
#pragma once

#include "isobit/base/file.h"
#include "isobit/lab/records/record.h"

namespace isobit::lab::measure {

inline constexpr uint64_t kProtocol = 1;
inline constexpr uint64_t kMaxRequest = 1 << 20;  // bytes of a request
inline constexpr uint64_t kMaxAnswer = 32 << 20;  // bytes of answer.json
inline constexpr uint64_t kMaxEngines = 64;
inline constexpr uint64_t kMaxWords = 4096;  // of a refusal, and of what an engine says of itself
inline constexpr const char* kOwnEngine = "isobit";

struct WorkerInput {
  std::string name;  // as the file of the model has it
  fs::path file;     // .npy
};

struct WorkerRequest {
  std::string engine;    // kOwnEngine or a Python engine
  std::string setting;   // one of the engine's; of kOwnEngine the arithmetic
  std::string platform;  // canonical text, which the answer repeats
  int threads = 1;
  fs::path model;  // an ONNX file; of a training the job
  std::vector<WorkerInput> inputs;
  bool untapped = true, tapped = true;  // which runs are wanted, in this order
  std::vector<records::Hash128> keep;   // tensors that are to be kept, by their bytes
  uint64_t keep_bytes = 0;              // the most of them together
  uint64_t max_memory = UINT64_MAX;     // kOwnEngine's
  int64_t steps = 0;                    // of a training (kOwnEngine); 0: an inference
  std::vector<std::string> overrides;   // of the job: "schedule.warmup=0"
};

std::string encode(const WorkerRequest& request);
// kUnreadable for anything but what encode writes.
Expected<WorkerRequest> decode_request(ByteView json, const std::string& what);

struct WorkerRun {
  bool tapped = false;
  double seconds = 0;
  std::vector<records::ValueRecord> values;  // in execution order
};

struct WorkerAnswer {
  enum class Outcome {
    kRan,
    kUnavailable,  // this machine does not have the platform
    kRefused,      // the platform does not take the model
    kFailed,       // it tried
  };
  Outcome outcome = Outcome::kRan;
  std::string words;  // of an outcome other than kRan; the rest is empty then
  records::PlatformRecord platform;
  std::vector<WorkerRun> runs;
  std::vector<records::Hash128> kept;  // each in a file of the answer's folder, named file_of
  std::string job_root;                // of a training: of the job and data that it read, 64 hex digits; else ""
};

// An answer without runs.
WorkerAnswer silent(WorkerAnswer::Outcome outcome, const std::string& words);
// An error as what became of the platform: kUnavailable as kFailed, all others as kRefused.
WorkerAnswer silent(const Error& error);

std::string encode(const WorkerAnswer& answer);
// kUnreadable for anything but what encode writes; what is read is within the limits of a lab (records/encoding.h).
Expected<WorkerAnswer> decode_answer(ByteView json, const std::string& what);
// "<32 hex digits>.bin": the bytes of the tensor, row-major, little-endian.
std::string file_of(const records::Hash128& hash);

// What `worker.py --list` says of one engine.
struct EngineInfo {
  std::string engine, about;
  std::vector<std::string> settings, defaults;  // "": none is named; defaults are those that a sweep takes by itself
  std::string version;                          // "" where it is not installed
  std::string install;                          // how to get it; "" where it is installed
  bool installed() const { return install.empty(); }
};
Expected<std::vector<EngineInfo>> decode_engines(ByteView json, const std::string& what);

}  // namespace isobit::lab::measure
