#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

Values softmax(GradContext& c) {
  return {c.graph.emit("isobit.SoftmaxGrad", {c.output(0), c.diff()}, {}, c.diff_name(0))};
}

}  // namespace

void add_softmax(Rules& rules) {
  rules["Softmax"] = softmax;
  rules["isobit.CausalSoftmax"] = softmax;
  rules["LogSoftmax"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.LogSoftmaxGrad", {c.output(0), c.diff()}, {}, c.diff_name(0))};
  };
  rules["isobit.CrossEntropy"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.CrossEntropyGrad", {c.input(0), c.input(1), c.output(2), c.output(3), c.diff()},
                               {}, c.diff_name(0)),
                  kNoValue};
  };
}

}  // namespace isobit::graph::autograd
