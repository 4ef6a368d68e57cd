#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

Attributes with_src_shape(GradContext& c) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  return with(c.node.attributes, "src_shape", src);
}

}  // namespace

void add_pool(Rules& rules) {
  rules["MaxPool"] = [](GradContext& c) {
    ISOBIT_CHECK(c.output(1) != kNoValue);  // a graph to be differentiated asks for the indices
    return Values{c.graph.emit("isobit.MaxPoolGrad", {c.diff(), c.output(1)}, with_src_shape(c), c.diff_name(0))};
  };
  rules["AveragePool"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.AveragePoolGrad", {c.diff()}, with_src_shape(c), c.diff_name(0))};
  };
  rules["GlobalAveragePool"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.GlobalAveragePoolGrad", {c.diff()}, with_src_shape(c), c.diff_name(0))};
  };
}

}  // namespace isobit::graph::autograd
