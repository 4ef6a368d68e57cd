// Small tokenizers, as the files that they are distributed as.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/formats/byte_pairs.h"
#include "isobit/formats/json_header.h"

namespace isobit::formats::testing {

using Merges = std::vector<std::pair<std::string, std::string>>;

struct TokenizerText {
  std::string vocabulary, merges;
};

// All bytes, then what the merges make, in their order, then `more`.
inline TokenizerText tokenizer_of(const Merges& merges, const std::vector<std::string>& more = {}) {
  TokenizerText text{"{", "#version: 0.2\n"};
  int number = 0;
  const auto add = [&](const std::string& token) {
    text.vocabulary += text_of(number == 0 ? "" : ", ", json_quoted(token), ": ", number);
    ++number;
  };
  for (int byte = 0; byte < 256; ++byte) add(letter_of_byte(static_cast<uint8_t>(byte)));
  for (const auto& [left, right] : merges) {
    add(left + right);
    text.merges += text_of(left, " ", right, "\n");
  }
  for (const std::string& token : more) add(token);
  text.vocabulary += "}";
  return text;
}

}  // namespace isobit::formats::testing
