// The same graph computed in another real type: of the arithmetics that round afterwards, or not at all.
#pragma once

#include "isobit/graph/graph.h"

namespace isobit::graph {

// Every value of type `from` is to have type `to`. REQUIRES two different real types.
struct RetypePolicy {
  DType from;
  DType to;
};
inline constexpr RetypePolicy kInFloat64{.from = DType::kFloat32, .to = DType::kFloat64};

// Values of other types stay. An attribute that says the type of an output says the other one (OpDef::retyped).
// Constants are converted: exactly to a wider type, to the nearest in a narrower one. Ids,
// names and order of values and nodes are those of `graph`; graphs that nodes run are retyped with it. Errors
// (kUnreadable): an operator that does not compute in any real type (OpDef::any_real_type) and does not say its type
// itself, or that does not accept its operands in theirs.
Expected<Graph> retype(const Graph& graph, const RetypePolicy& policy);

}  // namespace isobit::graph
