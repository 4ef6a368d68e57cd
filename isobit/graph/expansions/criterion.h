// Training losses that are no operators of ONNX: what a network's output is held against, element by element. In
// float32 and float64; o is the output, t the target of its shape, d = o - t, every named step rounded once.
//
//   squared   d * d
//   absolute  |d|
//   huber     a = |d|; c = min(a, delta); c * (a - 0.5 * c): half the square up to delta, the tangent beyond it
//   logistic  t * softplus(-o) + (1 - t) * softplus(o): binary cross entropy of the logits o, where nothing cancels
//
// A batch's loss is the mean over all elements, a sample's the mean over the elements of one place of the first axis: a
// ReduceMean each. With gradients with respect to the output.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

enum class Criterion { kSquared, kAbsolute, kHuber, kLogistic };

struct CriterionArguments {
  Criterion criterion = Criterion::kSquared;
  std::string name = {};  // names of values begin with it
  ValueId output = kNoValue, target = kNoValue;
  double delta = 1;        // of huber, above 0
  bool by_sample = false;  // a loss for each place of the first axis, not one of the batch
};

// The loss: of rank 0, or of rank 1. Errors (kUnreadable): another type than float32 or float64, or two; other shapes;
// by_sample of a scalar.
Expected<ValueId> criterion_loss(Graph& graph, const CriterionArguments& arguments);

// (1 - share) * loss + share * the mean of -log_softmax over all elements of the scores [rows, classes]: with loss the
// mean cross entropy of these scores, the cross entropy with targets of which `share` is spread over all classes.
Expected<ValueId> smoothed_cross_entropy(Graph& graph, const std::string& name, ValueId loss, ValueId scores,
                                         double share);

}  // namespace isobit::graph::expansions
