#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

// Values go back to their places. Places have no gradient.
Values top_k(GradContext& c) {
  Values out(c.node.inputs.size(), kNoValue);
  const std::vector<int64_t> src = c.dims(c.input(0));
  const Attributes attributes = {{"src_shape", src}, {"axis", c.node.attributes.integer("axis", -1)}};
  out[0] = c.graph.emit("isobit.TopKGrad", {c.diff(), c.output(1)}, attributes, c.diff_name(0));
  return out;
}

}  // namespace

void add_order(Rules& rules) {
  rules["TopK"] = top_k;
  rules.none({"ArgMax", "ArgMin"}, kNotReal);
  rules.none({"isobit.TopKGrad"}, kIsGradient);
}

}  // namespace isobit::graph::autograd
