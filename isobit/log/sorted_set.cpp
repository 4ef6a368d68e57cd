#include "isobit/log/sorted_set_internal.h"

namespace isobit::log::internal {
namespace {

// Calls f with every gap.
template <class F>
void each_gap(std::span<const uint64_t> sorted, F f) {
  uint64_t next = 0;
  for (const uint64_t number : sorted) {
    f(number - next);
    next = number + 1;
  }
}

}  // namespace

unsigned best_rice(std::span<const uint64_t> sorted) {
  // One bit more of parameter costs one bit a number and saves ceil((g >> rice) / 2) zeros a gap. The saving does not
  // grow with the parameter, so the first step that does not pay is followed by none that does.
  for (unsigned rice = 0;; ++rice) {
    uint64_t saved = 0;
    each_gap(sorted, [&](uint64_t gap) { saved += ((gap >> rice) + 1) >> 1; });
    if (saved <= sorted.size()) return rice;
  }
}

void write_sorted(BitWriter& writer, std::span<const uint64_t> sorted, unsigned rice) {
  each_gap(sorted, [&](uint64_t gap) {
    writer.unary(gap >> rice);
    writer.bits(gap & ((uint64_t{1} << rice) - 1), rice);
  });
}

ReadSet read_sorted(BitReader& reader, uint64_t count, uint64_t limit, unsigned rice) {
  ISOBIT_CHECK(count <= limit && limit <= kMaxLimit && rice <= kMaxRice);
  ReadSet set;
  // The least that a number takes.
  if (count > reader.remaining() / (rice + 1)) {
    set.fault = SetFault::kCut;
    return set;
  }
  set.numbers.reserve(static_cast<size_t>(count));
  uint64_t next = 0;  // the smallest that may follow
  for (uint64_t i = 0; i < count; ++i) {
    set.fault = SetFault::kOutOfRange;
    if (next == limit) return set;
    uint64_t zeros = 0;
    const auto unary = reader.unary((limit - 1 - next) >> rice, zeros);
    if (unary == BitReader::Unary::kOverLimit) return set;
    const auto low = unary == BitReader::Unary::kRead ? reader.bits(rice) : std::nullopt;
    if (!low) {
      set.fault = SetFault::kCut;
      return set;
    }
    // zeros << rice is at most limit - 1 - next, so the sum stays below 2^62 + 2^63.
    const uint64_t number = next + ((zeros << rice) | *low);
    if (number >= limit) return set;
    set.numbers.push_back(number);
    next = number + 1;
  }
  set.fault = best_rice(set.numbers) == rice ? SetFault::kNone : SetFault::kNotBest;
  return set;
}

}  // namespace isobit::log::internal
