// The canonical description that starts every dataset commitment (docs/formats/samples.md): how samples lie in
// Dataset::sample_bytes, and what the model is fed of them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "isobit/data/dataset.h"

namespace isobit::data {

// How one input lies in a sample, and the name of what becomes of it.
struct StoredInput {
  DType stored = DType::kFloat32;
  std::string preprocessing;
  bool operator==(const StoredInput&) const = default;
};

// Which tokens those of a text are: the tokenizer's name, as tokenizer_names() has it, and the SHA-256 of its files.
struct TokenizerFiles {
  using Digest = std::array<uint8_t, 32>;
  std::string name;
  Digest encoder = {}, merges = {};
  bool operator==(const TokenizerFiles&) const = default;
};

struct DatasetHeader {
  std::string name;  // as in DataConfig::dataset
  std::vector<SampleInput> inputs = {};
  std::vector<StoredInput> stored = {};  // of each input
  Target target = {};
  int64_t train_count = 0;
  int64_t test_count = 0;
  std::optional<TokenizerFiles> tokenizer = {};  // of "text" that is no bytes
  bool operator==(const DatasetHeader&) const = default;
};

inline constexpr size_t kMaxHeaderBytes = 1 << 16;
inline constexpr uint32_t kMaxSampleRank = 32;  // of an input or a target of one sample

// In version 1 what could be said before there was a second one, so that old commitments stay; in version 2 what else
// "npy" has, in version 3 the tokens of a text. REQUIRES one of `stored` for each input.
Bytes encode(const DatasetHeader& header);
// Accepts exactly what encode() writes of a dataset that there can be: of a known name, with rules that this name and
// the types have, a target that is one of its kind, and at least one training sample. The header may come from
// anybody: kUnreadable with the field otherwise. Nothing is allocated that the bytes do not hold; a sample may be as
// large as the header says, up to 2^40 bytes of an input.
Expected<DatasetHeader> decode_dataset_header(ByteView data, const std::string& what);

// The header bytes of a dataset. REQUIRES one of `stored` for each input.
Bytes dataset_header(const Dataset& dataset, std::vector<StoredInput> stored,
                     std::optional<TokenizerFiles> tokenizer = std::nullopt);

}  // namespace isobit::data
