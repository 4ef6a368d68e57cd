#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {
namespace {

#define ISOBIT_POOL_ATTRIBUTES \
  {"kernel_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"count_include_pad", kInt}, { "auto_pad", kText }

Expected<Window> check_pool(InferContext& c, const std::vector<int64_t>& src) {
  if (src.size() != 4) return unreadable("the source needs rank 4 (2-D pooling)");
  ISOBIT_RETURN_IF_ERROR(check_plane(src));
  ISOBIT_TRY(const Window window, read_window(c.attributes(), {}));
  if (window.pad_top >= window.kh || window.pad_bottom >= window.kh || window.pad_left >= window.kw ||
      window.pad_right >= window.kw) {
    return unreadable("pads must be smaller than the window");
  }
  if ((src[2] >= 0 && window.out_h(src[2]) < 1) || (src[3] >= 0 && window.out_w(src[3]) < 1)) {
    return unreadable("the window is larger than the padded source");
  }
  return window;
}

// src -> dst, indices (of the maximum in its plane; the lowest index on ties)
Status infer_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_POOL_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_TRY(const Window w, check_pool(c, c.dims(0)));
  const std::vector<int64_t> dims = {c.dim(0, 0), c.dim(0, 1), w.out_h(c.dim(0, 2)), w.out_w(c.dim(0, 3))};
  c.set_output(0, c.input(0).dtype, dims);
  c.set_output(1, DType::kInt64, dims);
  return {};
}

// (diff_dst[, indices]) -> diff_src; attribute src_shape.
Status infer_pool_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_POOL_ATTRIBUTES, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_TRY(const Window w, check_pool(c, src));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, {src[0], src[1], w.out_h(src[2]), w.out_w(src[3])}));
  if (c.input_count() == 2) {
    ISOBIT_RETURN_IF_ERROR(c.expect_type(1, DType::kInt64));
    ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, c.dims(0)));
  }
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

Status infer_global_average(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 4));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  c.set_output(0, c.input(0).dtype, {c.dim(0, 0), c.dim(0, 1), 1, 1});
  return {};
}

Status infer_global_average_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  if (src.size() != 4) return unreadable("attribute 'src_shape' needs 4 numbers");
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, {src[0], src[1], 1, 1}));
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

}  // namespace

void add_pool(std::vector<OpDef>& defs) {
  using enum ElementRule;
  // Windows may overlap, so that an element may be the largest of several.
  add_ordered(defs, {.name = "MaxPool",
                     .max_outputs = 2,
                     .infer = infer_pool,
                     .outputs = {moved_from_repeatedly(0, kMaximum), output_by(kPlace)}});
  add_ordered(defs, {.name = "AveragePool", .infer = infer_pool, .outputs = {output_by(kSum)}});
  add_ordered(defs, {.name = "GlobalAveragePool", .infer = infer_global_average, .outputs = {output_by(kSum)}});
  add_ordered(defs, {.name = "isobit.MaxPoolGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_pool_grad,
                     .outputs = {output_by(kSum)}});
  add_ordered(defs, {.name = "isobit.AveragePoolGrad", .infer = infer_pool_grad, .outputs = {output_by(kSum)}});
  add_ordered(
      defs,
      {.name = "isobit.GlobalAveragePoolGrad", .infer = infer_global_average_grad, .outputs = {output_by(kPointwise)}});
}

}  // namespace isobit::graph::ops
