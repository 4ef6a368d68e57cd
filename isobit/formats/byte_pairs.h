// Byte pair encoding over bytes, as GPT-2 has it (Radford et al. 2019, section 2.2): a vocabulary and an ordered list
// of merges, from the two files that such tokenizers are distributed as.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::formats {

inline constexpr int64_t kMaxVocabulary = 1000000;
inline constexpr uint64_t kMaxVocabularyFile = uint64_t{32} << 20;  // of either file

class BytePairs {
 public:
  // vocabulary: JSON, {"token": number, ...}, every number from 0 on once (encoder.json, vocab.json). merges: a line
  // "#version: ...", then a line "A B" for each merge, the first to be done first (vocab.bpe, merges.txt). Tokens are
  // spelt with a letter for every byte: of the 188 bytes that ISO 8859-1 shows its own, of the others those from U+0100
  // on. kUnreadable, with the file and the place: what is not of this form, a token or a byte that has no number, a
  // merge of what no merge before it makes, or a second one that makes the same token. So a merge is never due before
  // one that makes a part of it, and the order of the work does not matter.
  static Expected<BytePairs> parse(ByteView vocabulary, const std::string& vocabulary_name, ByteView merges,
                                   const std::string& merges_name);

  static constexpr uint64_t kWorkOfByte = 128;

  int64_t vocabulary() const { return vocabulary_; }
  // Appends the tokens of one word: of its bytes the first merge of the list that applies is done, wherever it does
  // from left to right, until none does. Takes n log n for n bytes, and kWorkOfByte of memory for each.
  void encode(std::string_view word, std::vector<int32_t>& out) const;

 private:
  struct Merge {
    int32_t rank = 0;
    int32_t token = 0;
  };
  static uint64_t pair_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  class Word;

  int64_t vocabulary_ = 0;
  std::array<int32_t, 256> bytes_{};
  std::unordered_map<uint64_t, Merge> merges_;
};

// The letter, in UTF-8, that tokens are spelt with for a byte.
std::string letter_of_byte(uint8_t byte);

}  // namespace isobit::formats
