// What a machine can do at most, measured here and now: what the speed of an operator is held against.
#pragma once

#include "isobit/platform/platform.h"

namespace isobit::lab::profile {

// A second, of all threads together.
struct MachinePace {
  double float32 = 0;  // operations of fmas (two each) on operands in registers
  double float64 = 0;
  double bytes = 0;  // read and written, of arrays larger than what caches usually hold
};

// On the platform's instruction set and threads; takes some tenths of a second and kPaceBytes of memory for that long.
// The best of several tries, since what else runs only ever takes away. Throws as ThreadPool and std::vector do.
inline constexpr int64_t kPaceBytes = int64_t{256} << 20;
MachinePace measure_pace(const platform::Platform& platform, const platform::Clock& clock);

}  // namespace isobit::lab::profile
