#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {

Status infer_like_first(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

namespace {

Status infer_float_unary(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  return infer_like_first(c);
}

// Sine and cosine are offered where they are correctly rounded.
Status infer_float32_unary(InferContext& c) {
  if (c.input(0).dtype != DType::kFloat32) return unreadable("only float32 is supported");
  return infer_like_first(c);
}

Status infer_binary(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  if (c.input(0).dtype != c.input(1).dtype) return unreadable("inputs have different types");
  ISOBIT_TRY(auto dims, broadcast_dims(c.dims(0), c.dims(1)));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (forward value, diff_dst) -> diff_src, all of one shape.
Status infer_unary_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_same_shape(1, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

Status check_gelu(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"approximate", kText}}));
  const std::string form = c.attributes().text("approximate", "none");
  if (form != "none" && form != "tanh") return unreadable("attribute 'approximate' is neither 'none' nor 'tanh'");
  return c.expect_float(0);
}

Status infer_gelu(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(check_gelu(c));
  if (c.input_count() == 2) ISOBIT_RETURN_IF_ERROR(c.expect_same_shape(1, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

Status infer_cast(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"to", kInt}}));
  const int64_t to = c.attributes().integer("to", -1);  // our DType values; an importer translates ONNX's
  if (to < 1 || to > 6) return unreadable("attribute 'to' names no type");
  c.set_output(0, static_cast<DType>(to), c.dims(0));
  return {};
}

// (x, step): element i of step t is kept or dropped by the generator keyed (seed, t, node, i).
Status infer_dropout(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"seed", kInt}, {"node", kInt}, {"ratio", kReal}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(1, 0));
  ISOBIT_RETURN_IF_ERROR(c.expect_integer(1));
  const double ratio = c.attributes().real("ratio", 0.5);
  if (!(ratio >= 0 && ratio < 1)) return unreadable("attribute 'ratio' is not in [0, 1)");
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

}  // namespace

void add_elementwise(std::vector<OpDef>& defs) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) defs.push_back({op, 2, 2, 1, infer_binary});
  for (const char* op : {"Neg", "Abs", "Sqrt", "Exp", "Log", "Erf", "Reciprocal", "Relu", "Sigmoid", "Tanh"}) {
    defs.push_back({op, 1, 1, 1, infer_float_unary});
  }
  for (const char* op : {"Sin", "Cos"}) defs.push_back({op, 1, 1, 1, infer_float32_unary});
  defs.push_back({"Identity", 1, 1, 1, infer_like_first});
  defs.push_back({"Cast", 1, 1, 1, infer_cast});
  defs.push_back({"Gelu", 1, 1, 1, infer_gelu});
  defs.push_back({"isobit.GeluGrad", 2, 2, 1, infer_gelu});
  for (const char* op : {"isobit.ReluGrad", "isobit.SigmoidGrad", "isobit.TanhGrad"}) {
    defs.push_back({op, 2, 2, 1, infer_unary_grad});
  }
  defs.push_back({"isobit.Dropout", 2, 2, 1, infer_dropout});
}

}  // namespace isobit::graph::ops
