// Where Python engines and programs of other machines are found: --python, --engines and --emulated; and this program
// as a worker of a sweep.
#pragma once

#include "isobit/cli/command.h"
#include "isobit/lab/measure/engines.h"

namespace isobit::cli {

// The interpreter: `given`, or $ISOBIT_PYTHON, or python3.
std::string python_of(const std::string& given);

struct EngineOptions {
  std::string python, engines, emulated;
};
void add_engine_options(Command& command, EngineOptions& options);
void add_emulated_option(Command& command, EngineOptions& options);
lab::measure::WorkerPlaces places_of(const EngineOptions& options);

// isobit --worker REQUEST.json FOLDER: the exit code.
int be_worker(const char* request, const char* folder);

}  // namespace isobit::cli
