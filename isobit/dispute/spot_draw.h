// What a spot check (spot_check.h) draws, and how likely a draw misses what is false.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/dispute/spot_message.h"
#include "isobit/train/trace_schema.h"

namespace isobit::dispute {

// What elements are drawn from, all alike: each node of the step with its outputs and statistics, and each part of the
// batch by itself. Entries without elements are left out. State and rates are checked as a whole, and so is what an
// inference is fed (is_fed_known).
std::vector<std::vector<uint64_t>> spot_units(const std::vector<train::TraceEntry>& schema, bool is_fed_known = false);

// Numbers that nobody knows who does not know the seed. REQUIRES a seed that verify::check_seed takes.
class SpotDraw {
 public:
  explicit SpotDraw(Bytes seed) : seed_(std::move(seed)) {}
  // Uniform in [0, n), another one each time. `history`: what was said before enters. REQUIRES n > 0.
  uint64_t below(uint64_t n, const commit::Digest& history);
  // A unit, then one of its entries, then an element of it. REQUIRES units of the schema.
  SpotPlace place(const std::vector<std::vector<uint64_t>>& units, const std::vector<train::TraceEntry>& schema,
                  const commit::Digest& history);

 private:
  const Bytes seed_;
  uint64_t next_ = 0;
};

// That none of `draws` is false where `fraction` of the elements of each entry of `false_units` units are, each of
// which is found, once it is drawn, with the probability `found` (of a sum in c chunks that is false in one of them, 1
// / c). REQUIRES false_units <= units, units > 0, and fractions.
double spot_miss_probability(uint64_t units, uint64_t false_units, uint64_t draws, double fraction, double found = 1);

}  // namespace isobit::dispute
