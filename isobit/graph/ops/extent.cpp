// Tensors that shapes decide, and places that data decide.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"
#include "isobit/numerics/range.h"

namespace isobit::graph::ops {
namespace {

// Attributes start and end: which of the source's dimensions, as a slice of them.
Status infer_shape(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"start", kInt}, {"end", kInt}}));
  const SliceRange range =
      resolve_slice(c.rank(0), c.attributes().integer("start", 0), c.attributes().integer("end", INT64_MAX), 1);
  c.set_output(0, DType::kInt64, {range.count});
  return {};
}

Status infer_size(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  c.set_output(0, DType::kInt64, {});
  return {};
}

// Parameter shape; attribute value: the one number, float32 0 where there is none.
Status infer_constant_of_shape(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"shape", kInts}, {"value", kTensor}}));
  DType dtype = DType::kFloat32;
  if (c.attributes().has("value")) {
    const auto& value = std::get<Tensor>(c.attributes().items().at("value"));
    if (value.elements() != 1) return unreadable(text_of("'value' has ", value.elements(), " numbers, expected 1"));
    dtype = value.dtype();
  }
  ISOBIT_TRY(const auto shape, needed_parameter(c, "shape", 0));
  if (!shape) {
    const int64_t rank = c.dims(0).empty() ? 1 : c.dim(0, 0);
    ISOBIT_RETURN_IF_ERROR(set_output_of_rank(c, rank));
    c.set_output(0, dtype, c.outputs()[0].dims);
    return {};
  }
  for (const int64_t d : *shape) {
    if (d < 0) return unreadable(text_of("a dimension of ", d));
  }
  return set_countable_output(c, 0, dtype, *shape);
}

Attributes constant_of_shape_retyped(Attributes attributes, DType from, DType to) {
  const Tensor value =
      attributes.has("value") ? std::get<Tensor>(attributes.items().at("value")) : Tensor::scalar(0.0f);
  if (value.dtype() != from) return attributes;
  const double number = from == DType::kFloat32 ? double{value.data<float>()[0]} : value.data<double>()[0];
  const Tensor converted = to == DType::kFloat64 ? Tensor::scalar(number) : Tensor::scalar(static_cast<float>(number));
  attributes.set("value", converted.reshaped(value.shape()));
  return attributes;
}

// Attributes k: the diagonal that is 1; dtype: a DType (an importer translates ONNX's).
Status infer_eye_like(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"k", kInt}, {"dtype", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 2));
  const auto source = static_cast<int64_t>(c.input(0).dtype);
  const auto dtype = dtype_of_number(static_cast<uint64_t>(c.attributes().integer("dtype", source)));
  if (!dtype) return unreadable("attribute 'dtype' names no type");
  return set_countable_output(c, 0, *dtype, c.dims(0));
}

// (start, limit, delta); -1 where one of them is not known.
template <class T>
Expected<int64_t> count_of_range(const InferContext& c) {
  T numbers[3];
  for (int i = 0; i < 3; ++i) {
    const Tensor* constant = c.constant_if_known(i);
    if (constant == nullptr) return -1;
    numbers[i] = constant->data<T>()[0];
  }
  const auto count = numerics::range_count(numbers[0], numbers[1], numbers[2]);
  constexpr const char* kNone = "no range from ";
  if (!count) return unreadable(text_of(kNone, numbers[0], " to ", numbers[1], " by ", numbers[2]));
  return *count;
}

Status infer_range(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  for (int i = 0; i < 3; ++i) {
    ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(0).dtype));
    ISOBIT_RETURN_IF_ERROR(expect_one_number(c, i));
  }
  Expected<int64_t> count = -1;
  const bool has_numbers = by_type(NumberTypes{}, c.input(0).dtype, [&]<class T>(T) { count = count_of_range<T>(c); });
  if (!has_numbers) return unreadable(text_of("a range of ", name_of(c.input(0).dtype)));
  ISOBIT_TRY(const int64_t n, std::move(count));
  return set_countable_output(c, 0, c.input(0).dtype, {n});
}

// The places of what is not 0, a column each.
Status infer_non_zero(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  c.set_output(0, DType::kInt64, {c.rank(0), -1});
  return {};
}

// Attributes axis (of the items; without it every element is one) and sorted. -> the distinct items, where each comes
// first, which of them each item is, how often each comes. How many these are is known in the run.
Status infer_unique(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"sorted", kInt}}));
  const DType dtype = c.input(0).dtype;
  if (!NumberTypes::contains(dtype) && dtype != DType::kBool) {
    return unreadable(text_of("distinct elements of ", name_of(dtype)));
  }
  Numbers dims = {-1};
  int64_t items = 1;
  if (c.attributes().has("axis")) {
    ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", 0), c.rank(0)));
    dims = c.dims(0);
    items = dims[static_cast<size_t>(axis)];
    dims[static_cast<size_t>(axis)] = -1;
  } else {
    for (const int64_t d : c.dims(0)) {
      if (d < 0 || items < 0 || __builtin_mul_overflow(items, d, &items)) items = -1;
    }
  }
  c.set_output(0, dtype, std::move(dims));
  c.set_output(1, DType::kInt64, {-1});
  c.set_output(2, DType::kInt64, {items});
  c.set_output(3, DType::kInt64, {-1});
  return {};
}

}  // namespace

void add_extent(std::vector<OpDef>& defs) {
  using enum ElementRule;
  // Of shapes alone.
  const OutputDef of_shapes = made_of(no_element, output_by(kPointwise, {}));
  add_ordered(defs, {.name = "Shape", .infer = infer_shape, .outputs = {of_shapes}});
  add_ordered(defs, {.name = "Size", .infer = infer_size, .outputs = {of_shapes}});
  add_ordered(defs,
              {.name = "EyeLike", .infer = infer_eye_like, .outputs = {of_shapes}, .retyped = type_named_by("dtype")});
  // Its type is its attribute's alone.
  defs.push_back({.name = "ConstantOfShape",
                  .min_inputs = 0,
                  .max_inputs = 1,
                  .optional_inputs = {.some = {0}},
                  .infer = infer_constant_of_shape,
                  .outputs = {made_of(no_element, output_by(kPointwise))},
                  .platform_independent = true,
                  .retyped = constant_of_shape_retyped});
  add_ordered(
      defs,
      {.name = "Range", .min_inputs = 3, .max_inputs = 3, .infer = infer_range, .outputs = {output_by(kPointwise)}});
  add_ordered(defs, {.name = "NonZero",
                     .infer = infer_non_zero,
                     .outputs = {judged_whole("where it is follows from how many elements before it are not 0")}});
  const OutputDef of_items = judged_whole("where it is follows from which items are equal");
  OutputDef distinct = of_items;
  distinct.moved_from = {.some = {0}};
  distinct.takes_each_once = true;
  add_ordered(
      defs,
      {.name = "Unique", .max_outputs = 4, .infer = infer_unique, .outputs = {distinct, of_items, of_items, of_items}});
}

}  // namespace isobit::graph::ops
