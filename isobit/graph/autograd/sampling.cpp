#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/resize.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

// Every element of the source gets what it gave: the same weights, the other way round. Which weights those are follows
// from parameters that are known by now.
Values resize(GradContext& c) {
  const auto inputs = ops::resize_inputs(
      c.node.attributes, [&](int i) { return c.input(i) == kNoValue ? nullptr : c.graph.initializer(c.input(i)); });
  const std::vector<int64_t> src = c.dims(c.input(0));
  Attributes attributes = with(c.node.attributes, "src_shape", src);
  if (inputs.roi) attributes.set("roi", *inputs.roi);
  if (inputs.scales) attributes.set("scales", *inputs.scales);
  if (inputs.sizes) attributes.set("sizes", *inputs.sizes);
  Values out(c.node.inputs.size(), kNoValue);
  out[0] = c.graph.emit("isobit.ResizeGrad", {c.diff()}, attributes, c.diff_name(0));
  return out;
}

}  // namespace

void add_sampling(Rules& rules) { rules["Resize"] = resize; }

}  // namespace isobit::graph::autograd
