// A dataset's header and a sample of it, both from anybody: what decodes encodes to the very same bytes, and what a
// sample is fed as is written into the rows that the header names and nowhere else, or refused.
#include <algorithm>

#include "isobit/data/shown_sample.h"

using namespace isobit;

namespace {

// Of nobody's samples larger ones are made room for.
constexpr uint64_t kMaxSample = 1 << 16;

// As `shown` has them; `draws`: what is drawn, if anything can be.
void fill(const data::ShownSamples& shown, ByteView sample, uint8_t draws) {
  std::vector<Tensor> rows;
  std::vector<void*> to;
  for (const data::SampleInput& input : shown.inputs()) {
    rows.emplace_back(input.dtype, Shape(input.shape));
    to.push_back(rows.back().raw());
  }
  Tensor target(shown.target().dtype, Shape(shown.target().shape));
  const data::BatchOptions options{.seed = draws, .batch = 1, .augment = {(draws & 1) != 0, (draws & 2) != 0}};
  const auto draw = shown.draw(options, draws, 0);
  ISOBIT_CHECK(draw || !shown.takes_augmentation());
  (void)shown.fill(sample, draw.value_or(data::AugmentDraw{}), to, target.raw());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteReader reader({data, size}, "input");
  const auto draws = reader.u8("draws");
  const auto header = reader.bytes("header", data::kMaxHeaderBytes);
  if (!draws || !header) return 0;
  const auto shown = data::ShownSamples::open(*header, "input");
  if (!shown) return 0;
  ISOBIT_CHECK(std::ranges::equal(encode(*data::decode_dataset_header(*header, "input")), *header));
  const ByteView sample = *reader.fixed("sample", reader.remaining());
  if (shown->sample_size() > kMaxSample) return 0;
  fill(*shown, sample, *draws);
  return 0;
}
