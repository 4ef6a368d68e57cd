// A text as the tokens of a tokenizer.
#pragma once

#include <string>

#include "isobit/data/header.h"
#include "isobit/data/openers.h"

namespace isobit::data {

struct Tokens {
  Bytes bytes;  // int32, little-endian
  int64_t vocabulary = 0;
  TokenizerFiles files;
};

// Of the text, the encoder and the merges that the configuration names. With a token_cache those that it holds, where
// it is of these very files (docs/formats/samples.md), else it is written. kUnreadable: a text of more than `most`
// bytes or that is not UTF-8, files that are no tokenizer's (formats/byte_pairs.h), a cache that is another kind of
// file; kUnavailable: a cache that cannot be written, more memory than the budget has, a build without tokenizers.
Expected<Tokens> read_tokens(const DataConfig& config, uint64_t most, FileBudget& budget);

}  // namespace isobit::data
