#include "isobit/formats/byte_pairs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "isobit/formats/byte_pairs_for_test.h"

namespace isobit::formats {
namespace {

using testing::Merges;
using testing::tokenizer_of;

Expected<BytePairs> parse(const testing::TokenizerText& text) {
  return BytePairs::parse(as_bytes(text.vocabulary), "encoder.json", as_bytes(text.merges), "vocab.bpe");
}

std::vector<int32_t> encoded(const BytePairs& pairs, std::string_view word) {
  std::vector<int32_t> tokens;
  pairs.encode(word, tokens);
  return tokens;
}

TEST(BytePairs, ByteHasItsLetter) {
  EXPECT_EQ(letter_of_byte('a'), "a");
  EXPECT_EQ(letter_of_byte(' '), "\u0120");  // as in "Ġthe"
  EXPECT_EQ(letter_of_byte('\n'), "\u010a");
  EXPECT_EQ(letter_of_byte(0), "\u0100");
  EXPECT_EQ(letter_of_byte(0x7f), "\u0121");
  EXPECT_EQ(letter_of_byte(0xa0), "\u0142");
  EXPECT_EQ(letter_of_byte(0xad), "\u0143");  // the last: 68 bytes have no letter of their own
  EXPECT_EQ(letter_of_byte(0xff), "\u00ff");
  std::set<std::string> letters;
  for (int byte = 0; byte < 256; ++byte) letters.insert(letter_of_byte(static_cast<uint8_t>(byte)));
  EXPECT_EQ(letters.size(), 256u);
}

TEST(BytePairs, TheFirstMergeIsDoneFirstAndFromLeftToRight) {
  const BytePairs pairs = parse(tokenizer_of({{"b", "c"}, {"a", "a"}, {"a", "bc"}, {"aa", "a"}})).value();
  EXPECT_EQ(pairs.vocabulary(), 260);
  EXPECT_EQ(encoded(pairs, "abc"), (std::vector<int32_t>{258}));
  EXPECT_EQ(encoded(pairs, "aaaa"), (std::vector<int32_t>{257, 257}));
  EXPECT_EQ(encoded(pairs, "aaa"), (std::vector<int32_t>{259}));
  EXPECT_EQ(encoded(pairs, "aabc"), (std::vector<int32_t>{257, 256}));  // "a a" comes before "a bc"
  EXPECT_EQ(encoded(pairs, ""), (std::vector<int32_t>{}));
  EXPECT_EQ(encoded(pairs, "\xff").size(), 1u);
}

// As encoder.py of GPT-2 says it: the pair of the lowest rank, wherever it is from left to right, until none is left.
std::vector<std::string> merged(const Merges& merges, const std::string& word) {
  std::vector<std::string> parts;
  for (const char c : word) parts.push_back(letter_of_byte(static_cast<uint8_t>(c)));
  for (;;) {
    size_t best = merges.size();
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = std::ranges::find(merges, std::pair(parts[i], parts[i + 1]));
      best = std::min(best, static_cast<size_t>(found - merges.begin()));
    }
    if (best == merges.size()) return parts;
    std::vector<std::string> next;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool here = i + 1 < parts.size() && std::pair(parts[i], parts[i + 1]) == merges[best];
      next.push_back(here ? parts[i] + parts[i + 1] : parts[i]);
      i += here ? 1 : 0;
    }
    parts = std::move(next);
  }
}

// Of few letters, so that most pairs of a word have a merge.
Merges drawn_merges() {
  std::vector<std::string> tokens = {"a", "b", "c", letter_of_byte(' '), letter_of_byte(0xc3)};
  Merges merges;
  const auto wanted = *rc::gen::inRange(0, 40);
  for (int tries = 0; tries < wanted; ++tries) {
    const auto& left = tokens[*rc::gen::inRange<size_t>(0, tokens.size())];
    const auto& right = tokens[*rc::gen::inRange<size_t>(0, tokens.size())];
    const std::string both = left + right;
    if (std::ranges::find(tokens, both) != tokens.end()) continue;
    merges.emplace_back(left, right);
    tokens.push_back(both);
  }
  return merges;
}

