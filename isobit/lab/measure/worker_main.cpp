// isobit-worker-MACHINE: what a sweep on another machine runs under an emulator (docs/lab.md). It runs models and
// trains nothing.
#include <cstdio>
#include <cstring>

#include "isobit/base/fp_env.h"
#include "isobit/lab/measure/native_worker.h"

int main(int argc, char** argv) {
  using namespace isobit;
  if (argc != 4 || std::strcmp(argv[1], lab::measure::kWorkerWord) != 0) {
    std::fprintf(stderr, "usage: %s %s REQUEST.json FOLDER\n", argv[0], lab::measure::kWorkerWord);
    return static_cast<int>(ErrorCode::kUsage);
  }
  pin_fp_environment();
  const Status done = lab::measure::run_native_worker(argv[2], argv[3]);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return static_cast<int>(done.error().code);
}
