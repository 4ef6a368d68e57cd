#include "isobit/data/image_dataset.h"

#include <cstring>

#include "isobit/base/scratch.h"
#include "isobit/data/data_shape.h"
#include "isobit/data/header.h"

namespace isobit::data {

ImageDataset::ImageDataset(ImageSpec spec, ImagePart train, ImagePart test)
    : spec_(std::move(spec)), train_(std::move(train)), test_(std::move(test)) {
  const DataShape shape = shape_of_classes(spec_.shape.dims(), spec_.classes);
  inputs_ = shape.inputs;
  target_ = shape.target;
  if (spec_.tables.empty()) inputs_[0].dtype = DType::kUint8;
  sample_size_ = static_cast<size_t>(spec_.shape.elements());
  for (const ImagePart* p : {&train_, &test_}) {
    ISOBIT_CHECK(p->samples.dtype() == DType::kUint8 && p->samples.bytes() == p->labels.size() * sample_size_);
  }
  ISOBIT_CHECK(spec_.tables.size() <= 1 || static_cast<int64_t>(spec_.tables.size()) == spec_.shape[0]);
}

uint64_t ImageDataset::held_bytes() const {
  return (sizeof(int64_t) + sample_size_) * (train_.labels.size() + test_.labels.size());
}

Bytes ImageDataset::header_bytes() const { return dataset_header(*this, DType::kUint8, spec_.preprocessing); }

ByteView ImageDataset::stored_sample(Split split, int64_t index) const {
  ISOBIT_CHECK(index >= 0 && index < count(split));
  return part(split).samples.byte_view().subspan(static_cast<size_t>(index) * sample_size_, sample_size_);
}

Status ImageDataset::sample_bytes(Split split, int64_t index, Bytes& out) const {
  const ByteView stored = stored_sample(split, index);
  ByteWriter writer;
  writer.i64(part(split).labels[static_cast<size_t>(index)]);
  writer.fixed(stored);
  out = writer.take();
  return {};
}

void ImageDataset::decode(ByteView stored, void* to) const {
  if (spec_.tables.empty()) {
    std::memcpy(to, stored.data(), stored.size());
    return;
  }
  auto* input = static_cast<float*>(to);
  const size_t per_table = stored.size() / spec_.tables.size();
  for (const ByteTable& table : spec_.tables) {
    for (const uint8_t v : stored.first(per_table)) *input++ = table[v];
    stored = stored.subspan(per_table);
  }
}

Status ImageDataset::fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
                          void* to_target) const {
  const ByteView stored = stored_sample(split, index);
  std::memcpy(to_target, &part(split).labels[static_cast<size_t>(index)], sizeof(int64_t));
  if (draw.identity()) {
    decode(stored, to_inputs[0]);
    return {};
  }
  const Shape& shape = spec_.shape;
  ISOBIT_CHECK(takes_augmentation());
  ScratchVector<float> plain(static_cast<size_t>(shape.elements()));
  decode(stored, plain.data());
  apply_augment(draw, shape[0], shape[1], shape[2], plain.data(), static_cast<float*>(to_inputs[0]));
  return {};
}

}  // namespace isobit::data
