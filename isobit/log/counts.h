// What a logged step came to, per operator: for reports, never for the bits.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace isobit::log {

struct Counts {
  uint64_t elements = 0;     // outputs that may have an entry
  uint64_t entries = 0;      // of the log
  uint64_t needed = 0;       // outputs that this platform cannot decide without an entry (sparse)
  uint64_t corrections = 0;  // entries that differ from what this platform would have rounded to
  uint64_t moved = 0;        // entries whose value is not what the exact value rounds to: the same for every auditor
  uint64_t evaluated = 0;    // outputs whose terms cancel: evaluated exactly, nothing written down
  uint64_t sampled = 0;      // outputs of the products that the rotating sample was taken of
  uint64_t checked = 0;      // outputs of that sample, which were set against their exact values
  // Findings, that is, what an honest trainer's log does not have:
  uint64_t missing = 0;      // needed, without an entry, and settled exactly
  uint64_t superfluous = 0;  // entries far from any boundary, or of values that no log decides
  uint64_t beyond = 0;       // entries outside the calibrated bound and inside the sound one

  Counts& operator+=(const Counts& o) {
    elements += o.elements;
    entries += o.entries;
    needed += o.needed;
    corrections += o.corrections;
    moved += o.moved;
    evaluated += o.evaluated;
    sampled += o.sampled;
    checked += o.checked;
    missing += o.missing;
    superfluous += o.superfluous;
    beyond += o.beyond;
    return *this;
  }
  uint64_t findings() const { return missing + superfluous + beyond; }
};

// How many entries of an honest sparse log say another value than the exact one rounds to, at most, but for a chance
// below 1e-9. An entry is written within 2 d of a boundary, and it says another value where the boundary lies between
// the trainer's result and the exact value, at most d / 2 apart: an eighth of the entries at most, if boundaries lie
// evenly. A forger, who may choose either side, comes to twice that.
double most_expected_moves(const Counts& counts);

using CountsByOperator = std::map<std::string, Counts>;

inline Counts total(const CountsByOperator& counts) {
  Counts sum;
  for (const auto& [op, c] : counts) sum += c;
  return sum;
}

}  // namespace isobit::log
