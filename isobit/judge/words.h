// Numbers and exact sums as words: what values of elements and states of sums are handed around as.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::judge {

template <class T>
uint64_t word_of(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(x);
  } else {
    return static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(x));
  }
}
// The bits that T does not have are left out.
template <class T>
T from_word(uint64_t word) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(word));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(word);
  } else {
    return static_cast<T>(word);
  }
}

// Every NaN of a real type the canonical one: which one it is says nothing, and differs between machines.
template <class T>
T tidy(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return numerics::canonical(x);
  } else {
    return x;
  }
}

inline constexpr size_t kExactWords = numerics::ExactAccumulator::kLimbs + 1;

inline void append_words(std::vector<uint64_t>& words, const numerics::ExactAccumulator& sum) {
  const numerics::ExactAccumulator::Limbs limbs = sum.limbs();
  words.insert(words.end(), limbs.begin(), limbs.end());
  words.push_back(static_cast<uint64_t>(sum.special()));
}

// False: the words from `at` on are none of a sum. REQUIRES kExactWords there.
inline bool take_words(const std::vector<uint64_t>& words, size_t at, numerics::ExactAccumulator& sum) {
  using numerics::ExactAccumulator;
  ExactAccumulator::Limbs limbs;
  std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(at), limbs.size(), limbs.begin());
  const uint64_t special = words[at + limbs.size()];
  const bool is_zero = std::all_of(limbs.begin(), limbs.end(), [](uint64_t limb) { return limb == 0; });
  if (special > static_cast<uint64_t>(ExactAccumulator::Special::kNan) || (special != 0 && !is_zero)) return false;
  sum = ExactAccumulator::from_limbs(limbs, static_cast<ExactAccumulator::Special>(special));
  return true;
}

}  // namespace isobit::judge
