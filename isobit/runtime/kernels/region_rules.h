// What shapes and attributes of nodes over regions say, as the kernels take it.
#pragma once

#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/kernels/detection/regions.h"

namespace isobit::runtime {

inline kernels::RegionShape region_shape(const std::vector<int64_t>& src, const std::vector<int64_t>& dst) {
  return {.c = src[1], .h = src[2], .w = src[3], .regions = dst[0], .pooled_h = dst[2], .pooled_w = dst[3]};
}

inline kernels::AlignRule align_rule(const graph::Attributes& a) {
  return {.max = a.text("mode", "avg") == "max",
          .half_pixel = a.text("coordinate_transformation_mode", "half_pixel") == "half_pixel",
          .sampling_ratio = a.integer("sampling_ratio", 0),
          .spatial_scale = a.real("spatial_scale", 1)};
}

}  // namespace isobit::runtime
