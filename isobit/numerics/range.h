// The numbers start, start + delta, start + 2 delta, ... that come before a limit (ONNX Range).
//
// Determinism: written operations on float64, and integers modulo 2^bits; the same on every machine. For translation
// units of the baseline machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace isobit::numerics {

// How many there are. Integers: exactly. Floating point: ceil((limit - start) / delta), difference and quotient each
// rounded to float64; none where that is not above 0. nullopt: delta is 0, an operand is no finite number, or there are
// more than 2^62.
template <class T>
std::optional<int64_t> range_count(T start, T limit, T delta) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  if (delta == T(0)) return std::nullopt;
  if constexpr (std::is_integral_v<T>) {
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    const uint64_t from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit);
    const uint64_t step = static_cast<uint64_t>(delta);
    const uint64_t count = delta > 0 ? (to - from - 1) / step + 1 : (from - to - 1) / (0 - step) + 1;
    if (count > kMost) return std::nullopt;
    return static_cast<int64_t>(count);
  } else {
    if (!std::isfinite(start) || !std::isfinite(limit) || !std::isfinite(delta)) return std::nullopt;
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    if (!(count <= static_cast<double>(kMost))) return std::nullopt;
    return count > 0 ? static_cast<int64_t>(count) : 0;
  }
}

// Number i of them: integers modulo 2^bits; floating point start + i * delta in float64, each operation rounded, then
// rounded to T.
template <class T>
T range_element(T start, T delta, int64_t i) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
  } else {
    const double distance = static_cast<double>(i) * static_cast<double>(delta);
    return static_cast<T>(static_cast<double>(start) + distance);
  }
}

}  // namespace isobit::numerics
