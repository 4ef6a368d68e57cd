// Regions of images and boxes around what was found there.
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

constexpr int64_t kMostPlaces = 1 << 15;   // of a side of what is made of a region
constexpr int64_t kMostSamples = 1 << 10;  // of a side of a bin

Status check_scale(const InferContext& c) {
  const double scale = c.attributes().real("spatial_scale", 1);
  if (std::isfinite(scale)) return {};
  return unreadable("spatial_scale is not finite");
}

Status check_images(const InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 4));
  if (c.dim(0, 2) == 0 || c.dim(0, 3) == 0) return unreadable("images without places have no regions");
  return check_plane(image_of(c.dims(0)));
}

Status check_side(const char* name, int64_t side) {
  if (side >= 1 && side <= kMostPlaces) return {};
  return unreadable(text_of(name, " is ", side, ", which is out of range: 1 to ", kMostPlaces));
}

// (src [n, c, h, w], rois [r, 4], batch_indices [r]) -> [r, c, output_height, output_width]
Status infer_roi_align(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"coordinate_transformation_mode", kText},
                                              {"mode", kText},
                                              {"output_height", kInt},
                                              {"output_width", kInt},
                                              {"sampling_ratio", kInt},
                                              {"spatial_scale", kReal}}));
  ISOBIT_RETURN_IF_ERROR(check_images(c));
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
  c.set_output(0, c.input(0).dtype, {c.dim(1, 0), c.dim(0, 1), height, width});
  return {};
}

// (src [n, c, h, w], rois [r, 5]) -> [r, c, pooled_shape ..]
Status infer_max_roi_pool(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"pooled_shape", kInts}, {"spatial_scale", kReal}}));
  ISOBIT_RETURN_IF_ERROR(check_images(c));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0, {c.rank(1) == 2 ? c.dim(1, 0) : -1, 5}));
  ISOBIT_RETURN_IF_ERROR(check_scale(c));
  const auto pooled = c.attributes().integers("pooled_shape", {});
  if (pooled.size() != 2) return unreadable("pooled_shape needs 2 numbers");
  for (int64_t side : pooled) ISOBIT_RETURN_IF_ERROR(check_side("pooled_shape", side));
  c.set_output(0, c.input(0).dtype, {c.dim(1, 0), c.dim(0, 1), pooled[0], pooled[1]});
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
  add_ordered(defs, {.name = "MaxRoiPool",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_max_roi_pool,
                     .outputs = {moved_from_repeatedly(0, kMaximum)}});
  add_ordered(defs, {.name = "NonMaxSuppression",
                     .min_inputs = 2,
                     .max_inputs = 5,
                     .optional_inputs = {.some = {2, 3, 4}},
                     .infer = infer_non_max_suppression,
                     .outputs = {output_by(kWhole)}});
}

}  // namespace isobit::graph::ops
