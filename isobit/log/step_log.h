// The rounding decisions of one training step, as the trainer's stage makes them and the auditor's follows them.
// Bytes: docs/formats/rounding-log.md. Nodes are those of the step graph, by their index in it.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "isobit/log/kind.h"

namespace isobit::log {

inline constexpr uint64_t kPositionLimit = uint64_t{1} << 62;

// One value too close to a rounding boundary for every platform to round it alike.
struct SparseEntry {
  // Which of the two neighbours of the boundary was taken: the one whose last kept significand bit is 0 or 1; or, where
  // more than two values were in reach, the value itself.
  enum class Kind : uint8_t { kEven = 0, kOdd = 1, kValue = 2 };

  uint64_t position = 0;  // below kPositionLimit; in the node's output 0, row-major
  Kind kind = Kind::kEven;
  float value = 0;  // of kValue; else +0
  bool operator==(const SparseEntry&) const = default;
};

struct SparseNode {
  uint32_t node = 0;
  std::vector<SparseEntry> entries;  // not empty; positions strictly ascending
  bool operator==(const SparseNode&) const = default;
};

struct SparseLog {
  std::vector<SparseNode> nodes;  // strictly ascending
  bool operator==(const SparseLog&) const = default;
};

// A ternary decision for every element of an output: 0 rounded down, 1 not written down, 2 rounded up.
struct OvtOutput {
  uint32_t node = 0;
  uint32_t output = 0;
  std::vector<uint8_t> decisions;  // one an element, row-major; each 0, 1 or 2
  bool operator==(const OvtOutput&) const = default;
};

struct OvtLog {
  std::vector<OvtOutput> outputs;  // strictly ascending by (node, output)
  bool operator==(const OvtLog&) const = default;
};

// Of one step, of either kind.
using StepLog = std::variant<SparseLog, OvtLog>;
inline Kind kind_of(const StepLog& log) { return static_cast<Kind>(log.index()); }

// An output that may have entries: what a decoder needs to know of the step graph.
struct LoggedOutput {
  uint32_t node = 0;
  uint32_t output = 0;
  uint64_t elements = 0;
};

}  // namespace isobit::log
