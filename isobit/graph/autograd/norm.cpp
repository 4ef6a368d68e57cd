#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

Attributes epsilon_of(GradContext& c) { return {{"epsilon", c.node.attributes.real("epsilon", 1e-5)}}; }

// Through the batch's own statistics as well: the whole gradient is credited to src, none to mean and var.
Values batch_norm(GradContext& c) {
  const Values grads =
      c.graph.emit_all("isobit.BatchNormGrad", {c.input(0), c.input(3), c.input(4), c.input(1), c.diff()},
                       epsilon_of(c), {c.diff_name(0), c.diff_name(1), c.diff_name(2)});
  return {grads[0], grads[1], grads[2], kNoValue, kNoValue};
}

Values layer_norm(GradContext& c) {
  return c.graph.emit_all("isobit.LayerNormGrad", {c.input(0), c.output(1), c.output(2), c.input(1), c.diff()}, {},
                          {c.diff_name(0), c.diff_name(1), c.diff_name(2)});
}

}  // namespace

void add_norm(Rules& rules) {
  rules["isobit.BatchNormApply"] = batch_norm;
  rules["LayerNormalization"] = layer_norm;
  // BatchNormApply's rule already goes through them.
  rules["isobit.BatchStatistics"] = [](GradContext&) { return Values{kNoValue}; };
}

}  // namespace isobit::graph::autograd
