#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {
namespace {

Status expect_scalar(InferContext& c, int i, DType dtype) {
  if (!c.has_input(i)) return {};
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(i, 0));
  return c.expect_type(i, dtype);
}

void like_inputs(InferContext& c, std::initializer_list<int> inputs) {
  int output = 0;
  for (int i : inputs) {
    if (c.has_input(i)) c.set_output(output, c.input(i).dtype, c.dims(i));
    ++output;
  }
}

// norm -> factor that brings it to at most max_norm
Status infer_clip_factor(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"max_norm", kReal}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 0));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (!(c.attributes().real("max_norm", 0) > 0)) return unreadable("attribute 'max_norm' must be positive");
  c.set_output(0, c.input(0).dtype, {});
  return {};
}

// Both optimizers take lr_factor * lr for lr: one product of binary64, 1 where it is not said.

// (param, grad, lr: float64, momentum?, grad_scale?) -> param', momentum'
Status infer_sgd(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(
      c.expect_attributes({{"momentum", kReal}, {"weight_decay", kReal}, {"nesterov", kInt}, {"lr_factor", kReal}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0));
  ISOBIT_RETURN_IF_ERROR(expect_scalar(c, 2, DType::kFloat64));
  ISOBIT_RETURN_IF_ERROR(expect_scalar(c, 4, c.input(0).dtype));
  if (c.has_input(3)) ISOBIT_RETURN_IF_ERROR(c.expect_like(3, 0));
  if (c.has_input(3) != (c.attributes().real("momentum", 0) != 0))
    return unreadable("momentum needs a buffer, and only momentum");
  if (c.has_input(3) != c.has_output(1)) return unreadable("a buffer of momentum is updated in output 1");
  like_inputs(c, {0, 3});
  return {};
}

// (param, grad, m, v, lr, beta1_power, beta2_power: float64, grad_scale?) -> param', m', v'
Status infer_adam(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"beta1", kReal},
                                              {"beta2", kReal},
                                              {"epsilon", kReal},
                                              {"weight_decay", kReal},
                                              {"decoupled", kInt},
                                              {"lr_factor", kReal}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  for (int i = 1; i < 4; ++i) ISOBIT_RETURN_IF_ERROR(c.expect_like(i, 0));
  for (int i = 4; i < 7; ++i) ISOBIT_RETURN_IF_ERROR(expect_scalar(c, i, DType::kFloat64));
  ISOBIT_RETURN_IF_ERROR(expect_scalar(c, 7, c.input(0).dtype));
  like_inputs(c, {0, 2, 3});
  return {};
}

}  // namespace

void add_optimizer(std::vector<OpDef>& defs) {
  // The decay of weights brings the parameter into the buffers; the learning rate never comes there.
  const OutputDef pointwise = output_by(ElementRule::kPointwise);
  add_ordered(defs, {.name = "isobit.ClipFactor", .infer = infer_clip_factor, .outputs = {pointwise}});
  add_ordered(defs, {.name = "isobit.Sgd",
                     .min_inputs = 3,
                     .max_inputs = 5,
                     .optional_inputs = {.some = {3, 4}},
                     .max_outputs = 2,
                     .infer = infer_sgd,
                     .outputs = {pointwise, output_by(ElementRule::kPointwise, {0, 1, 3, 4})},
                     .updates_state = true});
  add_ordered(defs, {.name = "isobit.Adam",
                     .min_inputs = 7,
                     .max_inputs = 8,
                     .optional_inputs = {.some = {7}},
                     .min_outputs = 3,
                     .max_outputs = 3,
                     .infer = infer_adam,
                     .outputs = {pointwise, output_by(ElementRule::kPointwise, {0, 1, 2, 7}),
                                 output_by(ElementRule::kPointwise, {0, 1, 3, 7})},
                     .updates_state = true});
}

}  // namespace isobit::graph::ops
