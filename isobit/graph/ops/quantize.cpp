#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/sources_statistics.h"

namespace isobit::graph::ops {
namespace {

using Quantized = Types<int8_t, uint8_t, int16_t, uint16_t>;

// One scale for all; or one for each place of `axis`; or one for each block_size places of it, in a tensor that has the
// source's other dimensions. Zero points are laid out as the scales.
Status check_scale(InferContext& c) {
  const std::vector<int64_t>&src = c.dims(0), &scale = c.dims(1);
  const int64_t block = c.attributes().integer("block_size", 0);
  if (block < 0) return unreadable(text_of("attribute 'block_size' is ", block, ", expected 0 or more"));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(1, FloatTypes{}));
  if (c.has_input(2)) ISOBIT_RETURN_IF_ERROR(c.expect_dims(2, scale));
  if (block == 0 && (scale.empty() || scale == std::vector<int64_t>{1})) return {};
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", 1), c.rank(0)));
  const int64_t places = src[static_cast<size_t>(axis)];
  if (block == 0) return c.expect_dims(1, {places});
  std::vector<int64_t> blocks = src;
  if (places >= 0) blocks[static_cast<size_t>(axis)] = places / block + (places % block != 0 ? 1 : 0);
  return c.expect_dims(1, blocks);
}

// Attribute output_dtype, our number of a type.
Expected<std::optional<DType>> read_output_type(const InferContext& c) {
  if (!c.attributes().has("output_dtype")) return std::optional<DType>();
  const auto dtype = dtype_of_number(static_cast<uint64_t>(c.attributes().integer("output_dtype", 0)));
  if (!dtype) return unreadable("attribute 'output_dtype' names no type");
  return dtype;
}

// (x, scale, zero_point): the type of the output is that of the zero point, or output_dtype, or uint8. `precision`,
// the type of the division, is that of the scale; `saturate` speaks of types that are not here.
Status infer_quantize(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes(
      {{"axis", kInt}, {"block_size", kInt}, {"output_dtype", kInt}, {"precision", kInt}, {"saturate", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, Types<float, double, int32_t>{}));
  ISOBIT_RETURN_IF_ERROR(check_scale(c));
  const DType type = c.input(1).dtype;
  if (c.input(0).dtype != DType::kInt32) ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  const int64_t precision = c.attributes().integer("precision", static_cast<int64_t>(type));
  if (precision != static_cast<int64_t>(type)) return unreadable("attribute 'precision' is not the type of the scale");
  ISOBIT_TRY(const std::optional<DType> named, read_output_type(c));
  const DType to = c.has_input(2) ? c.input(2).dtype : named.value_or(DType::kUint8);
  if (!Quantized::contains(to)) {
    return unreadable(text_of("the output is ", name_of(to), ", expected int8, uint8, int16 or uint16"));
  }
  if (named && *named != to) return unreadable("attribute 'output_dtype' is not the type of the zero point");
  c.set_output(0, to, c.dims(0));
  return {};
}

// (x, scale, zero_point): the output has the type of the scale.
Status infer_dequantize(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"block_size", kInt}, {"output_dtype", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, Types<int8_t, uint8_t, int16_t, uint16_t, int32_t>{}));
  ISOBIT_RETURN_IF_ERROR(check_scale(c));
  if (c.has_input(2)) ISOBIT_RETURN_IF_ERROR(c.expect_type(2, c.input(0).dtype));
  ISOBIT_TRY(const std::optional<DType> named, read_output_type(c));
  if (named.value_or(c.input(1).dtype) != c.input(1).dtype) {
    return unreadable("attribute 'output_dtype' is not the type of the scale");
  }
  c.set_output(0, c.input(1).dtype, c.dims(0));
  return {};
}

// x -> (y, scale, zero_point)
Status infer_dynamic_quantize(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  c.set_output(0, DType::kUint8, c.dims(0));
  c.set_output(1, c.input(0).dtype, {});
  c.set_output(2, DType::kUint8, {});
  return {};
}

// From which the scale and the zero point follow, and with x every element.
std::vector<Statistic> range_of_source(const Graph&, const Node&) {
  return {made_of(SourceRange(of_everything), Statistic{.name = "low", .dims = {}}),
          made_of(SourceRange(of_everything), Statistic{.name = "high", .dims = {}})};
}

}  // namespace

void add_quantize(std::vector<OpDef>& defs) {
  const OpDef scaled = {.name = {},
                        .min_inputs = 2,
                        .max_inputs = 3,
                        .optional_inputs = {.some = {2}},
                        .infer = {},
                        .outputs = {made_of(of_block, output_by(ElementRule::kPointwise))}};
  OpDef quantize = scaled, dequantize = scaled;
  quantize.name = "QuantizeLinear";
  quantize.infer = infer_quantize;
  add_ordered(defs, quantize);
  dequantize.name = "DequantizeLinear";
  dequantize.infer = infer_dequantize;
  add_ordered(defs, dequantize);
  const OutputDef by_range = made_of(only_of_statistics({0, 1}), output_by(ElementRule::kStatistics));
  const OutputDef quantized = made_of(only_of_statistics({0, 1}, true), output_by(ElementRule::kStatistics));
  add_ordered(defs, {.name = "DynamicQuantizeLinear",
                     .min_outputs = 3,
                     .max_outputs = 3,
                     .infer = infer_dynamic_quantize,
                     .statistics = range_of_source,
                     .outputs = {quantized, by_range, by_range}});
}

}  // namespace isobit::graph::ops
