#include "isobit/data/tokens.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "isobit/base/file.h"
#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/commit/hash.h"
#include "isobit/formats/byte_pairs.h"
#include "isobit/formats/gpt2_words.h"

namespace isobit::data {
namespace {

constexpr const char* kTag = "isobit.tokens";
constexpr uint32_t kVersion = 1;

// What tokens follow from: a cache of other files is none of these.
struct Origin {
  commit::Digest text, encoder, merges;
  bool operator==(const Origin&) const = default;
};

Bytes cache_header(const Origin& origin, uint64_t count) {
  ByteWriter writer;
  write_frame(writer, kTag, kVersion);
  for (const commit::Digest* digest : {&origin.text, &origin.encoder, &origin.merges}) writer.fixed(*digest);
  writer.u64(count);
  return writer.take();
}

// Tokens behind the header, and the SHA-256 of both. None where the file is not of this origin, or damaged.
std::optional<Bytes> tokens_of_cache(Bytes file, const Origin& origin, int64_t vocabulary) {
  const size_t before = cache_header(origin, 0).size(), around = before + sizeof(commit::Digest);
  if (file.size() < around || (file.size() - around) % sizeof(int32_t) != 0) return std::nullopt;
  const size_t bytes = file.size() - around;
  const Bytes header = cache_header(origin, bytes / sizeof(int32_t));
  const ByteView all(file), hashed = all.first(before + bytes);
  const commit::Digest digest = commit::sha256(hashed);
  if (!std::ranges::equal(all.first(before), header) || !std::ranges::equal(all.subspan(hashed.size()), digest)) {
    return std::nullopt;
  }
  file.resize(hashed.size());
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(before));
  for (size_t at = 0; at < bytes; at += sizeof(int32_t)) {
    int32_t token;
    std::memcpy(&token, file.data() + at, sizeof token);
    if (token < 0 || token >= vocabulary) return std::nullopt;
  }
  return file;
}

// None where there is no file. kUnreadable for one that is something else, and that nothing may be written over.
Expected<std::optional<Bytes>> read_cache(const std::string& path, const Origin& origin, int64_t vocabulary,
                                          const FileBudget& budget) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  ISOBIT_TRY(const PlainFile opened, PlainFile::open(path, Links::kFollow));
  Bytes front(std::min<uint64_t>(opened.size(), 64));
  ISOBIT_RETURN_IF_ERROR(opened.read_exactly(0, front));
  if (!has_tag(front, kTag)) {
    return unreadable(text_of("data.token_cache: ", path, " is a file of another kind, which nothing is written over; ",
                              "name another one"));
  }
  ISOBIT_RETURN_IF_ERROR(budget.allow(path, opened.size()));
  ISOBIT_TRY(Bytes file, read_file(path, opened.size()));
  return tokens_of_cache(std::move(file), origin, vocabulary);
}

Status write_cache(const std::string& path, const Origin& origin, const Bytes& tokens) {
  Bytes file = cache_header(origin, tokens.size() / sizeof(int32_t));
  file.insert(file.end(), tokens.begin(), tokens.end());
  const commit::Digest digest = commit::sha256(file);
  file.insert(file.end(), digest.begin(), digest.end());
  return write_file_durably(path, file, {.replace = true});
}

void append(Bytes& bytes, const std::vector<int32_t>& tokens) {
  const auto* first = reinterpret_cast<const uint8_t*>(tokens.data());
  bytes.insert(bytes.end(), first, first + tokens.size() * sizeof(int32_t));
}

// Most words of a text are among few.
Expected<Bytes> tokenized(ByteView text, const std::string& name, const formats::BytePairs& pairs,
                          const FileBudget& budget) {
  constexpr size_t kMostKept = 1 << 18, kLongest = 64;
  const uint64_t most = text.size() * sizeof(int32_t);  // a token for each byte
  ISOBIT_RETURN_IF_ERROR(budget.allow(name, most));
  std::unordered_map<std::string, std::vector<int32_t>> kept;
  std::vector<int32_t> tokens;
  Bytes out;
  const auto add = [&](std::string_view word) -> Status {
    const bool is_long = word.size() > kLongest;
    const auto known = is_long ? kept.end() : kept.find(std::string(word));
    if (known != kept.end()) {
      append(out, known->second);
      return {};
    }
    // A text may be a single word.
    if (is_long) ISOBIT_RETURN_IF_ERROR(budget.allow(name, most + word.size() * formats::BytePairs::kWorkOfByte));
    tokens.clear();
    pairs.encode(word, tokens);
    append(out, tokens);
    if (!is_long && kept.size() < kMostKept) kept.emplace(word, tokens);
    return {};
  };
  ISOBIT_RETURN_IF_ERROR(formats::for_each_gpt2_word(text, name, add));
  return out;
}

}  // namespace

Expected<Tokens> read_tokens(const DataConfig& config, uint64_t most, FileBudget& budget) {
  FileBudget meanwhile = budget;  // less what is held until the tokens are there
  ISOBIT_TRY(const Bytes encoder, meanwhile.read(config.encoder, formats::kMaxVocabularyFile));
  ISOBIT_TRY(const Bytes merges, meanwhile.read(config.merges, formats::kMaxVocabularyFile));
  ISOBIT_TRY(const formats::BytePairs pairs, formats::BytePairs::parse(encoder, config.encoder, merges, config.merges));
  ISOBIT_TRY(const Bytes text, meanwhile.read(config.path, most));
  const Origin origin = {commit::sha256(text), commit::sha256(encoder), commit::sha256(merges)};
  const auto& name = tokenizer_names()[static_cast<size_t>(config.tokenizer)];
  Tokens tokens{{}, pairs.vocabulary(), {name, origin.encoder, origin.merges}};
  std::optional<Bytes> kept;
  if (!config.token_cache.empty()) {
    ISOBIT_TRY(kept, read_cache(config.token_cache, origin, pairs.vocabulary(), meanwhile));
  }
  if (kept) {
    tokens.bytes = *std::move(kept);
  } else {
    ISOBIT_TRY(tokens.bytes, tokenized(text, config.path, pairs, meanwhile));
    if (!config.token_cache.empty()) ISOBIT_RETURN_IF_ERROR(write_cache(config.token_cache, origin, tokens.bytes));
  }
  ISOBIT_RETURN_IF_ERROR(budget.take(config.path, tokens.bytes.size()));
  return tokens;
}

}  // namespace isobit::data
