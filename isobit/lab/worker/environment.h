// Variables of the environment that decide what libraries compute: a person's shell may hold OpenBLAS to a core type,
// oneDNN to an instruction set or OpenMP to a number of threads, and a worker inherits that.
#pragma once

#include <string>

namespace isobit::lab::worker {

// Those that are set, by the prefixes of libraries and engines: "OPENBLAS_CORETYPE=Nehalem; XLA_FLAGS=...", sorted;
// "" where none is. A list of more than 1,000 bytes is its SHA-256. `environment` as the C library has it.
std::string computing_environment(const char* const* environment);
// Of this process.
std::string computing_environment();

}  // namespace isobit::lab::worker
