#include "isobit/formats/gpt2_words.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace isobit::formats {
namespace {

using Words = std::vector<std::string>;

Expected<Words> cut(const std::string& text) {
  Words words;
  ISOBIT_RETURN_IF_ERROR(for_each_gpt2_word(as_bytes(text), "a.txt", [&](auto word) {
    words.emplace_back(word);
    return Status();
  }));
  return words;
}

// Each by what the pattern says; tests/oracles/tokenizer_oracle.py asks libraries of others.
TEST(Gpt2Words, AreThoseOfThePattern) {
  const std::pair<std::string, Words> cases[] = {
      {"", {}},
      {"Hello world", {"Hello", " world"}},
      {"it's we'll I'D", {"it", "'s", " we", "'ll", " I", "'", "D"}},  // contractions in small letters alone
      {"'tis 'twas", {"'t", "is", " '", "twas"}},                      // no contraction behind a blank
      {"!'s", {"!'", "s"}},
      {"a1b22 333", {"a", "1", "b", "22", " 333"}},
      {"a  b", {"a", " ", " b"}},
      {"a   b", {"a", "  ", " b"}},
      {"a \n b", {"a", " \n", " b"}},
      {"a\nb", {"a", "\n", "b"}},
      {"a\n\nb", {"a", "\n", "\n", "b"}},
      {"a  ", {"a", "  "}},
      {" ", {" "}},
      {"\t\tx", {"\t", "\t", "x"}},
      {" ...", {" ..."}},
      {"x\u00a0y", {"x", "\u00a0", "y"}},  // a space of another kind is no blank of a word
      {"\u00e9t\u00e9 \u4f60\u597d", {"\u00e9t\u00e9", " \u4f60\u597d"}},
      {"\u00bd\u2167\u0663", {"\u00bd\u2167\u0663"}},  // numbers of the three kinds
      {"e\u0301", {"e", "\u0301"}},                    // a mark is no letter
      {"\U0001f600\U0001f680!", {"\U0001f600\U0001f680!"}},
      {"a\u200bb", {"a", "\u200b", "b"}},
      {"a\u0085\u2028b", {"a", "\u0085", "\u2028", "b"}},
      {"a\u001cb", {"a", "\u001c", "b"}},  // no white space in Unicode
      {"\U00010d4a", {"\U00010d4a"}},
  };
  for (const auto& [text, words] : cases) EXPECT_EQ(cut(text).value(), words) << text;
}

// U+10D4A is a letter since Unicode 16.0, U+31350 one since 15.0.
TEST(Gpt2Words, LettersYoungerThanUnicode15AreNone) {
  EXPECT_EQ(cut("a\U00010d4a").value(), (Words{"a", "\U00010d4a"}));
  EXPECT_EQ(cut("a\U00031350").value(), (Words{"a\U00031350"}));
}

TEST(Gpt2Words, WhatIsNoUtf8IsRefused) {
  for (const char* text : {"abc \xff", "abc \xc3", "abc \xc0\x80", "abc \xed\xa0\x80", "abc \xf4\x90\x80\x80"}) {
    const auto words = cut(text);
    ASSERT_FALSE(words) << text;
    EXPECT_EQ(words.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(words.error().message.find("a.txt: byte 4: is not UTF-8"), std::string::npos) << words.error().message;
  }
}

TEST(Gpt2Words, NoneComesBehindOneThatIsRefused) {
  Words words;
  const Status status = for_each_gpt2_word(as_bytes("a b c"), "a.txt", [&](auto word) -> Status {
    words.emplace_back(word);
    if (words.size() == 2) return unavailable("enough");
    return {};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "enough");
  EXPECT_EQ(words, (Words{"a", " b"}));
}

RC_GTEST_PROP(Gpt2Words, TogetherAreTheText, ()) {
  std::string text;
  const auto piece = rc::gen::element<std::string>(" ", "\n", "a", "Z", "7", "'", "s", "ll", "!", "\u00a0", "\u00e9",
                                                   "\u4f60", "\u0301", "\U0001f600");
  for (const std::string& p : *rc::gen::container<std::vector<std::string>>(piece)) text += p;
  std::string together;
  const Words words = cut(text).value();
  for (const std::string& word : words) {
    RC_ASSERT(!word.empty());
    together += word;
  }
  RC_ASSERT(together == text);
}

}  // namespace
}  // namespace isobit::formats
