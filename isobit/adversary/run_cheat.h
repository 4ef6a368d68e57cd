// Dishonest trainers whose runs are false as a whole rather than in one value, for cheats() of cheat.h: what they begin
// with, which data they take, in what order, and what they say of the result.
#pragma once

#include "isobit/adversary/cheat.h"

namespace isobit::adversary {

const std::vector<Cheat>& run_cheats();

}  // namespace isobit::adversary
