#include <cmath>

#include "isobit/base/text.h"
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
  const DType dtype = c.input(0).dtype;
  if (dtype == DType::kBool || dtype == DType::kUint8) {
    return unreadable(text_of("input 0 ('", c.input(0).name, "') is ", name_of(dtype), ", expected numbers"));
  }
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, dtype));
  ISOBIT_TRY(auto dims, broadcast_dims(c.dims(0), c.dims(1)));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (forward value, diff_dst) -> diff_src, all of one shape.
Status infer_unary_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0));
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
  if (c.input_count() == 2) ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// LeakyRelu, and its gradient: (src, diff_dst) -> diff_src
Status infer_leaky_relu(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"alpha", kReal}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (c.input_count() == 2) ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0));
  if (!std::isfinite(c.attributes().real("alpha", 0.01))) return unreadable("attribute 'alpha' is not finite");
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

Status infer_cast(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"to", kInt}}));
  const int64_t to = c.attributes().integer("to", -1);  // our DType values; an importer translates ONNX's
  const std::optional<DType> dtype = dtype_of_number(static_cast<uint64_t>(to));
  if (!dtype) return unreadable("attribute 'to' names no type");
  c.set_output(0, *dtype, c.dims(0));
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
  const std::vector<OutputDef> pointwise = {output_by(ElementRule::kPointwise)};
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    add_ordered(defs, {.name = op, .min_inputs = 2, .max_inputs = 2, .infer = infer_binary, .outputs = pointwise});
  }
  for (const char* op : {"Sqrt", "Exp", "Log", "Erf", "Reciprocal", "Sigmoid", "Tanh"}) {
    add_ordered(defs, {.name = op, .infer = infer_float_unary, .outputs = pointwise});
  }
  for (const char* op : {"Neg", "Abs", "Relu"}) {
    add_ordered(defs, {.name = op, .infer = infer_float_unary, .outputs = {moved_from(0, ElementRule::kPointwise)}});
  }
  for (const char* op : {"Sin", "Cos"}) {
    defs.push_back({.name = op, .infer = infer_float32_unary, .outputs = pointwise, .platform_independent = true});
  }
  add_ordered(defs, {.name = "Identity", .infer = infer_like_first, .outputs = {moved_from(0)}});
  defs.push_back({.name = "Cast", .infer = infer_cast, .outputs = pointwise, .platform_independent = true});
  add_ordered(defs, {.name = "Gelu", .infer = infer_gelu, .outputs = pointwise});
  add_ordered(defs,
              {.name = "isobit.GeluGrad", .min_inputs = 2, .max_inputs = 2, .infer = infer_gelu, .outputs = pointwise});
  add_ordered(defs, {.name = "LeakyRelu", .infer = infer_leaky_relu, .outputs = pointwise});
  add_ordered(defs, {.name = "isobit.LeakyReluGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_leaky_relu,
                     .outputs = pointwise});
  for (const char* op : {"isobit.SigmoidGrad", "isobit.TanhGrad"}) {
    add_ordered(defs, {.name = op, .min_inputs = 2, .max_inputs = 2, .infer = infer_unary_grad, .outputs = pointwise});
  }
  // The forward value only says which elements of the gradient become zero.
  add_ordered(defs, {.name = "isobit.ReluGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_unary_grad,
                     .outputs = {moved_from(1, ElementRule::kPointwise)}});
  add_ordered(
      defs, {.name = "isobit.Dropout", .min_inputs = 2, .max_inputs = 2, .infer = infer_dropout, .outputs = pointwise});
}

}  // namespace isobit::graph::ops
