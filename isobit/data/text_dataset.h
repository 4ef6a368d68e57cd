// Bytes of a file, or tokens that a tokenizer makes of it, as token sequences: the `text` dataset.
#pragma once

#include <string>
#include <vector>

#include "isobit/data/data_shape.h"
#include "isobit/data/preprocessing.h"
#include "isobit/data/tokens.h"

namespace isobit::data {

class TextDataset final : public Dataset {
 public:
  static constexpr int64_t kClasses = 256;  // the values of a byte

  // Block i is the tokens [i * context, i * context + context], both ends included; the last tenth of the blocks,
  // rounded down but at least one, is the test split. REQUIRES context >= 1 and at least two blocks.
  TextDataset(Bytes text, int64_t context);
  TextDataset(Tokens tokens, int64_t context);

  const std::string& name() const override { return name_; }
  const std::vector<SampleInput>& inputs() const override { return inputs_; }
  const Target& target() const override { return target_; }
  int64_t count(Split split) const override { return split == Split::kTrain ? train_blocks_ : blocks_ - train_blocks_; }
  uint64_t held_bytes() const override { return text_.size(); }
  Bytes header_bytes() const override;
  Status sample_bytes(Split split, int64_t index, Bytes& out) const override;
  Status fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
              void* to_target) const override;

 private:
  TextDataset(Bytes text, int64_t context, Preprocessing rule, int64_t classes,
              std::optional<TokenizerFiles> tokenizer);
  ByteView block(Split split, int64_t index) const;

  std::string name_ = "text";
  Preprocessing rule_;
  std::optional<TokenizerFiles> tokenizer_;
  Bytes text_;                      // tokens of the type that the rule takes
  size_t context_ = 0, token_ = 1;  // bytes of a token
  std::vector<SampleInput> inputs_;
  Target target_;
  int64_t blocks_ = 0, train_blocks_ = 0;
};

// The shape of such samples, but for the name and the counts.
DataShape shape_of_tokens(int64_t context, int64_t classes = TextDataset::kClasses);

}  // namespace isobit::data
