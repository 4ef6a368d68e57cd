#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

Attributes transposes(bool a, bool b) { return {{"transA", int64_t{a}}, {"transB", int64_t{b}}}; }

// y = op(a) op(b). With neither transposed da = dy b^T, db = a^T dy; a transposed operand transposes its own rule.
Values matrix_product(GradContext& c) {
  const bool ta = c.node.attributes.integer("transA", 0) != 0, tb = c.node.attributes.integer("transB", 0) != 0;
  const ValueId a = c.input(0), b = c.input(1), dy = c.diff();
  Values out(c.node.inputs.size(), kNoValue);
  if (c.wants(0)) {
    const ValueId da = ta ? c.graph.emit("MatMul", {b, dy}, transposes(tb, true), c.diff_name(0))
                          : c.graph.emit("MatMul", {dy, b}, transposes(false, !tb), c.diff_name(0));
    out[0] = sum_to_shape_of(c.graph, da, a, c.diff_name(0));
  }
  if (c.wants(1)) {
    const ValueId db = tb ? c.graph.emit("MatMul", {dy, a}, transposes(true, ta), c.diff_name(1))
                          : c.graph.emit("MatMul", {a, dy}, transposes(!ta, false), c.diff_name(1));
    out[1] = sum_to_shape_of(c.graph, db, b, c.diff_name(1));
  }
  return out;
}

Values gemm(GradContext& c) {
  Values out = matrix_product(c);
  if (c.wants(2)) out[2] = sum_to_shape_of(c.graph, c.diff(), c.input(2), c.diff_name(2));
  return out;
}

Values conv(GradContext& c) {
  Values out(c.node.inputs.size(), kNoValue);
  const std::vector<int64_t> src = c.dims(c.input(0)), weights = c.dims(c.input(1));
  if (c.wants(0)) {
    out[0] = c.graph.emit("isobit.ConvGradSrc", {c.diff(), c.input(1)}, with(c.node.attributes, "src_shape", src),
                          c.diff_name(0));
  }
  if (c.wants(1)) {
    out[1] = c.graph.emit("isobit.ConvGradWeights", {c.input(0), c.diff()},
                          with(c.node.attributes, "weights_shape", weights), c.diff_name(1));
  }
  if (c.wants(2)) {
    std::vector<int64_t> axes = {0};
    for (int64_t axis = 2; axis < static_cast<int64_t>(src.size()); ++axis) axes.push_back(axis);
    out[2] = c.graph.emit("ReduceSum", {c.diff()}, {{"axes", axes}, {"keepdims", int64_t{0}}}, c.diff_name(2));
  }
  return out;
}

// The gradient of a convolution with respect to its source, as an operator of its own: the other two directions of that
// convolution are its gradients.
Values conv_transpose(GradContext& c) {
  Values out(c.node.inputs.size(), kNoValue);
  const std::vector<int64_t> src = c.dims(c.input(0)), weights = c.dims(c.input(1));
  const auto transposed = *ops::read_transposed_windows(c.node.attributes, ops::image_of(src), ops::image_of(weights));
  Attributes conv = ops::attributes_of(transposed.windows);
  conv.set("group", c.node.attributes.integer("group", 1));
  if (c.wants(0)) out[0] = c.graph.emit("Conv", {c.diff(), c.input(1)}, conv, c.diff_name(0));
  if (c.wants(1)) {
    out[1] = c.graph.emit("isobit.ConvGradWeights", {c.diff(), c.input(0)}, with(conv, "weights_shape", weights),
                          c.diff_name(1));
  }
  return out;
}

}  // namespace

void add_linear(Rules& rules) {
  rules["MatMul"] = matrix_product;
  rules["Gemm"] = gemm;
  rules["Conv"] = conv;
  rules["ConvTranspose"] = conv_transpose;
  rules.none({"isobit.ConvGradSrc", "isobit.ConvGradWeights"}, kIsGradient);
}

}  // namespace isobit::graph::autograd
