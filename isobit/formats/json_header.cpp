#include "isobit/formats/json_header.h"

#include "isobit/base/text.h"

namespace isobit::formats {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 63));
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  }
}

}  // namespace

void JsonCursor::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
}

tl::unexpected<Error> JsonCursor::fail(std::string_view problem) const {
  return unreadable(text_of(what_, ": at byte ", at_, ": ", problem));
}

bool JsonCursor::take(char c) {
  skip_space();
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

Status JsonCursor::expect(char c) {
  if (take(c)) return {};
  if (at_ == text_.size()) return fail(text_of("ends where '", c, "' is expected"));
  return fail(text_of("'", c, "' expected"));
}

Expected<uint32_t> JsonCursor::hex4() {
  if (text_.size() - at_ < 4) return fail("\\u needs four hex digits");
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = text_[at_++];
    uint32_t digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = static_cast<uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return fail("\\u needs four hex digits");
    }
    value = value << 4 | digit;
  }
  return value;
}

Status JsonCursor::escape(std::string& out) {
  static constexpr std::string_view kShort = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
  if (at_ == text_.size()) return fail("ends inside a string");
  const char c = text_[at_++];
  if (const size_t i = kShort.find(c); i != kShort.npos) {
    out.push_back(kMeaning[i]);
    return {};
  }
  if (c != 'u') return fail("unknown escape in a string");
  ISOBIT_TRY(uint32_t code, hex4());
  if (code >= 0xdc00 && code < 0xe000) return fail("a low surrogate without a high one");
  if (code >= 0xd800 && code < 0xdc00) {
    if (text_.substr(at_, 2) != "\\u") return fail("a high surrogate without a low one");
    at_ += 2;
    ISOBIT_TRY(const uint32_t low, hex4());
    if (low < 0xdc00 || low >= 0xe000) return fail("a high surrogate without a low one");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(out, code);
  return {};
}

Expected<std::string> JsonCursor::string() {
  ISOBIT_RETURN_IF_ERROR(expect('"'));
  std::string out;
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == '"') {
      if (!is_utf8(out)) return fail("a string is not UTF-8");
      return out;
    }
    if (static_cast<uint8_t>(c) < 0x20) return fail("a control character inside a string");
    if (c == '\\') {
      ISOBIT_RETURN_IF_ERROR(escape(out));
    } else {
      out.push_back(c);
    }
  }
  return fail("ends inside a string");
}

Expected<int64_t> JsonCursor::integer() {
  skip_space();
  const size_t start = at_;
  int64_t value = 0;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
    if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
        __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) {
      return fail("a number is over 2^63 - 1");
    }
    ++at_;
  }
  if (at_ == start) return fail("a non-negative whole number expected");
  if (text_[start] == '0' && at_ - start > 1) return fail("a number has a leading zero");
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) {
    return fail("a whole number expected, found a fraction or exponent");
  }
  return value;
}

Status JsonCursor::finish() {
  skip_space();
  if (at_ != text_.size()) return fail("unexpected text after the end of the object");
  return {};
}

bool is_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0 || text.size() - i < length) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if (next >> 6 != 2) return false;
      code = code << 6 | (next & 63);
    }
    static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

std::string json_quoted(std::string_view utf8) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : utf8) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<uint8_t>(c) < 0x20) {
      out += "\\u00";
      out.push_back(kHex[static_cast<uint8_t>(c) >> 4]);
      out.push_back(kHex[c & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
}

}  // namespace isobit::formats
