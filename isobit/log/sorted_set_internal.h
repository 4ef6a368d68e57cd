// A set of numbers below a limit, as Golomb-Rice codes of the gaps between them: about log2(limit / size) + 1.47 bits a
// number where the set is random, 0.03 above the entropy. R. F. Rice, JPL Publication 79-22 (1979).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isobit/log/bits_internal.h"
#include "isobit/log/step_log.h"

namespace isobit::log::internal {

inline constexpr unsigned kMaxRice = 63;
inline constexpr uint64_t kMaxLimit = kPositionLimit;

// The gap before each number counts the numbers it passes over: 0 where it follows its predecessor at once.
// The parameter that codes the set in the fewest bits; the smallest of several. 0 of the empty set.
// REQUIRES sorted strictly ascending, below kMaxLimit.
unsigned best_rice(std::span<const uint64_t> sorted);

// Each gap g: g >> rice zeros, a one, the low `rice` bits of g.
void write_sorted(BitWriter& writer, std::span<const uint64_t> sorted, unsigned rice);

enum class SetFault {
  kNone,
  kCut,         // the bits end inside the set
  kOutOfRange,  // number `numbers.size()` (from 0) is at least the limit
  kNotBest,     // `rice` is not best_rice(numbers)
};

struct ReadSet {
  SetFault fault = SetFault::kNone;
  std::vector<uint64_t> numbers;  // strictly ascending, below the limit
};

// `count` numbers below `limit`. Allocates in proportion to the bits that are there.
// REQUIRES count <= limit <= kMaxLimit, rice <= kMaxRice.
ReadSet read_sorted(BitReader& reader, uint64_t count, uint64_t limit, unsigned rice);

}  // namespace isobit::log::internal
