// Whether an arithmetic can keep over a graph what it promises: the same bits on every platform.
#pragma once

#include "isobit/graph/op.h"
#include "isobit/platform/arithmetic.h"

namespace isobit::runtime {

// No arithmetic promises results that depend on the platform, except those of inner products, which it computes itself.
bool can_promise(const platform::Arithmetic& arithmetic, const graph::OpDef& op);

// kUnreadable for a graph with an operator of which the arithmetic cannot promise anything, though it does; names the
// node. One that rounds inner products correctly takes no values of float16 or bfloat16. An arithmetic that promises
// nothing takes every graph. Graphs that operators run are looked at as well; an arithmetic that rounds every value
// (platform::Arithmetic::rounds) takes no operator that runs graphs.
Status check_promises(const graph::Graph& graph, const platform::Arithmetic& arithmetic);

}  // namespace isobit::runtime
