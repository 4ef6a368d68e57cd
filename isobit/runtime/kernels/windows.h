// The windows of a node as the kernels take them.
#pragma once

#include <vector>

#include "isobit/graph/ops/windows.h"
#include "isobit/kernels/columns/sliding_axis.h"

namespace isobit::runtime {

// image: the extents of the image. Every one of them is known.
inline std::vector<kernels::SlidingAxis> sliding_axes(const graph::ops::Windows& windows,
                                                      std::span<const int64_t> image) {
  std::vector<kernels::SlidingAxis> axes;
  for (size_t i = 0; i < windows.size(); ++i) {
    const graph::ops::AxisWindow& w = windows[i];
    axes.push_back({.in = image[i],
                    .out = w.count(image[i]),
                    .size = w.size,
                    .stride = w.stride,
                    .dilation = w.dilation,
                    .pad = w.pad_begin,
                    .pad_end = w.pad_end});
  }
  return axes;
}

}  // namespace isobit::runtime
