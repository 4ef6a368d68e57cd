#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {

Status infer_like_first(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

Expected<std::vector<int64_t>> broadcast_inputs(InferContext& c) {
  std::vector<int64_t> dims = c.dims(0);
  for (int i = 1; i < c.input_count(); ++i) {
    ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(0).dtype));
    ISOBIT_TRY(dims, broadcast_dims(dims, c.dims(i)));
  }
  return dims;
}

Status expect_finite(const InferContext& c, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!std::isfinite(c.attributes().real(name, 0)))
      return unreadable(text_of("attribute '", name, "' is not finite"));
  }
  return {};
}

namespace {

constexpr int kAnyNumber = 1 << 16;  // of operands

// The power has the type of the base.
Status infer_pow(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, Types<float, double, int32_t, int64_t>{}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(1, NumberTypes{}));
  ISOBIT_TRY(auto dims, broadcast_dims(c.dims(0), c.dims(1)));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// fmod = 0: the remainder has the sign of the divisor, and operands are integers; 1: that of the dividend.
Status infer_mod(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"fmod", kInt}}));
  const int64_t fmod = c.attributes().integer("fmod", 0);
  if (fmod != 0 && fmod != 1) return unreadable(text_of("attribute 'fmod' is ", fmod, ", expected 0 or 1"));
  if (fmod == 0) ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, IntegerTypes{}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, NumberTypes{}));
  ISOBIT_TRY(auto dims, broadcast_inputs(c));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (x, min, max): the limits are scalars, and either may be absent.
Status infer_clip(InferContext& c) {
  for (int i : {1, 2}) {
    if (!c.has_input(i)) continue;
    ISOBIT_RETURN_IF_ERROR(c.expect_rank(i, 0));
    ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(0).dtype));
  }
  return infer_one<NumberTypes>(c);
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
  ISOBIT_RETURN_IF_ERROR(expect_finite(c, {"alpha"}));
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

constexpr int64_t kMostDraws = int64_t{1} << 42;  // of a node and a step (kernels/dropout)

// (x, step): element i of step t is kept or dropped by the generator keyed (seed, t, node, first + i).
Status infer_dropout(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"seed", kInt}, {"node", kInt}, {"ratio", kReal}, {kFirstDraw, kInt}}));
  const int64_t first = c.attributes().integer(kFirstDraw, 0);
  if (first < 0 || first > kMostDraws) return unreadable("attribute 'first' is not in 0 to 2^42");
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(1, 0));
  ISOBIT_RETURN_IF_ERROR(c.expect_integer(1));
  const auto elements = checked_elements(c.dims(0), c.input(0).dtype, INT64_MAX);
  if (elements && *elements > kMostDraws - first) return unreadable("more than 2^42 elements are drawn for");
  const double ratio = c.attributes().real("ratio", 0.5);
  if (!(ratio >= 0 && ratio < 1)) return unreadable("attribute 'ratio' is not in [0, 1)");
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

}  // namespace

void add_elementwise(std::vector<OpDef>& defs) {
  const std::vector<OutputDef> pointwise = {output_by(ElementRule::kPointwise)};
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    add_ordered(
        defs,
        {.name = op, .min_inputs = 2, .max_inputs = 2, .infer = infer_several<NumberTypes>, .outputs = pointwise});
  }
  add_ordered(defs, {.name = "Mod", .min_inputs = 2, .max_inputs = 2, .infer = infer_mod, .outputs = pointwise});
  add_ordered(defs, {.name = "Pow", .min_inputs = 2, .max_inputs = 2, .infer = infer_pow, .outputs = pointwise});
  for (const char* op : {"Sum", "Mean"}) {
    add_ordered(defs, {.name = op, .max_inputs = kAnyNumber, .infer = infer_several<FloatTypes>, .outputs = pointwise});
  }
  // Which operand an element comes from follows from their values, and one that is repeated may come several times.
  OutputDef one_of_all = output_by(ElementRule::kPointwise);
  one_of_all.moved_from = {.all = true};
  for (const char* op : {"Max", "Min"}) {
    add_ordered(defs,
                {.name = op, .max_inputs = kAnyNumber, .infer = infer_several<NumberTypes>, .outputs = {one_of_all}});
  }
  add_ordered(defs, {.name = "Clip",
                     .max_inputs = 3,
                     .optional_inputs = {.some = {1, 2}},
                     .infer = infer_clip,
                     .outputs = {one_of_all}});
  for (const char* op : {"Sqrt", "Exp", "Log", "Erf", "Reciprocal", "Sigmoid", "Tanh", "Sin", "Cos"}) {
    add_ordered(defs, {.name = op, .infer = infer_one<FloatTypes>, .outputs = pointwise});
  }
  for (const char* op : {"Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"}) {
    add_ordered(defs, {.name = op, .infer = infer_one<FloatTypes>, .outputs = pointwise});
  }
  for (const char* op : {"Floor", "Ceil", "Round"}) {
    add_ordered(defs, {.name = op, .infer = infer_one<FloatTypes>, .outputs = pointwise});
  }
  const std::vector<OutputDef> own = {moved_from(0, ElementRule::kPointwise)};
  using FloatOrSigned = Types<float, double, int8_t, int16_t, int32_t, int64_t>;
  for (const char* op : {"Neg", "Relu"}) {
    add_ordered(defs, {.name = op, .infer = infer_one<FloatOrSigned>, .outputs = own});
  }
  add_ordered(defs, {.name = "Abs", .infer = infer_one<NumberTypes>, .outputs = own});
  add_ordered(defs, {.name = "Sign", .infer = infer_one<NumberTypes>, .outputs = pointwise});
  add_ordered(defs, {.name = "Identity", .infer = infer_like_first, .outputs = {moved_from(0, same_element)}});
  defs.push_back({.name = "Cast",
                  .infer = infer_cast,
                  .outputs = pointwise,
                  .platform_independent = true,
                  .retyped = type_named_by("to")});
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
  add_ordered(defs, {.name = "isobit.Dropout",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_dropout,
                     .outputs = pointwise,
                     .draws_by_element = true});
}

}  // namespace isobit::graph::ops
