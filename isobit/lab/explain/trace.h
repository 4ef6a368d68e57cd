// The recorded values of several runs beside one another, in execution order.
//
// Determinism class: the same records give the same trace on every machine.
#pragma once

#include "isobit/lab/deviation/comparison.h"

namespace isobit::lab::explain {

struct TracedValue {
  int64_t step = 0;
  std::string name, op;
  std::optional<size_t> node;  // of the graph; none: nobody recorded the graph, or it has no such value
  int occurrence = 0;          // a loop makes several values of one name
  // Of each platform of the comparison; null, and class 0, where it did not record the value. The records are those of
  // the runs that the trace was made of, which must outlive it.
  std::vector<const records::ValueRecord*> at;
  std::vector<int> classes;  // from 1, in order of first appearance: type, dimensions and bits compared
  int class_count = 0;
  size_t recorded = 0;  // platforms that recorded it
};

struct Trace {
  std::vector<TracedValue> values;  // by step, then in execution order
  size_t platforms = 0;             // with recorded operators
};

// Of the runs with recorded operators, the first repeat of each platform. Where the graph is known its order is the
// order within a step; where it is not, a value that only some platforms have stands behind the one that precedes it
// there. REQUIRES the runs that the comparison was made of.
Trace align(const deviation::Comparison& comparison, const std::vector<records::RunRecord>& runs,
            const std::vector<records::GraphNode>& graph);

}  // namespace isobit::lab::explain
