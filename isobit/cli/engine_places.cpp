#include "isobit/cli/engine_places.h"

#include "isobit/lab/measure/native_worker.h"
#include "isobit/lab/measure/training_worker.h"

namespace isobit::cli {

std::string python_of(const std::string& given) {
  if (!given.empty()) return given;
  const std::string named = environment("ISOBIT_PYTHON");
  return named.empty() ? "python3" : named;
}

void add_emulated_option(Command& command, EngineOptions& o) {
  command.option("--emulated", "FOLDER", o.emulated,
                 "folder with isobit-worker-MACHINE for emulated processors (default: that of isobit)");
}

void add_engine_options(Command& command, EngineOptions& o) {
  command.option("--python", "PY", o.python, "interpreter that has the engines (default: $ISOBIT_PYTHON, or python3)");
  command.option("--engines", "FOLDER", o.engines,
                 "folder with a worker.py of your own (default: $ISOBIT_ENGINES, or the workers within isobit)");
  add_emulated_option(command, o);
}

lab::measure::WorkerPlaces places_of(const EngineOptions& o) {
  lab::measure::WorkerPlaces places;
  places.python = python_of(o.python);
  places.emulated = o.emulated;
  places.engines = o.engines.empty() ? environment("ISOBIT_ENGINES") : o.engines;
  return places;
}

int be_worker(const char* request, const char* folder) {
  Console console;
  const Status done = lab::measure::run_native_worker(request, folder, lab::measure::training_answer);
  if (done) return kAgreed;
  console.error(done.error());
  return static_cast<int>(done.error().code);
}

}  // namespace isobit::cli
