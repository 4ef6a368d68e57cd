// Platforms by their names: our own, those of vendors' libraries, and engines that live in a Python.
#pragma once

#include <functional>
#include <optional>

#include "isobit/base/temporary_folder.h"
#include "isobit/lab/measure/emulated_cpu.h"
#include "isobit/lab/measure/protocol.h"

namespace isobit::lab::measure {

inline constexpr const char* kEnvironmentField = "environment";

struct WorkerPlaces {
  fs::path program = "/proc/self/exe";  // isobit, which is a worker under kWorkerWord
  std::string python = "python3";       // a path or a name on PATH
  fs::path engines;                     // the folder with worker.py; empty: the one that is part of the program
  fs::path emulated;                    // the folder with programs of other machines; empty: the one of `program`
};

// Workers, ready to be started. Several may run at a time.
class Workers {
 public:
  // Makes a folder for what passes between; gone with the object. Those of processes that were killed are removed.
  // kUnavailable when it cannot be made.
  static Expected<Workers> prepare(const WorkerPlaces& places);

  const fs::path& folder() const { return folder_.path(); }
  // What every worker inherits (worker/environment.h), and what its platform's record has as kEnvironmentField where it
  // is not empty.
  const std::string& environment() const { return environment_; }
  // That processor's emulator as it says of itself: "qemu-x86_64 7.2.22". Once for each processor. kUnavailable where
  // it is not on PATH, or there is no isobit for its machine; with what gets them.
  Expected<std::string> emulator_of(const EmulatedCpu& cpu) const;
  // Engines that the Python's worker.py knows, installed or not. kUnavailable: no such interpreter, it fails, prints
  // without end, takes too long, or is stopped (child_process.h).
  Expected<std::vector<EngineInfo>> list(const std::function<bool()>& stopped = nullptr,
                                         double limit_seconds = 120) const;

  // One request in a fresh process, in a folder that is new; the answer, as far as it is one: whether it is one to this
  // request is for check_answer. Errors: kUnavailable for a worker that cannot be started, ends without an answer (its
  // last words in the message), is over its time or is stopped (child_process.h); kUnreadable for an answer that is
  // none.
  Expected<WorkerAnswer> run(const WorkerRequest& request, const fs::path& folder, double limit_seconds,
                             const std::function<bool()>& stopped) const;

 private:
  Workers(WorkerPlaces places, TemporaryFolder folder, Descriptor lock);
  std::vector<std::string> python_words() const;
  Expected<std::vector<std::string>> own_words(const std::string& platform) const;
  fs::path program_of(const EmulatedCpu& cpu) const;

  WorkerPlaces places_;
  TemporaryFolder folder_;
  Descriptor lock_;  // of the folder
  std::string environment_;
};

// A platform that is to be measured.
struct Target {
  std::string engine;    // kOwnEngine, which has vendors' libraries, too; or a Python engine
  std::string setting;   // of a Python engine
  std::string platform;  // canonical text: "openblas@haswell/1t", "onnxruntime@all/2t"
  int threads = 1;
  std::string version;  // of the engine, as its record will have it in the field of that name
  bool asked_for = false;
  const EmulatedCpu* cpu = nullptr;  // that it runs on, where that is not this machine's
  std::string emulator = {};         // of `cpu`, with its version; for a sweep to find out
};

// "onnxruntime@all/2t", "numpy", "openblas@haswell/1t", "ordered/1t:correct-1", "openblas/1t~nehalem", each once;
// without a number of threads all cores. Errors: kUsage for what no engine has, kUnavailable for one that is not
// installed, with what installs it.
Expected<std::vector<Target>> targets_named(const std::vector<std::string>& names,
                                            const std::vector<EngineInfo>& engines);
// Every platform that may be here, on one thread: our instruction sets, each library with each core type, and each
// engine that is installed with the settings that it tries by itself; no emulated processor, which takes long. Whether
// a core type runs here is for its worker to find out.
std::vector<Target> all_targets(const std::vector<EngineInfo>& engines);

}  // namespace isobit::lab::measure
