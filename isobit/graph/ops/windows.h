// The windows of convolution and pooling as ONNX's attributes say them, along each axis of an image.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"

namespace isobit::graph::ops {

// One axis: window o has its taps at o * stride - pad_begin + i * dilation, 0 <= i < size. Taps outside the image fall
// on padding.
struct AxisWindow {
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;
  bool ceil = false;  // the last window may reach beyond the padding, if it starts before the image ends

  // From the first tap to the last one.
  int64_t reach() const { return dilation * (size - 1) + 1; }
  // How many windows there are along `in` places: -1 where that is not known, 0 where none fits.
  int64_t count(int64_t in) const;
};
using Windows = std::vector<AxisWindow>;

// Of the attributes kernel_shape, strides, pads, dilations, ceil_mode and auto_pad (NOTSET, VALID, SAME_UPPER or
// SAME_LOWER). Where they are absent, kernel_shape is `kernel`, strides and dilations are 1 and pads 0. The pads of
// SAME follow from `image`, the image's extents; where one is not known (-1) they are 0, and so is the number of
// windows. Errors: other numbers than the image has axes, numbers out of range, another auto_pad. REQUIRES
// check_plane(image).
Expected<Windows> read_windows(const Attributes& attributes, std::span<const int64_t> image,
                               std::span<const int64_t> kernel);

// The windows of a transposed convolution: of the convolution whose gradient with respect to its source it is.
struct TransposedWindows {
  Windows windows;             // on an image of these extents there are as many as the source has places
  std::vector<int64_t> image;  // of the result; -1 where it is not known
};
// Of the attributes above, but for ceil_mode, and of output_padding and output_shape (of the image alone). src: the
// source's extents. Errors, besides those of read_windows: a result without places, or with places that no window
// reaches since output_padding or output_shape goes beyond the last stride, or since a window is smaller than the
// stride and auto_pad is SAME. REQUIRES check_plane(src).
Expected<TransposedWindows> read_transposed_windows(const Attributes& attributes, std::span<const int64_t> src,
                                                    std::span<const int64_t> kernel);

// Of the extents of an image: places in a plane are 32-bit numbers in the kernels. An unknown one (-1) may be any.
Status check_plane(std::span<const int64_t> image);

// Every window count is 1 or more, or not known.
Status check_counts(const Windows& windows, std::span<const int64_t> image);

// [n, c] and the number of windows along each axis.
std::vector<int64_t> dims_of_windows(int64_t n, int64_t c, const Windows& windows, std::span<const int64_t> image);

// What MaxUnpool makes of values of dimensions `src`, pooled by the windows of its attributes: what the indices of that
// pooling are places in. -1 where an extent is not known. Errors: those of read_windows; a plane without places.
Expected<std::vector<int64_t>> unpooled_dims(const Attributes& attributes, const std::vector<int64_t>& src);

// kernel_shape, strides, dilations and pads, written out.
Attributes attributes_of(const Windows& windows);

// The dimensions behind the first two.
inline std::span<const int64_t> image_of(const std::vector<int64_t>& dims) {
  return std::span<const int64_t>(dims).subspan(dims.size() < 2 ? dims.size() : 2);
}

}  // namespace isobit::graph::ops
