#include "isobit/formats/byte_pairs.h"

#include <algorithm>
#include <queue>

#include "isobit/base/text.h"
#include "isobit/formats/json_header.h"

namespace isobit::formats {
namespace {

using Numbers = std::unordered_map<std::string, int32_t>;

bool is_shown(unsigned byte) { return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae; }

Expected<Numbers> read_numbers(ByteView file, const std::string& name) {
  if (file.size() > kMaxVocabularyFile) {
    return unreadable(text_of(name, ": found ", file.size(), " bytes, expected at most ", kMaxVocabularyFile));
  }
  JsonCursor in({reinterpret_cast<const char*>(file.data()), file.size()}, name);
  Numbers numbers;
  std::vector<bool> taken;
  const auto entry = [&]() -> Status {
    ISOBIT_TRY(std::string token, in.string());
    ISOBIT_RETURN_IF_ERROR(in.expect(':'));
    ISOBIT_TRY(const int64_t number, in.integer());
    if (number >= kMaxVocabulary) {
      return in.fail(text_of("token '", token, "' has number ", number, ", expected less than ", kMaxVocabulary));
    }
    const auto place = static_cast<size_t>(number);
    if (taken.size() <= place) taken.resize(place + 1);
    if (taken[place]) return in.fail(text_of("number ", number, " stands for a second token, '", token, "'"));
    taken[place] = true;
    if (numbers.emplace(std::move(token), static_cast<int32_t>(number)).second) return {};
    return in.fail("a token has a second number");
  };
  ISOBIT_RETURN_IF_ERROR(in.list('{', '}', entry));
  ISOBIT_RETURN_IF_ERROR(in.finish());
  if (numbers.size() != taken.size()) {
    const auto gap = std::find(taken.begin(), taken.end(), false) - taken.begin();
    return unreadable(text_of(name, ": no token has number ", gap, ", expected every number below ", taken.size()));
  }
  return numbers;
}

}  // namespace

std::string letter_of_byte(uint8_t byte) {
  unsigned code = byte;
  if (!is_shown(byte)) {
    code = 0x100;
    for (unsigned b = 0; b < byte; ++b) code += is_shown(b) ? 0 : 1;
  }
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
}

Expected<BytePairs> BytePairs::parse(ByteView vocabulary, const std::string& vocabulary_name, ByteView merges,
                                     const std::string& merges_name) {
  ISOBIT_TRY(const Numbers numbers, read_numbers(vocabulary, vocabulary_name));
  BytePairs pairs;
  pairs.vocabulary_ = static_cast<int64_t>(numbers.size());
  std::vector<bool> made(numbers.size());  // by a merge, or of one byte
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = numbers.find(letter_of_byte(static_cast<uint8_t>(byte)));
    if (found == numbers.end()) {
      return unreadable(text_of(vocabulary_name, ": has no token '", letter_of_byte(static_cast<uint8_t>(byte)),
                                "', which stands for byte ", byte));
    }
    pairs.bytes_[byte] = found->second;
    made[static_cast<size_t>(found->second)] = true;
  }
  if (merges.size() > kMaxVocabularyFile) {
    return unreadable(text_of(merges_name, ": found ", merges.size(), " bytes, expected at most ", kMaxVocabularyFile));
  }
  std::string_view left(reinterpret_cast<const char*>(merges.data()), merges.size());
  for (int32_t line = 1; !left.empty(); ++line) {
    const size_t end = left.find('\n');
    const std::string_view text = left.substr(0, end);
    left = end == left.npos ? std::string_view() : left.substr(end + 1);
    const auto wrong = [&](const auto&... words) {
      return unreadable(text_of(merges_name, ": line ", line, ": ", words...));
    };
    if (line == 1) {
      if (!text.starts_with("#version")) return wrong("expected '#version: ...'; the merges begin in the second line");
      continue;
    }
    const size_t blank = text.find(' ');
    if (blank == text.npos || text.find(' ', blank + 1) != text.npos) {
      return wrong("expected two tokens with one blank between them");
    }
    const std::string first(text.substr(0, blank)), second(text.substr(blank + 1));
    for (const std::string& part : {first, second}) {
      const auto found = numbers.find(part);
      if (found != numbers.end() && made[static_cast<size_t>(found->second)]) continue;
      return wrong("'", part, "' is no byte and no merge before makes it");
    }
    const auto found = numbers.find(first + second);
    if (found == numbers.end()) return wrong("makes '", first + second, "', which ", vocabulary_name, " does not have");
    if (made[static_cast<size_t>(found->second)]) return wrong("makes '", first + second, "' a second time");
    made[static_cast<size_t>(found->second)] = true;
    pairs.merges_[pair_of(numbers.at(first), numbers.at(second))] = {line, found->second};
  }
  return pairs;
}

// The tokens of a word as a list: a merge takes the right one out.
class BytePairs::Word {
 public:
  Word(const BytePairs& pairs, std::string_view word) : pairs_(pairs) {
    parts_.reserve(word.size());
    for (const char c : word) parts_.push_back({pairs_.bytes_[static_cast<uint8_t>(c)], size() - 1, size() + 1});
    for (int64_t at = 0; at < size(); ++at) note(at);
  }

  void run(std::vector<int32_t>& out) {
    while (!due_.empty()) {
      const Due due = due_.top();
      due_.pop();
      merge(due);
    }
    for (int64_t at = 0; at < size(); at = part(at).next) out.push_back(part(at).token);
  }

 private:
  static constexpr int32_t kGone = -1;
  struct Part {
    int32_t token;
    int64_t before, next;
  };
  struct Due {
    int32_t rank;
    int64_t at;
    int32_t left, right, token;
    bool operator>(const Due& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };

  int64_t size() const { return static_cast<int64_t>(parts_.size()); }
  Part& part(int64_t at) { return parts_[static_cast<size_t>(at)]; }

  // The pair that begins there, if a merge makes one of it.
  void note(int64_t at) {
    if (at < 0 || part(at).next >= size()) return;
    const int32_t left = part(at).token, right = part(part(at).next).token;
    const auto found = pairs_.merges_.find(pair_of(left, right));
    if (found != pairs_.merges_.end()) due_.push({found->second.rank, at, left, right, found->second.token});
  }

  void merge(const Due& due) {
    Part& left = part(due.at);
    // What it was noted of may have become part of another token meanwhile.
    if (left.token != due.left || left.next >= size() || part(left.next).token != due.right) return;
    Part& right = part(left.next);
    left.token = due.token;
    left.next = right.next;
    right.token = kGone;
    if (left.next < size()) part(left.next).before = due.at;
    note(left.before);
    note(due.at);
  }

  const BytePairs& pairs_;
  std::vector<Part> parts_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

void BytePairs::encode(std::string_view word, std::vector<int32_t>& out) const { Word(*this, word).run(out); }

}  // namespace isobit::formats
