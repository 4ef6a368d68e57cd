// The words that GPT-2 cuts a text into before its tokens are made, by the classes of Unicode 15.0.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::formats {

// Calls word() for each, in order, up to the first that it refuses; together they are the text. They are what the
// pattern
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// matches. A character that Unicode has got since 15.0 is taken for none of letter, number and space, so that a newer
// library makes no other words. kUnreadable for what is not UTF-8, with the byte; kUnavailable in a build without ICU.
Status for_each_gpt2_word(ByteView text, const std::string& name, const std::function<Status(std::string_view)>& word);

}  // namespace isobit::formats
