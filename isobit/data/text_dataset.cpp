#include "isobit/data/text_dataset.h"

#include <algorithm>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/header.h"
#include "isobit/data/openers.h"

namespace isobit::data {

TextDataset::TextDataset(Bytes text, int64_t context) : text_(std::move(text)), shape_({context}) {
  ISOBIT_CHECK(context >= 1 && !text_.empty());
  blocks_ = (static_cast<int64_t>(text_.size()) - 1) / context;
  ISOBIT_CHECK(blocks_ >= 2);
  train_blocks_ = blocks_ - std::max<int64_t>(1, blocks_ / 10);
}

Bytes TextDataset::header_bytes() const { return dataset_header(*this, DType::kUint8, "bytes"); }

ByteView TextDataset::block(Split split, int64_t index) const {
  ISOBIT_CHECK(index >= 0 && index < count(split));
  const auto context = static_cast<size_t>(shape_[0]);
  const auto first = static_cast<size_t>(split == Split::kTrain ? index : train_blocks_ + index);
  return ByteView(text_).subspan(first * context, context + 1);
}

void TextDataset::sample_bytes(Split split, int64_t index, Bytes& out) const {
  const ByteView bytes = block(split, index);
  out.assign(bytes.begin(), bytes.end());
}

void TextDataset::fill_image(Split, int64_t, const AugmentDraw&, float*, int64_t*) const {
  ISOBIT_CHECK(!"fill_image is for image datasets");
}

void TextDataset::fill_tokens(Split split, int64_t index, int64_t* tokens, int64_t* next_tokens) const {
  const ByteView bytes = block(split, index);
  for (size_t t = 0; t + 1 < bytes.size(); ++t) {
    tokens[t] = bytes[t];
    next_tokens[t] = bytes[t + 1];
  }
}

std::optional<DataShape> shape_of_text(const DataConfig& config) {
  if (config.context < 1) return std::nullopt;
  return DataShape{.input_dtype = DType::kInt64, .input_shape = {config.context}, .classes = TextDataset::kClasses};
}

OpenResult open_text(const DataConfig& config, FileBudget& budget) {
  constexpr int64_t kMaxContext = 1 << 20;
  constexpr uint64_t kMaxTextFile = uint64_t{16} << 30;
  if (config.context < 1 || config.context > kMaxContext) {
    return unreadable(text_of("data.context: found ", config.context, ", expected 1 to ", kMaxContext,
                              " for dataset \"text\"; set it to the model's block length"));
  }
  ISOBIT_TRY(Bytes text, budget.read(config.path, kMaxTextFile));
  const uint64_t needed = 2 * static_cast<uint64_t>(config.context) + 1;
  if (text.size() < needed) {
    return unreadable(text_of(config.path, ": found ", text.size(), " bytes, expected at least ", needed,
                              " (two blocks of context ", config.context,
                              " and one byte); use a longer text or a shorter context"));
  }
  return std::make_unique<TextDataset>(std::move(text), config.context);
}

}  // namespace isobit::data
