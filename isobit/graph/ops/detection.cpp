// Regions of images and boxes around what was found there.
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

constexpr int64_t kMostRegionPlaces = 1 << 15;  // of a side of what is made of a region
constexpr int64_t kMostSamples = 1 << 10;       // of a side of a bin

Status check_scale(const InferContext& c) {
  const double scale = c.attributes().real("spatial_scale", 1);
  if (std::isfinite(scale)) return {};
  return unreadable("spatial_scale is not finite");
}

// Input 0 are floats of rank 4; src: the dimensions of the images, which is this input's or has four, too.
Status check_images(const InferContext& c, const std::vector<int64_t>& src) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 4));
  if (src[2] == 0 || src[3] == 0) return unreadable("images without places have no regions");
  return check_plane(image_of(src));
}

Status check_side(const char* name, int64_t side) {
  if (side >= 1 && side <= kMostRegionPlaces) return {};
  return unreadable(text_of(name, " is ", side, ", which is out of range: 1 to ", kMostRegionPlaces));
}

#define ISOBIT_ALIGN_ATTRIBUTES                                                                                \
  {"coordinate_transformation_mode", kText}, {"mode", kText}, {"output_height", kInt}, {"output_width", kInt}, \
      {"sampling_ratio", kInt}, {                                                                              \
    "spatial_scale", kReal                                                                                     \
  }

// rois [r, 4], batch_indices [r]: inputs 1 and 2; of images with so many channels: [r, c, output_height, output_width]
Expected<std::vector<int64_t>> aligned_dims(const InferContext& c, int64_t channels) {
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0, {c.rank(1) == 2 ? c.dim(1, 0) : -1, 4}));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(2, DType::kInt64));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(2, {c.dim(1, 0)}));
  ISOBIT_RETURN_IF_ERROR(check_scale(c));
  const std::string mode = c.attributes().text("mode", "avg"),
                    coordinates = c.attributes().text("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max") return unreadable(text_of("mode '", mode, "': expected avg or max"));
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return unreadable(
        text_of("coordinate_transformation_mode '", coordinates, "': expected half_pixel or output_half_pixel"));
  }
  const int64_t height = c.attributes().integer("output_height", 1), width = c.attributes().integer("output_width", 1);
  ISOBIT_RETURN_IF_ERROR(check_side("output_height", height));
  ISOBIT_RETURN_IF_ERROR(check_side("output_width", width));
  const int64_t ratio = c.attributes().integer("sampling_ratio", 0);
  if (ratio < 0 || ratio > kMostSamples) {
    return unreadable(text_of("sampling_ratio is ", ratio, ", expected 0 to ", kMostSamples));
  }
  return std::vector<int64_t>{c.dim(1, 0), channels, height, width};
}

// (src [n, c, h, w], rois, batch_indices) -> dst
Status infer_roi_align(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_ALIGN_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(check_images(c, c.dims(0)));
  ISOBIT_TRY(auto dims, aligned_dims(c, c.dim(0, 1)));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (diff_dst, rois, batch_indices) -> diff_src of averages; attribute src_shape.
Status infer_roi_align_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_ALIGN_ATTRIBUTES, {"src_shape", kInts}}));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  if (src.size() != 4) return unreadable("attribute 'src_shape' needs 4 numbers");
  ISOBIT_RETURN_IF_ERROR(check_images(c, src));
  ISOBIT_TRY(const auto dims, aligned_dims(c, src[1]));
  if (c.attributes().text("mode", "avg") != "avg") return unreadable("mode 'max' has no such gradient");
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  return set_countable_output(c, 0, c.input(0).dtype, src);
}

// rois [r, 5]: input number `rois`; of images with so many channels: [r, c, pooled_shape ..]
Expected<std::vector<int64_t>> pooled_dims(const InferContext& c, int rois, int64_t channels) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"pooled_shape", kInts}, {"spatial_scale", kReal}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(rois, 0, {c.rank(rois) == 2 ? c.dim(rois, 0) : -1, 5}));
  ISOBIT_RETURN_IF_ERROR(check_scale(c));
  const auto pooled = c.attributes().integers("pooled_shape", {});
  if (pooled.size() != 2) return unreadable("pooled_shape needs 2 numbers");
  for (int64_t side : pooled) ISOBIT_RETURN_IF_ERROR(check_side("pooled_shape", side));
  return std::vector<int64_t>{c.dim(rois, 0), channels, pooled[0], pooled[1]};
}

// (src [n, c, h, w], rois) -> dst
Status infer_max_roi_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(check_images(c, c.dims(0)));
  ISOBIT_TRY(auto dims, pooled_dims(c, 1, c.dim(0, 1)));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (diff_dst, src, rois) -> diff_src
Status infer_max_roi_pool_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(1, 4));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_RETURN_IF_ERROR(check_images(c, c.dims(1)));
  ISOBIT_TRY(const auto dims, pooled_dims(c, 2, c.dim(1, 1)));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  c.set_output(0, c.input(0).dtype, c.dims(1));
  return {};
}

// An input of one number.
Status expect_one(const InferContext& c, int i) {
  if (c.rank(i) == 0 || (c.rank(i) == 1 && (c.dim(i, 0) == 1 || c.dim(i, 0) < 0))) return {};
  return unreadable(
      text_of("input ", i, " ('", c.input(i).name, "') has shape ", Shape(c.dims(i)).text(), ", expected one number"));
}

// (boxes [n, b, 4], scores [n, classes, b][, most][, iou][, score]) -> [selected, 3]: image, class and box of each.
Status infer_non_max_suppression(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"center_point_box", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 3));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, {c.dim(0, 0), c.dim(0, 1), 4}));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(1, 3));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, {c.dim(0, 0), c.dim(1, 1), c.dim(0, 1)}));
  if (c.has_input(2)) {
    ISOBIT_RETURN_IF_ERROR(c.expect_type(2, DType::kInt64));
    ISOBIT_RETURN_IF_ERROR(expect_one(c, 2));
  }
  for (int i : {3, 4}) {
    if (!c.has_input(i)) continue;
    ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(0).dtype));
    ISOBIT_RETURN_IF_ERROR(expect_one(c, i));
  }
  c.set_output(0, DType::kInt64, {-1, 3});
  return {};
}

}  // namespace

void add_detection(std::vector<OpDef>& defs) {
  using enum ElementRule;
  add_ordered(defs, {.name = "RoiAlign",
                     .min_inputs = 3,
                     .max_inputs = 3,
                     .infer = infer_roi_align,
                     .outputs = {output_by(kSampled)}});
  add_ordered(defs, {.name = "isobit.RoiAlignGrad",
                     .min_inputs = 3,
                     .max_inputs = 3,
                     .infer = infer_roi_align_grad,
                     .outputs = {output_by(kSampled)}});
  add_ordered(defs, {.name = "MaxRoiPool",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_max_roi_pool,
                     .outputs = {moved_from_repeatedly(0, kMaximum)}});
  add_ordered(defs, {.name = "isobit.MaxRoiPoolGrad",
                     .min_inputs = 3,
                     .max_inputs = 3,
                     .infer = infer_max_roi_pool_grad,
                     .outputs = {output_by(kSampled)}});
  add_ordered(defs, {.name = "NonMaxSuppression",
                     .min_inputs = 2,
                     .max_inputs = 5,
                     .optional_inputs = {.some = {2, 3, 4}},
                     .infer = infer_non_max_suppression,
                     .outputs = {judged_whole("what is left follows from what was taken before")}});
}

}  // namespace isobit::graph::ops
