// Which instruction sets this machine has. The only place that asks the CPU.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// Every one that a build for some machine has: the reference, then slowest first.
std::vector<Isa> all_isas();

// Whether this build has kernels for `isa` and this CPU can run them. kReference and kPortable always.
bool isa_available(Isa isa);

// The fastest available.
Isa best_isa();

// The available ones, slowest first.
std::vector<Isa> available_isas();

// "avx2" -> Isa::kAvx2; nothing for an unknown name. Says nothing about availability.
std::optional<Isa> parse_isa(std::string_view name);

}  // namespace isobit::kernels
