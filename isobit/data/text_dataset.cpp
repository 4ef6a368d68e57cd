#include "isobit/data/text_dataset.h"

#include <algorithm>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/header.h"
#include "isobit/data/openers.h"

namespace isobit::data {

DataShape shape_of_tokens(int64_t context) {
  DataShape shape;
  shape.inputs = {{"input", DType::kInt64, {context}}};
  shape.target = {TargetKind::kClassPerToken, DType::kInt64, {context}, TextDataset::kClasses};
  return shape;
}

TextDataset::TextDataset(Bytes text, int64_t context) : text_(std::move(text)), context_(static_cast<size_t>(context)) {
  ISOBIT_CHECK(context >= 1 && !text_.empty());
  blocks_ = (static_cast<int64_t>(text_.size()) - 1) / context;
  ISOBIT_CHECK(blocks_ >= 2);
  const DataShape shape = shape_of_tokens(context);
  inputs_ = shape.inputs;
  target_ = shape.target;
  train_blocks_ = blocks_ - std::max<int64_t>(1, blocks_ / 10);
}

Bytes TextDataset::header_bytes() const { return dataset_header(*this, {{DType::kUint8, rule_.name}}); }

ByteView TextDataset::block(Split split, int64_t index) const {
  ISOBIT_CHECK(index >= 0 && index < count(split));
  const auto first = static_cast<size_t>(split == Split::kTrain ? index : train_blocks_ + index);
  return ByteView(text_).subspan(first * context_, context_ + 1);
}

Status TextDataset::sample_bytes(Split split, int64_t index, Bytes& out) const {
  const ByteView bytes = block(split, index);
  out.assign(bytes.begin(), bytes.end());
  return {};
}

Status TextDataset::fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
                         void* to_target) const {
  ISOBIT_CHECK(draw.identity());
  const ByteView bytes = block(split, index);
  rule_.apply(bytes.first(context_), to_inputs[0]);
  rule_.apply(bytes.subspan(1), to_target);
  return {};
}

std::optional<DataShape> shape_of_text(const DataConfig& config) {
  if (config.context < 1) return std::nullopt;
  return shape_of_tokens(config.context);
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
