// The matrices that a node which is an inner product (graph::OpDef) computes, and how long their sums are.
#pragma once

#include <string>
#include <vector>

#include "isobit/kernels/rounding/exact_value.h"
#include "isobit/kernels/rounding/near_ties.h"
#include "isobit/platform/arithmetic.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

// How many products each output of an inner product (graph::OpDef) is the sum of: k. REQUIRES static inputs and
// outputs.
int64_t terms_of(const graph::Graph& graph, const graph::Node& node);

// kUnreadable where a product of the graph has more terms than the arithmetic's bounds cover, which it names, and where
// nobody can say, since the graph is not static (specialise.h). An arithmetic without bounds takes every graph.
Status check_terms(const graph::Graph& graph, const platform::Arithmetic& arithmetic);

// The matrices of a call that has run; none if it has no outputs. REQUIRES an inner product, float64 operands.
std::vector<kernels::rounding::ProductBlock> product_blocks(KernelCall& call);
// The same for an observer, who must not write to them. Valid as long as the run.
std::vector<kernels::rounding::ProductBlock> product_blocks(const NodeRun& run);

}  // namespace isobit::runtime
