// The one implementation behind digits, mnist, cifar10 and images: bytes of equal shape in memory, one label each.
#pragma once

#include <string>
#include <vector>

#include "isobit/data/preprocessing.h"

namespace isobit::data {

// One split: uint8 [n, shape...], and n labels.
struct ImagePart {
  Tensor samples;
  std::vector<int64_t> labels;
};

struct ImageSpec {
  std::string name;
  Shape shape;                  // of one sample
  int64_t classes = 0;          // every label is in [0, classes)
  Preprocessing preprocessing;  // of bytes
};

class ImageDataset final : public Dataset {
 public:
  // REQUIRES parts of the spec's shape.
  ImageDataset(ImageSpec spec, ImagePart train, ImagePart test);

  const std::string& name() const override { return spec_.name; }
  const std::vector<SampleInput>& inputs() const override { return inputs_; }
  const Target& target() const override { return target_; }
  int64_t count(Split split) const override { return static_cast<int64_t>(part(split).labels.size()); }
  uint64_t held_bytes() const override;
  Bytes header_bytes() const override;
  Status sample_bytes(Split split, int64_t index, Bytes& out) const override;
  Status fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
              void* to_target) const override;

 private:
  const ImagePart& part(Split split) const { return split == Split::kTrain ? train_ : test_; }
  ByteView stored_sample(Split split, int64_t index) const;

  ImageSpec spec_;
  std::vector<SampleInput> inputs_;
  Target target_;
  ImagePart train_, test_;
  size_t sample_size_ = 0;
};

}  // namespace isobit::data
