#include "isobit/data/augment.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/numerics/philox.h"

namespace isobit::data {

Expected<AugmentOptions> parse_augment(std::span<const std::string> names) {
  static const std::vector<std::string> kKnown = {"crop", "flip"};
  AugmentOptions options;
  for (const std::string& name : names) {
    bool* option = name == "crop" ? &options.crop : name == "flip" ? &options.flip : nullptr;
    if (option == nullptr) {
      const std::string near = nearest_word(name, kKnown);
      return unreadable(text_of("data.augment: found \"", name, "\", expected ", join_or(kKnown),
                                near.empty() ? "; remove it" : "; did you mean \"" + near + "\"?"));
    }
    if (*option) return unreadable(text_of("data.augment: found \"", name, "\" twice, expected once; remove one"));
    *option = true;
  }
  return options;
}

int64_t crop_padding(int64_t side) { return std::max<int64_t>(1, side / 8); }

AugmentDraw draw_augment(uint64_t seed, int64_t step, int64_t j, const AugmentOptions& options, int64_t h, int64_t w) {
  ISOBIT_CHECK(step >= 0 && step <= std::numeric_limits<uint32_t>::max() && j >= 0);
  const auto position = static_cast<uint64_t>(j);
  AugmentDraw draw;
  if (options.crop) {
    const numerics::Stream stream{seed, numerics::Purpose::kCrop, static_cast<uint32_t>(step)};
    const auto shift = [&](uint64_t index, int64_t padding) {
      return static_cast<int64_t>(numerics::random_below(stream, index, static_cast<uint64_t>(2 * padding + 1))) -
             padding;
    };
    draw.shift_y = shift(2 * position, crop_padding(h));
    draw.shift_x = shift(2 * position + 1, crop_padding(w));
  }
  if (options.flip) {
    const numerics::Stream stream{seed, numerics::Purpose::kFlip, static_cast<uint32_t>(step)};
    draw.flip = (numerics::random_u32(stream, position) >> 31) != 0;
  }
  return draw;
}

namespace {

// One row: dst[x] = src[x + shift], zeros outside.
void shift_row(int64_t w, int64_t shift, const float* src, float* dst) {
  const int64_t begin = std::clamp<int64_t>(-shift, 0, w);  // first x whose source is inside
  const int64_t end = std::clamp<int64_t>(w - shift, begin, w);
  std::fill(dst, dst + begin, 0.0f);
  if (end > begin) std::memcpy(dst + begin, src + begin + shift, static_cast<size_t>(end - begin) * sizeof(float));
  std::fill(dst + end, dst + w, 0.0f);
}

}  // namespace

void apply_augment(const AugmentDraw& draw, int64_t c, int64_t h, int64_t w, const float* src, float* dst) {
  for (int64_t row = 0; row < c * h; ++row, dst += w) {
    const int64_t y = row % h;
    const int64_t from = y + draw.shift_y;
    if (from < 0 || from >= h) {
      std::fill(dst, dst + w, 0.0f);
      continue;
    }
    shift_row(w, draw.shift_x, src + (row - y + from) * w, dst);
    if (draw.flip) std::reverse(dst, dst + w);
  }
}

}  // namespace isobit::data
