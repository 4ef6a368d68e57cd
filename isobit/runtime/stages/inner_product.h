// Which operators are inner products, and the matrices that such a node computes.
#pragma once

#include <string>
#include <vector>

#include "isobit/kernels/rounding/exact_value.h"
#include "isobit/kernels/rounding/near_ties.h"
#include "isobit/platform/arithmetic.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

// The rules of the stages are written in the words of kernels/rounding.
using kernels::rounding::adds_exactly;
using kernels::rounding::auditor_width;
using kernels::rounding::Candidates;
using kernels::rounding::candidates;
using kernels::rounding::Decided;
using kernels::rounding::evaluate_exactly;
using kernels::rounding::evaluate_outputs;
using kernels::rounding::exact_width;
using kernels::rounding::ExactOutput;
using kernels::rounding::ExactValue;
using kernels::rounding::kMostTerms;
using kernels::rounding::kUnit;
using kernels::rounding::locate;
using kernels::rounding::magnitude_bound;
using kernels::rounding::magnitude_of;
using kernels::rounding::NearTie;
using kernels::rounding::ProductBlock;
using kernels::rounding::round_decided;
using kernels::rounding::superfluous_width;
using kernels::rounding::trainer_width;

// How many products each output of an inner product (graph::OpDef) is the sum of: k. REQUIRES static inputs and
// outputs.
int64_t terms_of(const graph::Graph& graph, const graph::Node& node);

// kUnreadable where a product of the graph has more terms than the arithmetic's bounds cover; says which one.
// REQUIRES a static graph.
Status check_terms(const graph::Graph& graph, const platform::Arithmetic& arithmetic);

// The matrices of a call that has run; none if it has no outputs. REQUIRES an inner product, float64 operands.
std::vector<ProductBlock> product_blocks(KernelCall& call);
// The same for an observer, who must not write to them. Valid as long as the run.
std::vector<ProductBlock> product_blocks(const NodeRun& run);

}  // namespace isobit::runtime
