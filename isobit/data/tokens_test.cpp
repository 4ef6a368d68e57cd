#include "isobit/data/tokens.h"

#include <gtest/gtest.h>

#include <cstring>

#include "isobit/data/batch.h"
#include "isobit/data/shown_sample.h"
#include "isobit/data/testing.h"
#include "isobit/formats/byte_pairs_for_test.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::open_error;
using testing::TemporaryFolder;

// "the cat, the hat" again and again: tokens for " the" and for single letters.
class Tokenized : public ::testing::Test {
 protected:
  Tokenized() {
    const std::string blank = formats::letter_of_byte(' ');
    const auto files = formats::testing::tokenizer_of({{"h", "e"}, {"t", "he"}, {blank, "the"}}, {"<|endoftext|>"});
    config_.dataset = "text";
    config_.context = 4;
    config_.tokenizer = Tokenizer::kGpt2;
    config_.encoder = folder_.write("encoder.json", as_bytes(files.vocabulary));
    config_.merges = folder_.write("vocab.bpe", as_bytes(files.merges));
    config_.path = folder_.write("a.txt", as_bytes(text()));
  }

  static std::string text() {
    std::string all = "the cat, the hat";
    for (int i = 0; i < 10; ++i) all += " the bat";
    return all;
  }

  Expected<Tokens> tokens() const {
    FileBudget budget(1 << 20);
    return read_tokens(config_, 1 << 16, budget);
  }
  std::vector<int32_t> numbers() const {
    const Bytes bytes = tokens().value().bytes;
    std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  Bytes contents(const std::string& name) const { return read_file(folder_.path(name), 1 << 20).value(); }

  TemporaryFolder folder_;
  DataConfig config_;
};

constexpr int32_t kThe = 257, kBlankThe = 258, kVocabulary = 260;

TEST_F(Tokenized, TokensAreThoseOfTheWords) {
  const std::vector<int32_t> found = numbers();
  const std::vector<int32_t> first = {kThe, ' ', 'c', 'a', 't',       ',', kBlankThe,
                                      ' ',  'h', 'a', 't', kBlankThe, ' ', 'b'};
  ASSERT_GT(found.size(), first.size());
  EXPECT_EQ(std::vector<int32_t>(found.begin(), found.begin() + 14), first);
  EXPECT_EQ(tokens()->vocabulary, kVocabulary);
  EXPECT_EQ(tokens()->files.name, "gpt2");
  EXPECT_NE(tokens()->files.encoder, tokens()->files.merges);
}

TEST_F(Tokenized, SamplesAreBlocksOfThem) {
  const std::vector<int32_t> all = numbers();
  const auto dataset = open_dataset(config_).value();
  EXPECT_EQ(dataset->inputs(), (std::vector<SampleInput>{{"input", DType::kInt64, {4}}}));
  EXPECT_EQ(dataset->target(), (Target{TargetKind::kClassPerToken, DType::kInt64, {4}, kVocabulary}));
  const auto blocks = static_cast<int64_t>(all.size() - 1) / 4;
  EXPECT_EQ(dataset->train_count() + dataset->test_count(), blocks);
  for (int64_t i = 0; i < dataset->train_count(); ++i) {
    int64_t input[4], target[4];
    void* const to[] = {input};
    ASSERT_TRUE(dataset->fill(Split::kTrain, i, {}, to, target));
    for (int64_t t = 0; t < 4; ++t) {
      EXPECT_EQ(input[t], all[static_cast<size_t>(4 * i + t)]);
      EXPECT_EQ(target[t], all[static_cast<size_t>(4 * i + t + 1)]);
    }
  }
  EXPECT_FALSE(declared_shape(config_)) << "the vocabulary is in a file";
}

// Who has header and sample alone feeds the same; a token that the vocabulary does not have is refused in any place.
TEST_F(Tokenized, ASampleAloneSaysWhatItIsFed) {
  const auto dataset = open_dataset(config_).value();
  const ShownSamples shown = ShownSamples::open(dataset->header_bytes(), "sample").value();
  Bytes sample = testing::sample_bytes(*dataset, Split::kTrain, 2);
  EXPECT_EQ(sample.size(), 5 * sizeof(int32_t));
  int64_t input[2][4], target[2][4];
  void* const to[2][1] = {{input[0]}, {input[1]}};
  ASSERT_TRUE(dataset->fill(Split::kTrain, 2, {}, to[0], target[0]));
  ASSERT_TRUE(shown.fill(sample, {}, to[1], target[1]));
  EXPECT_TRUE(std::ranges::equal(input[0], input[1]));
  EXPECT_TRUE(std::ranges::equal(target[0], target[1]));
  for (size_t place = 0; place < 5; ++place) {
    for (const int32_t token : {-1, kVocabulary}) {
      Bytes bad = sample;
      std::memcpy(bad.data() + place * sizeof token, &token, sizeof token);
      const Status status = shown.fill(bad, {}, to[1], target[1]);
      ASSERT_FALSE(status);
      EXPECT_TRUE(contains(status.error().message, "expected 0 to 259")) << status.error().message;
    }
  }
}

TEST_F(Tokenized, TheHeaderBindsTheTokenizer) {
  const Bytes header = open_dataset(config_).value()->header_bytes();
  EXPECT_EQ(decode_dataset_header(header, "header")->tokenizer, tokens()->files);
  Bytes encoder = contents("encoder.json");
  encoder.push_back('\n');  // the same vocabulary in another file
  folder_.write("encoder.json", encoder);
  EXPECT_NE(open_dataset(config_).value()->header_bytes(), header);
}

TEST_F(Tokenized, ACacheIsWrittenOnceAndBelievedOfTheseFilesAlone) {
  const std::vector<int32_t> expected = numbers();
  config_.token_cache = folder_.path("tokens");
  EXPECT_EQ(numbers(), expected);
  const Bytes cache = contents("tokens");
  EXPECT_EQ(numbers(), expected);
  EXPECT_EQ(contents("tokens"), cache);

  config_.path = folder_.write("b.txt", as_bytes(text() + " the"));
  EXPECT_EQ(numbers().size(), expected.size() + 1);
  EXPECT_NE(contents("tokens"), cache) << "of the text that was read last";
  config_.path = folder_.path("a.txt");
  EXPECT_EQ(numbers(), expected);
  EXPECT_EQ(contents("tokens"), cache);
}

// Each byte of it: damage is seen, and what was damaged is written anew.
TEST_F(Tokenized, ADamagedCacheIsNotBelieved) {
  const std::vector<int32_t> expected = numbers();
  config_.token_cache = folder_.path("tokens");
  ASSERT_TRUE(tokens());
  const Bytes cache = contents("tokens");
  const size_t tag = 8 + std::string_view("isobit.tokens").size();
  for (size_t at = tag; at < cache.size(); at += 7) {
    Bytes bad = cache;
    bad[at] ^= 1;
    folder_.write("tokens", bad);
    ASSERT_EQ(numbers(), expected) << at;
    ASSERT_EQ(contents("tokens"), cache) << at;
  }
  for (const size_t size : {tag, tag + 4, cache.size() - 1, cache.size() - 4}) {
    folder_.write("tokens", ByteView(cache).first(size));
    ASSERT_EQ(numbers(), expected) << size;
  }
}

TEST_F(Tokenized, AFileOfAnotherKindIsNoCacheAndStays) {
  config_.token_cache = folder_.write("thesis.txt", as_bytes("years of work"));
  EXPECT_TRUE(contains(open_error(config_), "thesis.txt is a file of another kind"));
  EXPECT_EQ(contents("thesis.txt").size(), 13u);
  config_.token_cache = folder_.path("no/such/folder/tokens");
  EXPECT_TRUE(contains(open_error(config_, ErrorCode::kUnavailable), "no/such/folder"));
}

TEST_F(Tokenized, WhatIsMissingOrMalformedIsSaid) {
  DataConfig config = config_;
  config.merges = "";
  EXPECT_TRUE(contains(open_error(config), "data.merges: is missing"));
  config = config_;
  config.tokenizer = Tokenizer::kBytes;
  EXPECT_TRUE(contains(open_error(config), "data.encoder: found a value, expected none for a text of bytes"));
  config = config_;
  config.merges = config.encoder;
  EXPECT_TRUE(contains(open_error(config), "encoder.json: line 1: expected '#version"));
  config = config_;
  config.path = folder_.write("latin1.txt", as_bytes("the caf\xe9 the caf\xe9"));
  EXPECT_TRUE(contains(open_error(config), "latin1.txt: byte 7: is not UTF-8"));
  config = config_;
  config.context = 1000;
  EXPECT_TRUE(contains(open_error(config), " tokens, expected at least 2001"));
  config = config_;
  config.dataset = "digits";
  config.path = "";
  EXPECT_TRUE(contains(open_error(config), "data.context: found a value, expected none for dataset \"digits\""));
  FileBudget budget(600);
  const auto tokens = read_tokens(config_, 1 << 16, budget);
  ASSERT_FALSE(tokens);
  EXPECT_EQ(tokens.error().code, ErrorCode::kUnavailable);
}

// To merge the pairs of a word takes much more than its tokens do.
TEST_F(Tokenized, ALongWordTakesMemoryThatIsAllowed) {
  const auto needs = [&](const std::string& text, uint64_t bytes) {
    config_.path = folder_.write("long.txt", as_bytes(text));
    FileBudget budget(bytes);
    const auto tokens = read_tokens(config_, 1 << 16, budget);
    EXPECT_TRUE(tokens || tokens.error().code == ErrorCode::kUnavailable);
    return tokens.has_value();
  };
  std::string words;
  for (int i = 0; i < 5000; ++i) words += " h";
  EXPECT_TRUE(needs(words, 100000));
  EXPECT_FALSE(needs(std::string(10000, 'h'), 100000));
  EXPECT_TRUE(needs(std::string(10000, 'h'), 2000000));
}

}  // namespace
}  // namespace isobit::data
