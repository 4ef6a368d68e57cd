// How many windows tests of pooling have: ONNX's formula, written apart from that of the graph.
#pragma once

#include <cstdint>

namespace isobit::kernels {

// Windows along one axis: so many taps each, so far apart. REQUIRES size, stride, dilation >= 1, pads >= 0.
struct PoolWindows {
  int64_t size = 1, stride = 1, pad_begin = 0, pad_end = 0, dilation = 1;
};

// The number of windows along an axis of `in` elements. With ceil_mode, rounded up, but the last window must start
// inside the image or the padding before it. 0 when not even one window fits.
inline int64_t pool_output_size(int64_t in, const PoolWindows& w, bool ceil_mode) {
  const int64_t room = in + w.pad_begin + w.pad_end - w.dilation * (w.size - 1) - 1;
  if (room < 0) return 0;
  int64_t out = (room + (ceil_mode ? w.stride - 1 : 0)) / w.stride + 1;
  if (ceil_mode && (out - 1) * w.stride >= in + w.pad_begin) --out;
  return out;
}

}  // namespace isobit::kernels
