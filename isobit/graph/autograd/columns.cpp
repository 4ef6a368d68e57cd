#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/parameters.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

// Each is the other's adjoint.
Values im2col(GradContext& c) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  const std::span<const int64_t> image = ops::image_of(src);
  const Attributes attributes = ops::attributes_of(*ops::read_windows(c.node.attributes, image, {}));
  Attributes adjoint = {{"image_shape", std::vector<int64_t>(image.begin(), image.end())},
                        {"block_shape", attributes.integers("kernel_shape", {})}};
  for (const char* name : {"strides", "pads", "dilations"}) adjoint.set(name, attributes.integers(name, {}));
  return {c.graph.emit("Col2Im", {c.diff()}, adjoint, c.diff_name(0))};
}

Values col2im(GradContext& c) {
  const std::vector<int64_t> dst = c.dims(c.output(0));
  const std::span<const int64_t> image = ops::image_of(dst);
  // Known by now, as an attribute or as a constant operand.
  const Tensor* constant = c.input(2) != kNoValue ? c.graph.initializer(c.input(2)) : nullptr;
  const auto block = ops::parameter_numbers(c.node.attributes, "block_shape", constant);
  ISOBIT_CHECK(block.has_value());
  Values out(c.node.inputs.size(), kNoValue);
  const auto windows = *ops::read_windows(c.node.attributes, image, *block);
  out[0] = c.graph.emit("isobit.Im2Col", {c.diff()}, ops::attributes_of(windows), c.diff_name(0));
  return out;
}

}  // namespace

void add_columns(Rules& rules) {
  rules["isobit.Im2Col"] = im2col;
  rules["Col2Im"] = col2im;
}

}  // namespace isobit::graph::autograd
