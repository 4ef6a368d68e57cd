// The one implementation behind digits, mnist, cifar10 and npy: samples of equal shape in memory, one label each.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "isobit/data/dataset.h"

namespace isobit::data {

// What a byte v of one channel becomes in float32, for all 256 values.
using ByteTable = std::array<float, 256>;

ByteTable divided_by(float divisor);                              // v / divisor
ByteTable standardized(float divisor, float mean, float stddev);  // ((v / divisor) - mean) / stddev, each step rounded

// One split: uint8 or float32 [n, shape...], and n labels.
struct ImagePart {
  Tensor samples;
  std::vector<int64_t> labels;
};

struct ImageSpec {
  std::string name;
  Shape shape;                    // of one sample
  DType stored = DType::kUint8;   // kUint8 or kFloat32
  int64_t classes = 0;            // every label is in [0, classes)
  std::string preprocessing;      // its canonical name in docs/formats/samples.md
  std::vector<ByteTable> tables;  // kUint8: one for all elements or one per channel; kFloat32: none, bits pass
};

class ImageDataset final : public Dataset {
 public:
  // REQUIRES parts of the spec's type and shape.
  ImageDataset(ImageSpec spec, ImagePart train, ImagePart test);

  const std::string& name() const override { return spec_.name; }
  Kind kind() const override { return Kind::kImageClassification; }
  DType input_dtype() const override { return DType::kFloat32; }
  const Shape& input_shape() const override { return spec_.shape; }
  int64_t classes() const override { return spec_.classes; }
  int64_t count(Split split) const override { return static_cast<int64_t>(part(split).labels.size()); }
  Bytes header_bytes() const override;
  void sample_bytes(Split split, int64_t index, Bytes& out) const override;
  void fill_image(Split split, int64_t index, const AugmentDraw& draw, float* input, int64_t* label) const override;
  void fill_tokens(Split split, int64_t index, int64_t* tokens, int64_t* next_tokens) const override;

 private:
  const ImagePart& part(Split split) const { return split == Split::kTrain ? train_ : test_; }
  ByteView stored_sample(Split split, int64_t index) const;
  void decode(ByteView stored, float* input) const;

  ImageSpec spec_;
  ImagePart train_, test_;
  size_t sample_size_ = 0;
};

}  // namespace isobit::data
