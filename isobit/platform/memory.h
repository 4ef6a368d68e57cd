// How much memory this machine lets the process have.
#pragma once

#include <cstdint>

namespace isobit::platform {

// The least of physical memory and the limits of the control groups (version 1 or 2) that the process is in. Linux; 0
// where it cannot be found out.
uint64_t available_memory();

}  // namespace isobit::platform
