// What a logged step came to, per operator: for reports, never for the bits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "isobit/base/status.h"
#include "isobit/runtime/stages/near_ties.h"

namespace isobit::runtime {

struct LogCounts {
  uint64_t elements = 0;     // outputs that may have an entry
  uint64_t entries = 0;      // of the log
  uint64_t needed = 0;       // outputs that this platform cannot decide without an entry (sparse)
  uint64_t corrections = 0;  // entries that differ from what this platform would have rounded to
  // Findings, that is, what an honest trainer's log does not have:
  uint64_t missing = 0;      // needed, without an entry, and settled exactly
  uint64_t superfluous = 0;  // entries far from any boundary, or of values that are exact everywhere
  uint64_t beyond = 0;       // entries outside the calibrated bound that exact evaluation found legal

  LogCounts& operator+=(const LogCounts& o) {
    elements += o.elements;
    entries += o.entries;
    needed += o.needed;
    corrections += o.corrections;
    missing += o.missing;
    superfluous += o.superfluous;
    beyond += o.beyond;
    return *this;
  }
  uint64_t findings() const { return missing + superfluous + beyond; }
};

// How many corrections honest platforms come to at most, but for a chance below 1e-9. An entry is written within 2 d of
// a boundary and corrected where the boundary lies between two results, at most d apart: a quarter of the entries at
// most, if boundaries lie evenly.
double most_expected_corrections(const LogCounts& counts);

using CountsByOperator = std::map<std::string, LogCounts>;

inline LogCounts total(const CountsByOperator& counts) {
  LogCounts sum;
  for (const auto& [op, c] : counts) sum += c;
  return sum;
}

// Why a log cannot be followed: what a verdict says.
struct LogFault {
  std::string op;  // name of the node
  std::string what;
};

// Checks one output of an inner product, drawn by `draw`, against its exact value: a platform whose error is beyond its
// bound must not sign. Call it before the outputs are rounded. kUnavailable: it is beyond, with both figures.
Status check_one_output(const KernelCall& call, const std::vector<ProductBlock>& blocks, double d, uint64_t draw);

}  // namespace isobit::runtime
