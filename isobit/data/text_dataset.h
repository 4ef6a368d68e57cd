// Bytes of a file as token sequences: the `text` dataset.
#pragma once

#include <string>

#include "isobit/data/dataset.h"

namespace isobit::data {

class TextDataset final : public Dataset {
 public:
  static constexpr int64_t kClasses = 256;  // the values of a byte

  // Block i is the bytes [i * context, i * context + context], both ends included; the last tenth of the blocks,
  // rounded down but at least one, is the test split. REQUIRES context >= 1 and at least two blocks.
  TextDataset(Bytes text, int64_t context);

  const std::string& name() const override { return name_; }
  Kind kind() const override { return Kind::kTokenSequence; }
  DType input_dtype() const override { return DType::kInt64; }
  const Shape& input_shape() const override { return shape_; }
  int64_t classes() const override { return kClasses; }
  int64_t count(Split split) const override { return split == Split::kTrain ? train_blocks_ : blocks_ - train_blocks_; }
  Bytes header_bytes() const override;
  void sample_bytes(Split split, int64_t index, Bytes& out) const override;
  void fill_image(Split split, int64_t index, const AugmentDraw& draw, float* input, int64_t* label) const override;
  void fill_tokens(Split split, int64_t index, int64_t* tokens, int64_t* next_tokens) const override;

 private:
  ByteView block(Split split, int64_t index) const;

  std::string name_ = "text";
  Bytes text_;
  Shape shape_;
  int64_t blocks_ = 0, train_blocks_ = 0;
};

}  // namespace isobit::data
