// What the attributes of nodes that sample images say, as the kernels take it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isobit/graph/ops/resize.h"
#include "isobit/kernels/sampling/deform.h"
#include "isobit/kernels/sampling/grid_sample.h"
#include "isobit/kernels/sampling/resize.h"
#include "isobit/runtime/kernels/windows.h"

namespace isobit::runtime {

inline kernels::Interpolation interpolation_of(const std::string& mode) {
  if (mode == "nearest") return kernels::Interpolation::kNearest;
  return mode == "cubic" || mode == "bicubic" ? kernels::Interpolation::kCubic : kernels::Interpolation::kLinear;
}

inline kernels::Coordinates coordinates_of(const std::string& mode) {
  if (mode == "half_pixel_symmetric") return kernels::Coordinates::kHalfPixelSymmetric;
  if (mode == "pytorch_half_pixel") return kernels::Coordinates::kPytorchHalfPixel;
  if (mode == "align_corners") return kernels::Coordinates::kAlignCorners;
  if (mode == "asymmetric") return kernels::Coordinates::kAsymmetric;
  return mode == "tf_crop_and_resize" ? kernels::Coordinates::kCropAndResize : kernels::Coordinates::kHalfPixel;
}

inline kernels::Nearest nearest_of(const std::string& mode) {
  if (mode == "round_prefer_ceil") return kernels::Nearest::kRoundPreferCeil;
  if (mode == "floor") return kernels::Nearest::kFloor;
  return mode == "ceil" ? kernels::Nearest::kCeil : kernels::Nearest::kRoundPreferFloor;
}

inline kernels::ResizeRule resize_rule(const graph::Attributes& a) {
  return {.mode = interpolation_of(a.text("mode", "nearest")),
          .coordinates = coordinates_of(a.text("coordinate_transformation_mode", "half_pixel")),
          .nearest = nearest_of(a.text("nearest_mode", "round_prefer_floor")),
          .cubic_a = a.real("cubic_coeff_a", -0.75),
          .antialias = a.integer("antialias", 0) != 0,
          .exclude_outside = a.integer("exclude_outside", 0) != 0};
}

// Of a source of these dimensions. constant(i): the parameter behind input i, or null.
inline std::vector<kernels::ResizeAxis> resize_axes(const graph::Attributes& a, const std::vector<int64_t>& src,
                                                    const std::function<const Tensor*(int)>& constant) {
  const auto resized = *graph::ops::read_resize(a, src, graph::ops::resize_inputs(a, constant));
  std::vector<kernels::ResizeAxis> axes;
  for (size_t i = 0; i < src.size(); ++i) {
    const graph::ops::ResizedAxis& axis = resized[i];
    axes.push_back({.in = src[i],
                    .out = axis.out,
                    .scale = axis.scale,
                    .length = axis.length,
                    .begin = axis.begin,
                    .end = axis.end});
  }
  return axes;
}

inline kernels::Padding padding_of(const std::string& mode) {
  if (mode == "border") return kernels::Padding::kBorder;
  return mode == "reflection" ? kernels::Padding::kReflection : kernels::Padding::kZeros;
}

inline kernels::PointRule point_rule(const graph::Attributes& a) {
  return {.mode = interpolation_of(a.text("mode", "linear")),
          .padding = padding_of(a.text("padding_mode", "zeros")),
          .align_corners = a.integer("align_corners", 0) != 0};
}

inline kernels::DeformShape deform_shape(const graph::Attributes& a, const std::vector<int64_t>& src) {
  const std::span<const int64_t> image = graph::ops::image_of(src);
  const auto axes = sliding_axes(*graph::ops::read_windows(a, image, {}), image);
  return {.n = src[0], .c = src[1], .groups = a.integer("offset_group", 1), .rows = axes[0], .columns = axes[1]};
}

}  // namespace isobit::runtime
