// What gives truths, takes truths or takes numbers as bits.
#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {
namespace {

// All types but the two that are never computed with.
using ComparedTypes =
    Types<bool, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using UnsignedTypes = Types<uint8_t, uint16_t, uint32_t, uint64_t>;

// Two operands of one of these types; the output is truths.
template <class Types>
Status infer_comparison(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(infer_several<Types>(c));
  c.set_output(0, DType::kBool, c.outputs()[0].dims);
  return {};
}

Status infer_is_nan(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  c.set_output(0, DType::kBool, c.dims(0));
  return {};
}

Status infer_is_inf(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"detect_negative", kInt}, {"detect_positive", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  c.set_output(0, DType::kBool, c.dims(0));
  return {};
}

Status infer_bit_shift(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"direction", kText}}));
  const std::string direction = c.attributes().text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return unreadable(text_of("attribute 'direction' is '", direction, "', expected LEFT or RIGHT"));
  }
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, UnsignedTypes{}));
  ISOBIT_TRY(auto dims, broadcast_inputs(c));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (condition, x, y)
Status infer_where(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(0, DType::kBool));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(2, c.input(1).dtype));
  ISOBIT_TRY(const auto either, broadcast_dims(c.dims(1), c.dims(2)));
  ISOBIT_TRY(auto dims, broadcast_dims(c.dims(0), either));
  c.set_output(0, c.input(1).dtype, std::move(dims));
  return {};
}

}  // namespace

void add_logic(std::vector<OpDef>& defs) {
  const std::vector<OutputDef> pointwise = {output_by(ElementRule::kPointwise)};
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    add_ordered(
        defs,
        {.name = op, .min_inputs = 2, .max_inputs = 2, .infer = infer_comparison<NumberTypes>, .outputs = pointwise});
  }
  add_ordered(defs, {.name = "Equal",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_comparison<ComparedTypes>,
                     .outputs = pointwise});
  for (const char* op : {"And", "Or", "Xor"}) {
    add_ordered(
        defs,
        {.name = op, .min_inputs = 2, .max_inputs = 2, .infer = infer_comparison<Types<bool>>, .outputs = pointwise});
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    add_ordered(
        defs,
        {.name = op, .min_inputs = 2, .max_inputs = 2, .infer = infer_several<IntegerTypes>, .outputs = pointwise});
  }
  add_ordered(defs,
              {.name = "BitShift", .min_inputs = 2, .max_inputs = 2, .infer = infer_bit_shift, .outputs = pointwise});
  add_ordered(defs, {.name = "Not", .infer = infer_one<Types<bool>>, .outputs = pointwise});
  add_ordered(defs, {.name = "BitwiseNot", .infer = infer_one<IntegerTypes>, .outputs = pointwise});
  add_ordered(defs, {.name = "IsNaN", .infer = infer_is_nan, .outputs = pointwise});
  add_ordered(defs, {.name = "IsInf", .infer = infer_is_inf, .outputs = pointwise});
  // The condition is no real value, so that which element comes from where does not depend on any.
  add_ordered(defs, {.name = "Where",
                     .min_inputs = 3,
                     .max_inputs = 3,
                     .infer = infer_where,
                     .outputs = {{.rule = ElementRule::kMoved,
                                  .moved_from = {.some = {1, 2}},
                                  .sources = chosen,
                                  .guides = {condition_of}}}});
}

}  // namespace isobit::graph::ops
