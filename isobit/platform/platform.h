// Where and how fast a graph runs: a value with a canonical text. It is no part of a job and, under an arithmetic that
// fixes the bits, cannot reach them.
//
//   ordered            the fastest instruction set of this machine, all its cores
//   ordered@avx2       that instruction set
//   ordered@portable/1t  ... and one thread
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/base/thread_pool.h"
#include "isobit/kernels/context.h"

namespace isobit::platform {

struct Platform {
  std::string backend = "ordered";
  kernels::Isa isa = kernels::Isa::kPortable;
  int threads = 1;

  std::string text() const;  // canonical, e.g. "ordered@avx512/2t"
};

// Errors: kUsage for a text that names no platform (with the nearest one), kUnavailable for one that this machine does
// not have.
Expected<Platform> parse_platform(std::string_view text);

// Every platform of this machine, on all its cores; slowest first.
std::vector<Platform> available_platforms();

// Cores this process may use.
int available_threads();

// A platform made ready: it owns the threads.
class Engine {
 public:
  explicit Engine(const Platform& platform) : platform_(platform), pool_(platform.threads) {}
  const Platform& platform() const { return platform_; }
  ThreadPool& pool() { return pool_; }
  kernels::KernelContext context() { return {platform_.isa, &pool_}; }

 private:
  Platform platform_;
  ThreadPool pool_;
};

}  // namespace isobit::platform
