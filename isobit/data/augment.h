// Crop and flip of images as pure functions of (seed, step, position in the batch).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/base/status.h"

namespace isobit::data {

// What a job asks for.
struct AugmentOptions {
  bool crop = false;  // pad with zeros, then cut the original size at a random offset
  bool flip = false;  // mirror left and right with probability 1/2
  bool any() const { return crop || flip; }
};

// {"crop", "flip"} -> options. kUnreadable for any other name (with the nearest known one) and for a repeated one.
Expected<AugmentOptions> parse_augment(std::span<const std::string> names);

// What happens to one sample. The default leaves it as it is.
struct AugmentDraw {
  int64_t shift_y = 0;  // output row y is input row y + shift_y; rows outside the input are +0
  int64_t shift_x = 0;  // the same for columns, applied before the flip
  bool flip = false;
  bool identity() const { return shift_y == 0 && shift_x == 0 && !flip; }
  bool operator==(const AugmentDraw&) const = default;
};

// Zeros added on each side of an axis of `side` pixels: an eighth of it, rounded down, and at least 1 (4 for 32).
int64_t crop_padding(int64_t side);

// The draw for position j of the batch of `step`. With p = crop_padding(side), shift_y and shift_x are uniform on
// [-p, p] and flip is a fair coin; what `options` leaves out stays as it is and does not change the other draws.
// Defined to the bit in docs/formats/samples.md. REQUIRES 0 <= step < 2^32, j >= 0, h >= 1, w >= 1.
AugmentDraw draw_augment(uint64_t seed, int64_t step, int64_t j, const AugmentOptions& options, int64_t h, int64_t w);

// dst[c][y][x] = src[c][y + shift_y][x' + shift_x] with x' = w - 1 - x when flipped, else x; +0 outside. Moves bits.
// REQUIRES that src and dst hold c*h*w elements and do not overlap.
void apply_augment(const AugmentDraw& draw, int64_t c, int64_t h, int64_t w, const float* src, float* dst);

// What the model is fed of one input: write(void*) -> Status writes the preprocessed elements, which `draw` then
// changes on their way to `to`. REQUIRES that they are float32 of shape [c, h, w], unless the draw is the identity.
template <class Write>
Status write_augmented(const AugmentDraw& draw, const std::vector<int64_t>& shape, void* to, const Write& write) {
  if (draw.identity()) return write(to);
  ISOBIT_CHECK(shape.size() == 3);
  ScratchVector<float> plain(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
  ISOBIT_RETURN_IF_ERROR(write(plain.data()));
  apply_augment(draw, shape[0], shape[1], shape[2], plain.data(), static_cast<float*>(to));
  return {};
}

}  // namespace isobit::data
