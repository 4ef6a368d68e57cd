#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

#define ISOBIT_POOL_ATTRIBUTES                                                                               \
  {"kernel_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"dilations", kInts}, {"auto_pad", kText}, { \
    "ceil_mode", kInt                                                                                        \
  }

Expected<Windows> check_pool(InferContext& c, const std::vector<int64_t>& src) {
  if (src.size() < 3) return unreadable("the source needs rank 3 or more: images, channels and an axis to pool over");
  const std::span<const int64_t> image = image_of(src);
  ISOBIT_RETURN_IF_ERROR(check_plane(image));
  ISOBIT_TRY(Windows windows, read_windows(c.attributes(), image, {}));
  for (const AxisWindow& w : windows) {
    if (w.pad_begin >= w.reach() || w.pad_end >= w.reach()) return unreadable("pads must be smaller than the window");
  }
  ISOBIT_RETURN_IF_ERROR(check_counts(windows, image));
  return windows;
}

Status set_pooled(InferContext& c) {
  ISOBIT_TRY(const Windows windows, check_pool(c, c.dims(0)));
  const std::vector<int64_t> dims = dims_of_windows(c.dim(0, 0), c.dim(0, 1), windows, image_of(c.dims(0)));
  c.set_output(0, c.input(0).dtype, dims);
  c.set_output(1, DType::kInt64, dims);
  return {};
}

Status check_storage_order(InferContext& c) {
  const int64_t order = c.attributes().integer("storage_order", 0);
  if (order == 0 || order == 1) return {};
  return unreadable(text_of("storage_order is ", order, ", expected 0 or 1"));
}

Status check_norm(InferContext& c) {
  constexpr int64_t kMostPower = 1024;
  const int64_t p = c.attributes().integer("p", 2);
  if (p >= 1 && p <= kMostPower) return {};
  return unreadable(text_of("p is ", p, ", expected 1 to ", kMostPower));
}

// src -> dst, indices: places of the maxima in all of src (the first in order on ties)
Status infer_max_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_POOL_ATTRIBUTES, {"storage_order", kInt}}));
  const DType dtype = c.input(0).dtype;
  if (!Types<float, double, int8_t, uint8_t>::contains(dtype)) {
    return unreadable(text_of("input 0 is ", name_of(dtype), ", expected float32, float64, int8 or uint8"));
  }
  ISOBIT_RETURN_IF_ERROR(check_storage_order(c));
  return set_pooled(c);
}

Status infer_average_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_POOL_ATTRIBUTES, {"count_include_pad", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  return set_pooled(c);
}

Status infer_lp_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_POOL_ATTRIBUTES, {"p", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(check_norm(c));
  return set_pooled(c);
}

// (diff_dst[, indices]) -> diff_src; attribute src_shape.
Status infer_pool_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_TRY(const Windows windows, check_pool(c, src));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims_of_windows(src[0], src[1], windows, image_of(src))));
  if (c.input_count() == 2) {
    ISOBIT_RETURN_IF_ERROR(c.expect_type(1, DType::kInt64));
    ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, c.dims(0)));
  }
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

Status infer_max_pool_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_POOL_ATTRIBUTES, {"storage_order", kInt}, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(check_storage_order(c));
  return infer_pool_grad(c);
}

Status infer_average_pool_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(
      c.expect_attributes({ISOBIT_POOL_ATTRIBUTES, {"count_include_pad", kInt}, {"src_shape", kInts}}));
  return infer_pool_grad(c);
}

// One result for each channel of each image; p of the Lp norm.
Status infer_global_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (c.rank(0) < 2) return unreadable("the source needs rank 2 or more: images and channels");
  ISOBIT_RETURN_IF_ERROR(check_norm(c));
  std::vector<int64_t> dims(c.dims(0).size(), 1);
  for (size_t i = 2; i < dims.size(); ++i) {
    if (c.dims(0)[i] == 0) return unreadable("a plane without places has no average, maximum or norm");
  }
  dims[0] = c.dim(0, 0);
  dims[1] = c.dim(0, 1);
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

