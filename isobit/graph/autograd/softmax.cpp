#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

// From the output and its gradient: (dst, diff_dst) -> diff_src.
GradRule from_output(std::string grad_op) {
  return [grad_op](GradContext& c) {
    return Values{c.graph.emit(grad_op, {c.output(0), c.diff()}, {}, c.diff_name(0))};
  };
}

// Of the mean loss, and of the losses of rows. No network of ours or of ONNX's takes the maxima and the sums further.
Values cross_entropy(GradContext& c) {
  if (c.flows(2) || c.flows(3)) return c.refuse("no gradient goes through the maxima and the sums of its rows");
  ValueId diff = kNoValue;
  for (int output : {0, 1}) {
    if (!c.flows(output)) continue;
    const ValueId of_output =
        c.graph.emit("isobit.CrossEntropyGrad",
                     {c.input(0), c.input(1), c.output(2), c.output(3), c.diff_outputs[static_cast<size_t>(output)]},
                     {}, c.diff_name(0));
    diff = diff == kNoValue ? of_output : emit(c, "Add", {diff, of_output});
  }
  return {diff, kNoValue};
}

}  // namespace

void add_softmax(Rules& rules) {
  rules["Softmax"] = from_output("isobit.SoftmaxGrad");
  rules["LogSoftmax"] = from_output("isobit.LogSoftmaxGrad");
  rules["isobit.CausalSoftmax"] = from_output("isobit.CausalSoftmaxGrad");
  rules["isobit.CrossEntropy"] = cross_entropy;
  rules.none({"isobit.SoftmaxGrad", "isobit.LogSoftmaxGrad", "isobit.CausalSoftmaxGrad", "isobit.CrossEntropyGrad"},
             kIsGradient);
}

}  // namespace isobit::graph::autograd
