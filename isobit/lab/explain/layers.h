// How far the classes of each value lie apart, layer by layer.
#pragma once

#include "isobit/lab/deviation/comparison.h"
#include "isobit/lab/deviation/trace.h"

namespace isobit::lab::explain {

struct LayerBudget {
  int classes = 12;                    // of one value that are compared in pairs: the first ones
  uint64_t bytes = uint64_t{4} << 30;  // that are compared, over all values
};

struct Layers {
  // Of each value of the trace: the least precision and largest differences over pairs of its classes. None: one class
  // only, or tensors that nobody kept, or beyond the budget.
  std::vector<std::optional<deviation::PairFigures>> figures;
  size_t not_compared = 0;  // values of two classes or more whose tensors were not all kept
  size_t truncated = 0;     // values of which not all classes were compared
  size_t beyond_budget = 0;
};

// Errors: those of `tensors`.
Expected<Layers> measure_layers(const deviation::Trace& trace, const deviation::TensorSource& tensors,
                                const LayerBudget& budget = {});

}  // namespace isobit::lab::explain
