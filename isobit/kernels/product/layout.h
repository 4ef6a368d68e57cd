// How the elements of an operand lie: what a kernel needs to lay them out a vector at a time. Data only, so that files
// of one instruction set can include it; geometry.h says what it means.
#pragma once

#include <cstdint>

#include "isobit/numerics/inline.h"

namespace isobit::kernels::product {

enum class SideKind {
  kStrided,    // strides
  kPositions,  // line = (image, y, x) of some windows, element = (channel, ky, kx): a column of their matrix
  kTaps,       // the other way round: line = (channel, ky, kx), element = (image, y, x)
};

// Element l of line i lies at i * line + offset(l).
struct Strides {
  int64_t line = 0, inner = 1;
  int64_t period = 1, outer = 0;  // period >= 1

  ISOBIT_INLINE_MEMBER int64_t offset(int64_t l) const { return l / period * outer + l % period * inner; }
};

// Position (y, x) of a grid meets place (y * step_h + tap.y, x * step_w + tap.x) of the plane, if that exists.
struct Tap {
  int64_t y, x;
  int64_t index;  // of the tap in the window, ky * (taps of a row) + kx
};

// Windows as displacements: a grid of positions in each of several images, on which every tap is one (windows.h).
struct WindowGrid {
  const Tap* taps = nullptr;  // ascending by index; not owned
  int64_t tap_count = 0;
  int64_t channels = 0, channel_stride = 0, image_stride = 0;
  int64_t plane_h = 0, plane_w = 0;  // of one channel of one image
  int64_t grid_h = 0, grid_w = 0;    // positions of one image
  int64_t step_h = 1, step_w = 1;
};

}  // namespace isobit::kernels::product
