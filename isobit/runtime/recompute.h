// Computing values of a forward pass a second time in place of keeping them: less memory, more time, the same bits.
//
// A training step keeps what the backward pass reads. Here some of these values are given up once the forward pass has
// read them, and come anew, under numbers of their own, right before the first node behind the loss that reads them. It
// is a matter of the plan: the nodes, their order and what an observer sees of them stay, each node is seen once.
//
// Which values: the forward pass is cut into parts of about as many bytes that are wanted later, where little crosses.
// Of each part is kept what makes all the rest of it computable, in as few bytes as possible: a minimum cut between
// what cannot be computed again (values of earlier parts, and, of kCheap, inner products) and what is wanted. So
// nothing is computed more than twice. Several numbers of parts are tried, of kEverything with and without inner
// products, and what holds least at once is taken; where nothing holds less, nothing is computed again. Source: T. Chen
// et al., Training deep nets with sublinear memory cost, 2016 (parts); minimum cuts as in the partitioner of functorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/platform/arithmetic.h"

namespace isobit::runtime {

enum class Recompute : uint8_t {
  kNothing,
  kCheap,       // what our own kernels compute alike on every platform: everything but inner products
  kEverything,  // inner products, too
};

struct Recomputation {
  Recompute what = Recompute::kNothing;
  // Where forward passes end, one after another: the loss of each micro-batch. What a value of these is computed from
  // belongs to its pass.
  std::vector<graph::ValueId> losses = {};
  // Of each pass; 0: the number with which least is held at once. Another one is taken whatever it holds.
  size_t parts = 0;
};

// "none", "cheap", "all"; kUsage for anything else.
Expected<Recompute> recompute_named(std::string_view name);
std::string_view name_of(Recompute what);

// Inner products have the same bits a second time where the arithmetic alone says which: one that follows a log decided
// them the first time, and of others nothing is promised. kUsage, with what to ask for instead.
Status check_recompute(Recompute what, const platform::Arithmetic& arithmetic);

struct StepList;  // plan.h

// The steps of `graph`, in its order, with such steps put between them.
Expected<StepList> with_recomputation(const graph::Graph& graph, StepList steps, const Recomputation& wanted);

}  // namespace isobit::runtime
