// From a real number to an integer, the same on every machine.
#pragma once

#include <limits>

namespace isobit::kernels {

// x truncated toward zero, then clamped to the range of To; NaN gives 0. What an instruction does with a number out of
// range differs between machines, so that such a number is replaced before it is converted.
template <class To, class From>
To truncated(From x) {
  // 2^bits and -2^bits of the range are exact in From; the largest integer need not be.
  constexpr From kAbove = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  constexpr From kLowest = static_cast<From>(std::numeric_limits<To>::lowest());
  const bool below = x < kLowest, above = x >= kAbove, inside = x >= kLowest && x < kAbove;
  const To y = static_cast<To>(inside ? x : From(0));
  return below ? std::numeric_limits<To>::lowest() : above ? std::numeric_limits<To>::max() : y;
}

}  // namespace isobit::kernels
