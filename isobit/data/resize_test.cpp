#include "isobit/data/resize.h"

#include <gtest/gtest.h>

#include <vector>

namespace isobit::data {
namespace {

Tensor image_of(const Shape& shape, const std::vector<uint8_t>& values) { return Tensor::of<uint8_t>(shape, values); }

std::vector<uint8_t> values_of(const Tensor& image) {
  const auto values = image.span<uint8_t>();
  return {values.begin(), values.end()};
}

// The formula of resize.h, pixel by pixel.
uint8_t expected_at(const Tensor& src, int64_t c, int64_t y, int64_t x, int64_t height, int64_t width) {
  const int64_t h = src.shape()[1], w = src.shape()[2];
  const auto overlap = [](int64_t a, int64_t b, int64_t m, int64_t n) {
    return std::max<int64_t>(0, std::min((a + 1) * n, (b + 1) * m) - std::max(a * n, b * m));
  };
  int64_t sum = 0;
  for (int64_t i = 0; i < h; ++i) {
    for (int64_t j = 0; j < w; ++j) {
      sum += overlap(y, i, height, h) * overlap(x, j, width, w) * src.data<uint8_t>()[(c * h + i) * w + j];
    }
  }
  return static_cast<uint8_t>((2 * sum + h * w) / (2 * h * w));
}

TEST(Resize, IsTheMeanOfWhatIsCovered) {
  EXPECT_EQ(values_of(resized_by_area(image_of({1, 2, 2}, {0, 1, 2, 4}), 1, 1)), (std::vector<uint8_t>{2}));
  EXPECT_EQ(values_of(resized_by_area(image_of({1, 1, 4}, {0, 1, 10, 20}), 1, 2)), (std::vector<uint8_t>{1, 15}));
  EXPECT_EQ(values_of(resized_by_area(image_of({1, 1, 2}, {0, 100}), 2, 3)),
            (std::vector<uint8_t>{0, 50, 100, 0, 50, 100}));
}

TEST(Resize, EqualsTheFormula) {
  std::vector<uint8_t> values(2 * 7 * 5);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 97 + i * i * 31);
  const Tensor src = image_of({2, 7, 5}, values);
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{3, 3}, {7, 2}, {14, 10}, {1, 9}, {8, 4}, {7, 5}}) {
    const Tensor dst = resized_by_area(src, height, width);
    ASSERT_EQ(dst.shape(), (Shape{2, height, width}));
    for (int64_t c = 0; c < 2; ++c) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          ASSERT_EQ(dst.data<uint8_t>()[(c * height + y) * width + x], expected_at(src, c, y, x, height, width));
        }
      }
    }
  }
}

TEST(Resize, KeepsWhatIsConstant) {
  const Tensor white = image_of({1, 3, 3}, std::vector<uint8_t>(9, 255));
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{2, 2}, {5, 4}, {1, 1}, {100, 7}}) {
    const Tensor resized = resized_by_area(white, height, width);
    for (const uint8_t v : resized.span<uint8_t>()) ASSERT_EQ(v, 255) << height << " by " << width;
  }
}

}  // namespace
}  // namespace isobit::data