Status infer_plain_global_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  return infer_global_pool(c);
}

Status infer_global_lp_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"p", kInt}}));
  return infer_global_pool(c);
}

Status infer_global_average_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  if (src.size() < 2) return unreadable("attribute 'src_shape' needs 2 numbers or more");
  std::vector<int64_t> dims(src.size(), 1);
  dims[0] = src[0];
  dims[1] = src[1];
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

// (src, indices[, output_shape]) -> dst. The indices are places in a tensor of unpooled_dims, which stands in the first
// corner of dst.
Status infer_max_unpool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(
      c.expect_attributes({{"kernel_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"output_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, DType::kInt64));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, c.dims(0)));
  ISOBIT_TRY(std::vector<int64_t> dims, unpooled_dims(c.attributes(), c.dims(0)));
  ISOBIT_TRY(const auto wanted, shape_parameter(c, "output_shape", 2));
  if (!wanted && has_parameter(c, "output_shape", 2)) {
    dims.assign(dims.size(), -1);
  } else if (wanted) {
    if (wanted->size() != dims.size()) return unreadable(text_of("'output_shape' needs ", dims.size(), " numbers"));
    for (size_t i = 0; i < dims.size(); ++i) {
      const bool fits = i < 2 ? dims[i] < 0 || (*wanted)[i] == dims[i] : (*wanted)[i] >= dims[i];
      if (!fits || (*wanted)[i] < 0) {
        return unreadable(text_of("'output_shape' is ", Shape(*wanted).text(), ", expected ", Shape(dims).text(),
                                  " or larger planes"));
      }
    }
    dims = *wanted;
  }
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

}  // namespace

void add_pool(std::vector<OpDef>& defs) {
  using enum ElementRule;
  // Windows may overlap, so that an element may be the largest of several.
  add_ordered(defs, {.name = "MaxPool",
                     .max_outputs = 2,
                     .infer = infer_max_pool,
                     .outputs = {made_of(in_window, moved_from_repeatedly(0, kMaximum)),
                                 made_of(in_window, output_by(kPlace))}});
  add_ordered(defs,
              {.name = "AveragePool", .infer = infer_average_pool, .outputs = {made_of(in_window, output_by(kSum))}});
  add_ordered(defs, {.name = "LpPool", .infer = infer_lp_pool, .outputs = {made_of(in_window, output_by(kFormula))}});
  add_ordered(
      defs,
      {.name = "GlobalAveragePool", .infer = infer_plain_global_pool, .outputs = {made_of(of_plane, output_by(kSum))}});
  add_ordered(defs, {.name = "GlobalMaxPool",
                     .infer = infer_plain_global_pool,
                     .outputs = {made_of(of_plane, moved_from(0, kMaximum))}});
  add_ordered(
      defs,
      {.name = "GlobalLpPool", .infer = infer_global_lp_pool, .outputs = {made_of(of_plane, output_by(kFormula))}});
  add_ordered(defs, {.name = "MaxUnpool",
                     .min_inputs = 2,
                     .max_inputs = 3,
                     .optional_inputs = {.some = {2}},
                     .infer = infer_max_unpool,
                     .outputs = {guided_by_all_of(1, moved_from(0, unpooled))}});
  add_ordered(defs, {.name = "isobit.MaxPoolGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_max_pool_grad,
                     .outputs = {guided_by({places_of_windows_over}, made_of(of_windows_over, output_by(kSum)))}});
  add_ordered(defs, {.name = "isobit.AveragePoolGrad",
                     .infer = infer_average_pool_grad,
                     .outputs = {made_of(of_windows_over, output_by(kSum))}});
  add_ordered(
      defs,
      {.name = "isobit.GlobalAveragePoolGrad", .infer = infer_global_average_grad, .outputs = {output_by(kPointwise)}});
}

}  // namespace isobit::graph::ops
