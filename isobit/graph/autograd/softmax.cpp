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

}  // namespace

void add_softmax(Rules& rules) {
  rules["Softmax"] = from_output("isobit.SoftmaxGrad");
  rules["LogSoftmax"] = from_output("isobit.LogSoftmaxGrad");
  rules["isobit.CausalSoftmax"] = from_output("isobit.CausalSoftmaxGrad");
  rules["isobit.CrossEntropy"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.CrossEntropyGrad", {c.input(0), c.input(1), c.output(2), c.output(3), c.diff()},
                               {}, c.diff_name(0)),
                  kNoValue};
  };
}

}  // namespace isobit::graph::autograd
