// The operating system's randomness: for keys, names and draws that nobody may foresee. Nothing that is computed.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/base/status.h"

namespace isobit {

// kUnavailable when the operating system gives none.
Status fill_random(std::span<uint8_t> bytes);

}  // namespace isobit
