// That each library computes on as many threads as are measured, each on a processor of its own.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "bench/rivals.h"

namespace isobit::bench {

// Longer than any library's threads spin once they have nothing to do.
inline constexpr auto kPause = std::chrono::milliseconds(50);

[[noreturn]] void end(const std::string& message);  // as a usage error

// Confines this process to so many processors, the last that it may run on.
void confine(int threads);

struct Computing {
  std::string name;
  std::function<void(const Product&)> product;
};

// Ends the program where one computes on more threads than that, or on fewer, by the time that they ran. `bind` then
// binds the first, which is the caller, and the others of each to processors of their own.
void check_threads(int threads, const std::vector<Computing>& all, bool bind);

}  // namespace isobit::bench
