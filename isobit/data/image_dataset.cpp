#include "isobit/data/image_dataset.h"

#include <cstring>

#include "isobit/data/data_shape.h"
#include "isobit/data/header.h"

namespace isobit::data {

ImageDataset::ImageDataset(ImageSpec spec, ImagePart train, ImagePart test)
    : spec_(std::move(spec)), train_(std::move(train)), test_(std::move(test)) {
  const DataShape shape = shape_of_classes(spec_.shape.dims(), spec_.classes);
  inputs_ = shape.inputs;
  target_ = shape.target;
  inputs_[0].dtype = spec_.preprocessing.fed;
  sample_size_ = static_cast<size_t>(spec_.shape.elements());
  for (const ImagePart* p : {&train_, &test_}) {
    ISOBIT_CHECK(p->samples.dtype() == DType::kUint8 && p->samples.bytes() == p->labels.size() * sample_size_);
  }
  ISOBIT_CHECK(spec_.preprocessing.fits(DType::kUint8, spec_.shape.dims()));
}

uint64_t ImageDataset::held_bytes() const {
  return (sizeof(int64_t) + sample_size_) * (train_.labels.size() + test_.labels.size());
}

Bytes ImageDataset::header_bytes() const { return dataset_header(*this, {{DType::kUint8, spec_.preprocessing.name}}); }

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

Status ImageDataset::fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
                          void* to_target) const {
  const ByteView stored = stored_sample(split, index);
  std::memcpy(to_target, &part(split).labels[static_cast<size_t>(index)], sizeof(int64_t));
  ISOBIT_CHECK(draw.identity() || takes_augmentation());
  return write_augmented(draw, inputs_[0].shape, to_inputs[0], [&](void* to) -> Status {
    spec_.preprocessing.apply(stored, to);
    return {};
  });
}

}  // namespace isobit::data
