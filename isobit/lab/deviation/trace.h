// The recorded values of several runs beside one another, in execution order.
//
// Determinism class: the same records give the same trace on every machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/lab/records/record.h"

namespace isobit::lab::deviation {

struct TracedValue {
  int64_t step = 0;
  std::string name, op;
  int occurrence = 0;          // a loop makes several values of one name
  std::optional<size_t> node;  // of the graph; none: nobody recorded the graph, or it has no such value
  // Of each platform; null, and class 0, where it did not record the value. The records are those of the runs that the
  // trace was made of, which must outlive it.
  std::vector<const records::ValueRecord*> at;
  std::vector<int> classes;  // from 1, in order of first appearance: type, dimensions and bits compared
  int class_count = 0;
  size_t recorded = 0;  // platforms that recorded it

  // Platforms that recorded it, by class.
  std::vector<std::vector<size_t>> groups() const;
};

struct Trace {
  std::vector<TracedValue> values;  // by step, then in execution order
  size_t platforms = 0;             // with recorded operators
};

// The runs of each platform, in order of first appearance, which is the order of Comparison::platforms. What failed is
// recorded with less than what ran: failures count among the runs of the platform that ran, where one of that name,
// version, processor and environment did (as a sweep knows it again, docs/lab.md), behind those runs; and else
// together.
std::vector<std::vector<const records::RunRecord*>> runs_by_platform(const std::vector<records::RunRecord>& runs);

// Which of one platform's runs say something.
struct Settled {
  std::vector<const records::RunRecord*> ran;  // that ran and gave values, and that no other record contradicts
  // Two records of one run (the same repeat, with or without recorded operators) that hold different values: nobody
  // knows which of them it was, so that neither counts. Of each such run the first two that differ.
  std::vector<std::pair<const records::RunRecord*, const records::RunRecord*>> contested;
};
Settled settled(const std::vector<const records::RunRecord*>& runs_of_a_platform);

// Of the settled runs with recorded operators, the first repeat of each platform. Where the graph is known its order is
// the order within a step; where it is not, a value that only some platforms have stands behind the one that precedes
// it there, so that a platform that fuses operators does not move those of the others.
Trace align(const std::vector<std::vector<const records::RunRecord*>>& platforms,
            const std::vector<records::GraphNode>& graph);

}  // namespace isobit::lab::deviation
