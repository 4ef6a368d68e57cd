#include "isobit/graph/ops/activation.h"

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {
namespace {

// One operand of one of these types, and attributes that are real numbers.
template <class Types>
Status infer_with(InferContext& c, const char* a, const char* b) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{a, kReal}, {b, kReal}}));
  ISOBIT_RETURN_IF_ERROR(expect_finite(c, {a, b}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, Types{}));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

Status infer_alpha(InferContext& c) { return infer_with<FloatTypes>(c, "alpha", "alpha"); }

Status infer_selu(InferContext& c) { return infer_with<FloatTypes>(c, "alpha", "gamma"); }

Status infer_hard_sigmoid(InferContext& c) { return infer_with<FloatTypes>(c, "alpha", "beta"); }

// The name of the first attribute is ONNX's.
Status infer_shrink(InferContext& c) { return infer_with<NumberTypes>(c, "lambd", "bias"); }

// Divides by alpha.
Status infer_celu(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(infer_alpha(c));
  if (c.attributes().real("alpha", kCeluAlpha) == 0) return unreadable("attribute 'alpha' is 0");
  return {};
}

// (x, slope): the slope broadcasts to the shape of x, not the other way round.
Status infer_prelu(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, Types<float, double, int32_t, int64_t, uint32_t, uint64_t>{}));
  ISOBIT_TRY(const auto dims, broadcast_inputs(c));
  const Status fits = c.expect_dims(0, dims);
  if (!fits) return unreadable(text_of("the slope is larger than the source: ", fits.error().message));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

}  // namespace

void add_activation(std::vector<OpDef>& defs) {
  const std::vector<OutputDef> pointwise = {output_by(ElementRule::kPointwise)};
  for (const char* op : {"Elu", "Swish"}) {
    add_ordered(defs, {.name = op, .infer = infer_alpha, .outputs = pointwise});
  }
  add_ordered(defs, {.name = "Celu", .infer = infer_celu, .outputs = pointwise});
  add_ordered(defs, {.name = "Selu", .infer = infer_selu, .outputs = pointwise});
  add_ordered(defs, {.name = "HardSigmoid", .infer = infer_hard_sigmoid, .outputs = pointwise});
  add_ordered(defs, {.name = "Shrink", .infer = infer_shrink, .outputs = pointwise});
  add_ordered(defs,
              {.name = "ThresholdedRelu", .infer = infer_alpha, .outputs = {moved_from(0, ElementRule::kPointwise)}});
  for (const char* op : {"HardSwish", "Mish", "Softplus", "Softsign"}) {
    add_ordered(defs, {.name = op, .infer = infer_one<FloatTypes>, .outputs = pointwise});
  }
  add_ordered(defs, {.name = "PRelu", .min_inputs = 2, .max_inputs = 2, .infer = infer_prelu, .outputs = pointwise});
}

}  // namespace isobit::graph::ops
