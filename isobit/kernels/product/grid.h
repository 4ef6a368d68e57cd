// Windows as displacements: what a kernel needs to lay windows out a vector at a time. Data only, so that files of one
// instruction set can include it. Made by windows.h.
#pragma once

#include <cstdint>

namespace isobit::kernels::product {

// Position (y, x) of a grid meets place (y * step_h + tap.y, x * step_w + tap.x) of the plane, if that exists.
struct Tap {
  int64_t y, x;
  int64_t index;  // of the tap in the window, ky * (taps of a row) + kx
};

// A grid of positions in each of several images, on which every tap is a displacement.
struct WindowGrid {
  const Tap* taps = nullptr;  // ascending by index; not owned
  int64_t tap_count = 0;
  int64_t channels = 0, channel_stride = 0, image_stride = 0;
  int64_t plane_h = 0, plane_w = 0;  // of one channel of one image
  int64_t grid_h = 0, grid_w = 0;    // positions of one image
  int64_t step_h = 1, step_w = 1;
};

}  // namespace isobit::kernels::product