RC_GTEST_PROP(BytePairs, AreMergedAsGpt2sOwnCodeDoes, ()) {
  const Merges merges = drawn_merges();
  const BytePairs pairs = parse(tokenizer_of(merges)).value();
  std::vector<std::string> names;
  for (int byte = 0; byte < 256; ++byte) names.push_back(letter_of_byte(static_cast<uint8_t>(byte)));
  for (const auto& [left, right] : merges) names.push_back(left + right);
  const auto word = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c', ' ', '\xc3'));
  std::vector<std::string> found;
  for (const int32_t token : encoded(pairs, word)) found.push_back(names[static_cast<size_t>(token)]);
  RC_ASSERT(found == merged(merges, word));
}

// Of the work n * n there would be, nobody would see the end.
TEST(BytePairs, AWordOfAMillionBytesIsNoTrouble) {
  const BytePairs pairs = parse(tokenizer_of({{"a", "a"}, {"aa", "aa"}})).value();
  EXPECT_EQ(encoded(pairs, std::string(1 << 20, 'a')), std::vector<int32_t>(1 << 18, 257));
}

TEST(BytePairs, FilesThatAreNoTokenizersSayWhy) {
  const auto refused = [](testing::TokenizerText text, const std::string& words) {
    const auto pairs = parse(text);
    ASSERT_FALSE(pairs) << words;
    EXPECT_NE(pairs.error().message.find(words), std::string::npos) << pairs.error().message;
    EXPECT_EQ(pairs.error().code, ErrorCode::kUnreadable);
  };
  const testing::TokenizerText good = tokenizer_of({{"a", "b"}}, {"<|end|>"});
  ASSERT_TRUE(parse(good));
  const auto with_merges = [&](const std::string& merges) { return testing::TokenizerText{good.vocabulary, merges}; };
  const auto with_vocabulary = [&](const std::string& text) { return testing::TokenizerText{text, good.merges}; };
  refused(with_merges("a b\n"), "vocab.bpe: line 1: expected '#version: ...'");
  refused(with_merges("#version: 0.2\nab\n"), "line 2: expected two tokens with one blank");
  refused(with_merges("#version: 0.2\na  b\n"), "line 2: expected two tokens with one blank");
  refused(with_merges("#version: 0.2\na b\r\n"), "line 2: 'b\r' is no byte");
  refused(with_merges("#version: 0.2\na b\nab c\n"), "line 3: makes 'abc', which encoder.json does not have");
  refused(with_merges("#version: 0.2\na b\na b\n"), "line 3: makes 'ab' a second time");
  refused(with_merges("#version: 0.2\nab b\na b\n"), "line 2: 'ab' is no byte and no merge before makes it");
  refused(with_merges("#version: 0.2\n a\n"), "line 2: '' is no byte");
  refused(with_vocabulary("{}"), "encoder.json: has no token");
  refused(with_vocabulary("[1]"), "encoder.json: at byte 0: '{' expected");
  refused(with_vocabulary("{\"a\": 1}"), "no token has number 0");
  refused(with_vocabulary("{\"a\": 0, \"b\": 0}"), "number 0 stands for a second token, 'b'");
  refused(with_vocabulary("{\"a\": 0, \"a\": 1}"), "a token has a second number");
  refused(with_vocabulary("{\"a\": 1000000}"), "expected less than 1000000");
  refused(with_vocabulary("{\"a\": -1}"), "whole number expected");
  refused(with_vocabulary("{\"a\": 0.5}"), "whole number expected");
  refused(with_vocabulary(good.vocabulary + "}"), "unexpected text");
  refused(with_vocabulary(good.vocabulary.substr(0, 900)), "encoder.json: at byte");
}

}  // namespace
}  // namespace isobit::formats
