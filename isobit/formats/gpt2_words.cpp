#include "isobit/formats/gpt2_words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::formats {
namespace {

enum class Class { kLetter, kNumber, kSpace, kOther, kEnd };

Class class_of(UChar32 c) {
  constexpr uint8_t kMajor = 15, kMinor = 0;
  UVersionInfo age = {};
  u_charAge(c, age);
  if (age[0] > kMajor || (age[0] == kMajor && age[1] > kMinor)) return Class::kOther;
  if (u_isUWhiteSpace(c)) return Class::kSpace;
  const uint32_t category = U_MASK(u_charType(c));
  if (category & U_GC_L_MASK) return Class::kLetter;
  return category & U_GC_N_MASK ? Class::kNumber : Class::kOther;
}

class Cutter {
 public:
  Cutter(ByteView text, const std::string& name) : text_(text), name_(name) {}

  Status run(const std::function<Status(std::string_view)>& word) {
    while (at_ < text_.size()) {
      ISOBIT_TRY(const size_t end, end_of_word());
      ISOBIT_RETURN_IF_ERROR(word({reinterpret_cast<const char*>(text_.data()) + at_, end - at_}));
      at_ = end;
    }
    return {};
  }

 private:
  struct Letter {
    Class kind = Class::kEnd;
    size_t end = 0;  // where the next one begins
  };

  Expected<Letter> letter(size_t at) const {
    if (at == text_.size()) return Letter{Class::kEnd, at};
    // ICU's macro counts in int32; a character has at most four bytes.
    const uint8_t* bytes = text_.data() + at;
    const auto there = static_cast<int32_t>(std::min<size_t>(text_.size() - at, 4));
    int32_t length = 0;
    UChar32 c = 0;
    U8_NEXT(bytes, length, there, c);
    if (c < 0) {
      return unreadable(text_of(name_, ": byte ", at, ": is not UTF-8; convert the text, or leave data.tokenizer out"));
    }
    return Letter{class_of(c), at + static_cast<size_t>(length)};
  }

  // Where those of a class end that begin at `at`.
  Expected<size_t> end_of_run(size_t at, Class kind) const {
    for (;;) {
      ISOBIT_TRY(const Letter next, letter(at));
      if (next.kind != kind) return at;
      at = next.end;
    }
  }

  size_t contraction() const {
    const std::string_view left(reinterpret_cast<const char*>(text_.data()) + at_, text_.size() - at_);
    for (const std::string_view word : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (left.starts_with(word)) return word.size();
    }
    return 0;
  }

  Expected<size_t> end_of_word() const {
    if (const size_t length = contraction(); length > 0) return at_ + length;
    ISOBIT_TRY(Letter first, letter(at_));
    if (text_[at_] == ' ') {
      ISOBIT_TRY(const Letter second, letter(first.end));
      if (second.kind != Class::kSpace && second.kind != Class::kEnd) return end_of_run(first.end, second.kind);
    }
    if (first.kind != Class::kSpace) return end_of_run(at_, first.kind);
    return end_of_spaces();
  }

  // All of them at the end of the text; else all but the last, which belongs to what follows, unless it is alone.
  Expected<size_t> end_of_spaces() const {
    size_t last = at_, end = at_;
    for (;;) {
      ISOBIT_TRY(const Letter next, letter(end));
      if (next.kind == Class::kEnd) return end;
      if (next.kind != Class::kSpace) return last == at_ ? end : last;
      last = end;
      end = next.end;
    }
  }

  const ByteView text_;
  const std::string& name_;
  size_t at_ = 0;
};

}  // namespace

Status for_each_gpt2_word(ByteView text, const std::string& name, const std::function<Status(std::string_view)>& word) {
  return Cutter(text, name).run(word);
}

}  // namespace isobit::formats
