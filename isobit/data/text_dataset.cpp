#include "isobit/data/text_dataset.h"

#include <algorithm>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/header.h"
#include "isobit/data/openers.h"

namespace isobit::data {

DataShape shape_of_tokens(int64_t context, int64_t classes) {
  DataShape shape;
  shape.inputs = {{"input", DType::kInt64, {context}}};
  shape.target = {TargetKind::kClassPerToken, DType::kInt64, {context}, classes};
  return shape;
}

TextDataset::TextDataset(Bytes text, int64_t context, Preprocessing rule, int64_t classes,
                         std::optional<TokenizerFiles> tokenizer)
    : rule_(std::move(rule)),
      tokenizer_(std::move(tokenizer)),
      text_(std::move(text)),
      context_(static_cast<size_t>(context)),
      token_(size_of(rule_.stored)) {
  ISOBIT_CHECK(context >= 1 && text_.size() >= token_);
  blocks_ = static_cast<int64_t>(text_.size() / token_ - 1) / context;
  ISOBIT_CHECK(blocks_ >= 2);
  const DataShape shape = shape_of_tokens(context, classes);
  inputs_ = shape.inputs;
  target_ = shape.target;
  train_blocks_ = blocks_ - std::max<int64_t>(1, blocks_ / 10);
}

TextDataset::TextDataset(Bytes text, int64_t context)
    : TextDataset(std::move(text), context, preprocessing_named("bytes", DType::kUint8, DType::kInt64).value(),
                  kClasses, std::nullopt) {}

TextDataset::TextDataset(Tokens tokens, int64_t context)
    : TextDataset(std::move(tokens.bytes), context, preprocessing_named("tokens", DType::kInt32, DType::kInt64).value(),
                  tokens.vocabulary, std::move(tokens.files)) {}

Bytes TextDataset::header_bytes() const { return dataset_header(*this, {{rule_.stored, rule_.name}}, tokenizer_); }

ByteView TextDataset::block(Split split, int64_t index) const {
  ISOBIT_CHECK(index >= 0 && index < count(split));
  const auto first = static_cast<size_t>(split == Split::kTrain ? index : train_blocks_ + index);
  return ByteView(text_).subspan(first * context_ * token_, (context_ + 1) * token_);
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
  rule_.apply(bytes.first(context_ * token_), to_inputs[0]);
  rule_.apply(bytes.subspan(token_), to_target);
  return {};
}

std::optional<DataShape> shape_of_text(const DataConfig& config) {
  if (config.context < 1 || config.tokenizer != Tokenizer::kBytes) return std::nullopt;
  return shape_of_tokens(config.context);
}

namespace {

constexpr uint64_t kMaxTextFile = uint64_t{16} << 30;

Status check_length(const DataConfig& config, uint64_t found, const char* what) {
  const uint64_t needed = 2 * static_cast<uint64_t>(config.context) + 1;
  if (found >= needed) return {};
  return unreadable(text_of(config.path, ": found ", found, " ", what, "s, expected at least ", needed,
                            " (two blocks of context ", config.context, " and one ", what,
                            "); use a longer text or a shorter context"));
}

Status check_fields(const DataConfig& config) {
  constexpr int64_t kMaxContext = 1 << 20;
  if (config.context < 1 || config.context > kMaxContext) {
    return unreadable(text_of("data.context: found ", config.context, ", expected 1 to ", kMaxContext,
                              " for dataset \"text\"; set it to the model's block length"));
  }
  const bool tokens = config.tokenizer != Tokenizer::kBytes;
  for (const auto& [field, file] : {std::pair("data.encoder", &config.encoder), {"data.merges", &config.merges}}) {
    if (tokens && file->empty()) {
      return unreadable(text_of(field,
                                ": is missing; data.tokenizer needs the files of its vocabulary and its merges, ",
                                "as encoder.json and vocab.bpe"));
    }
    if (tokens || file->empty()) continue;
    return unreadable(text_of(field, ": found a value, expected none for a text of bytes; set data.tokenizer"));
  }
  return {};
}

}  // namespace

OpenResult open_text(const DataConfig& config, FileBudget& budget) {
  ISOBIT_RETURN_IF_ERROR(check_fields(config));
  if (config.tokenizer == Tokenizer::kBytes) {
    ISOBIT_TRY(Bytes text, budget.read(config.path, kMaxTextFile));
    ISOBIT_RETURN_IF_ERROR(check_length(config, text.size(), "byte"));
    return std::make_unique<TextDataset>(std::move(text), config.context);
  }
  ISOBIT_TRY(Tokens tokens, read_tokens(config, kMaxTextFile, budget));
  ISOBIT_RETURN_IF_ERROR(check_length(config, tokens.bytes.size() / sizeof(int32_t), "token"));
  return std::make_unique<TextDataset>(std::move(tokens), config.context);
}

}  // namespace isobit::data
