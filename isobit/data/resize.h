// Images of another size, in whole numbers alone, so that every machine comes to the same bytes.
#pragma once

#include "isobit/tensor/tensor.h"

namespace isobit::data {

// uint8 [C, H, W] -> uint8 [C, height, width], each side stretched or shrunk on its own. A pixel of the result is the
// mean of what it covers of the source, whose pixels are squares, and halves are rounded up:
//   S = Sum over i, j of overlap(y, i; height, H) * overlap(x, j; width, W) * src[c][i][j]
//   dst[c][y][x] = floor((2 S + H W) / (2 H W))
//   overlap(a, b; m, n) = max(0, min((a + 1) n, (b + 1) m) - max(a n, b m))
// The overlaps along an axis add up to n for each a, so a constant image stays what it is, and one of the same size,
// too. REQUIRES sides of 1 to 2^14, H * W <= 2^25.
Tensor resized_by_area(const Tensor& image, int64_t height, int64_t width);

}  // namespace isobit::data
