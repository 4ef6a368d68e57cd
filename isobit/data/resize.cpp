#include "isobit/data/resize.h"

#include <algorithm>
#include <vector>

namespace isobit::data {
namespace {

// The pixels of an axis of n that place a of m covers: [first, last], whose weights overlap() says.
struct Covered {
  int64_t first = 0, last = 0;
};
Covered covered(int64_t a, int64_t m, int64_t n) { return {a * n / m, ((a + 1) * n - 1) / m}; }

uint64_t overlap(int64_t a, int64_t b, int64_t m, int64_t n) {
  return static_cast<uint64_t>(std::min((a + 1) * n, (b + 1) * m) - std::max(a * n, b * m));
}

// One row, its pixels weighted along the row; the weights add up to the row's length.
void sum_along(const uint8_t* src, int64_t n, int64_t m, uint64_t* dst) {
  for (int64_t x = 0; x < m; ++x) {
    const Covered c = covered(x, m, n);
    dst[x] = 0;
    for (int64_t j = c.first; j <= c.last; ++j) dst[x] += overlap(x, j, m, n) * src[j];
  }
}

void resize_plane(const uint8_t* src, int64_t h, int64_t w, uint8_t* dst, int64_t height, int64_t width) {
  const uint64_t total = static_cast<uint64_t>(h) * static_cast<uint64_t>(w);
  std::vector<uint64_t> row(static_cast<size_t>(width)), sums(static_cast<size_t>(width));
  for (int64_t y = 0; y < height; ++y) {
    const Covered c = covered(y, height, h);
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t i = c.first; i <= c.last; ++i) {
      sum_along(src + i * w, w, width, row.data());
      const uint64_t weight = overlap(y, i, height, h);
      for (size_t x = 0; x < sums.size(); ++x) sums[x] += weight * row[x];
    }
    for (const uint64_t sum : sums) *dst++ = static_cast<uint8_t>((2 * sum + total) / (2 * total));
  }
}

}  // namespace

Tensor resized_by_area(const Tensor& image, int64_t height, int64_t width) {
  ISOBIT_CHECK(image.dtype() == DType::kUint8 && image.shape().rank() == 3 && height >= 1 && width >= 1);
  const int64_t channels = image.shape()[0], h = image.shape()[1], w = image.shape()[2];
  if (h == height && w == width) return image;
  Tensor out(DType::kUint8, Shape{channels, height, width});
  for (int64_t c = 0; c < channels; ++c) {
    resize_plane(image.data<uint8_t>() + c * h * w, h, w, out.data<uint8_t>() + c * height * width, height, width);
  }
  return out;
}

}  // namespace isobit::data
