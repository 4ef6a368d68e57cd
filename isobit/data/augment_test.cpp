#include "isobit/data/augment.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

namespace isobit::data {
namespace {

// As a textbook does it: copy into a padded image, cut a window at (top, left), mirror columns.
std::vector<float> naive(const std::vector<float>& src, int64_t c, int64_t h, int64_t w, int64_t padding_y,
                         int64_t padding_x, int64_t top, int64_t left, bool flip) {
  const int64_t padded_h = h + 2 * padding_y, padded_w = w + 2 * padding_x;
  std::vector<float> padded(static_cast<size_t>(c * padded_h * padded_w), 0.0f);
  std::vector<float> dst;
  for (int64_t z = 0; z < c; ++z) {
    for (int64_t y = 0; y < h; ++y) {
      for (int64_t x = 0; x < w; ++x) {
        padded[static_cast<size_t>((z * padded_h + y + padding_y) * padded_w + x + padding_x)] =
            src[static_cast<size_t>((z * h + y) * w + x)];
      }
    }
  }
  for (int64_t z = 0; z < c; ++z) {
    for (int64_t y = 0; y < h; ++y) {
      for (int64_t x = 0; x < w; ++x) {
        const int64_t column = left + (flip ? w - 1 - x : x);
        dst.push_back(padded[static_cast<size_t>((z * padded_h + top + y) * padded_w + column)]);
      }
    }
  }
  return dst;
}

TEST(Augment, MatchesPadCutMirror) {
  const int64_t shapes[][3] = {{1, 8, 8}, {3, 32, 32}, {1, 28, 28}, {2, 5, 19}, {1, 1, 1}, {2, 40, 3}};
  for (const auto& [c, h, w] : shapes) {
    std::vector<float> src(static_cast<size_t>(c * h * w));
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i) + 1.0f;
    src[0] = -0.0f;
    const int64_t padding_y = crop_padding(h), padding_x = crop_padding(w);
    for (int64_t top = 0; top <= 2 * padding_y; ++top) {
      for (int64_t left = 0; left <= 2 * padding_x; ++left) {
        for (const bool flip : {false, true}) {
          std::vector<float> dst(src.size(), -7.0f);
          apply_augment({top - padding_y, left - padding_x, flip}, c, h, w, src.data(), dst.data());
          const std::vector<float> expected = naive(src, c, h, w, padding_y, padding_x, top, left, flip);
          for (size_t i = 0; i < dst.size(); ++i) {
            ASSERT_EQ(std::bit_cast<uint32_t>(dst[i]), std::bit_cast<uint32_t>(expected[i]))
                << "element " << i << " of " << c << "x" << h << "x" << w << " top " << top << " left " << left;
          }
        }
      }
    }
  }
}

TEST(Augment, PaddingIsAnEighthOfTheSide) {
  EXPECT_EQ(crop_padding(32), 4);
  EXPECT_EQ(crop_padding(28), 3);
  EXPECT_EQ(crop_padding(8), 1);
  EXPECT_EQ(crop_padding(3), 1);
}

TEST(Augment, DrawsCoverTheirRangeEvenly) {
  std::vector<int> rows(9), columns(9);
  int flips = 0;
  const int n = 9000;
  for (int64_t j = 0; j < n; ++j) {
    const AugmentDraw draw = draw_augment(5, 11 + j / 100, j % 100, {true, true}, 32, 32);
    ASSERT_LE(std::abs(draw.shift_y), 4);
    ASSERT_LE(std::abs(draw.shift_x), 4);
    ++rows[static_cast<size_t>(draw.shift_y + 4)];
    ++columns[static_cast<size_t>(draw.shift_x + 4)];
    flips += draw.flip;
  }
  // Binomial(9000, 1/9): standard deviation 30; Binomial(9000, 1/2): 47.
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(rows[i], 1000, 150);
    EXPECT_NEAR(columns[i], 1000, 150);
  }
  EXPECT_NEAR(flips, 4500, 240);
}

TEST(Augment, OptionsDoNotDisturbEachOther) {
  for (int64_t j = 0; j < 50; ++j) {
    const AugmentDraw both = draw_augment(1, 2, j, {true, true}, 32, 32);
    const AugmentDraw crop = draw_augment(1, 2, j, {true, false}, 32, 32);
    const AugmentDraw flip = draw_augment(1, 2, j, {false, true}, 32, 32);
    EXPECT_EQ(both, (AugmentDraw{crop.shift_y, crop.shift_x, flip.flip}));
    EXPECT_FALSE(crop.flip);
    EXPECT_EQ(flip.shift_y, 0);
    EXPECT_EQ(flip.shift_x, 0);
    EXPECT_TRUE(draw_augment(1, 2, j, {}, 32, 32).identity());
  }
}

TEST(Augment, DrawsDependOnSeedStepAndPosition) {
  std::set<std::vector<int64_t>> seen;
  for (const uint64_t seed : {0, 1}) {
    for (const int64_t step : {0, 1}) {
      for (const int64_t first : {0, 40}) {
        std::vector<int64_t> draws;
        for (int64_t j = first; j < first + 40; ++j) {
          const AugmentDraw draw = draw_augment(seed, step, j, {true, true}, 32, 32);
          draws.insert(draws.end(), {draw.shift_y, draw.shift_x, draw.flip});
        }
        seen.insert(draws);
      }
    }
  }
  EXPECT_EQ(seen.size(), 8u);
}

TEST(Augment, NamesAreChecked) {
  const std::vector<std::string> both = {"flip", "crop"};
  ASSERT_TRUE(parse_augment(both));
  EXPECT_TRUE(parse_augment(both)->crop && parse_augment(both)->flip);
  EXPECT_FALSE(parse_augment({})->any());
  const std::vector<std::string> typo = {"crops"}, twice = {"flip", "flip"};
  EXPECT_NE(parse_augment(typo).error().message.find("did you mean \"crop\"?"), std::string::npos);
  EXPECT_NE(parse_augment(twice).error().message.find("twice"), std::string::npos);
}

// From a separate evaluation of docs/formats/samples.md in Python.
TEST(Augment, GoldenDraws) {
  constexpr uint64_t kSeed = 0x123456789abcdef;
  const auto draw = [](int64_t step, int64_t j) { return draw_augment(kSeed, step, j, {true, true}, 32, 28); };
  EXPECT_EQ(draw(0, 0), (AugmentDraw{0, 0, false}));
  EXPECT_EQ(draw(0, 1), (AugmentDraw{1, -2, false}));
  EXPECT_EQ(draw(7, 29), (AugmentDraw{1, -3, true}));
  EXPECT_EQ(draw(7, 30), (AugmentDraw{4, 0, true}));
  EXPECT_EQ(draw(7, 31), (AugmentDraw{1, -3, false}));
  EXPECT_EQ(draw(100000, 5), (AugmentDraw{-1, 3, false}));
}

}  // namespace
}  // namespace isobit::data
