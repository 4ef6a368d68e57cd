#include "isobit/base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace isobit {
namespace {

struct Range {
  char32_t first, last;
};

// Unicode 15: categories Cc, Zl, Zp and Cf, and what is Default_Ignorable_Code_Point (it has no glyph of its own).
constexpr Range kInvisible[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x0600, 0x0605},
    {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},
    {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1345f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool is_invisible(char32_t c) {
  const auto* after = std::upper_bound(std::begin(kInvisible), std::end(kInvisible), c,
                                       [](char32_t value, const Range& range) { return value < range.first; });
  return after != std::begin(kInvisible) && c <= std::prev(after)->last;
}

struct Character {
  char32_t code;
  size_t bytes;  // 0: the first byte begins no UTF-8 character
};

Character decode(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (length == 0 || text.size() < length) return {0, 0};
  char32_t code = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (at(i) >> 6 != 2) return {0, 0};
    code = code << 6 | (at(i) & 63u);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool canonical = code >= kSmallest[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return canonical ? Character{code, length} : Character{0, 0};
}

void append_hex(std::string& out, const char* prefix, char32_t value, int digits) {
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = decode(text);
    const size_t taken = std::max<size_t>(1, c.bytes);
    if (c.bytes == 0) {
      append_hex(out, "\\x", static_cast<uint8_t>(text[0]), 2);
    } else if (!is_invisible(c.code)) {
      out += text.substr(0, taken);
    } else if (c.code < 0x80) {
      append_hex(out, "\\x", c.code, 2);
    } else if (c.code < 0x10000) {
      append_hex(out, "\\u", c.code, 4);
    } else {
      append_hex(out, "\\U", c.code, 8);
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const Character c = decode(json);
    const size_t taken = std::max<size_t>(1, c.bytes);
    if (c.code < 0x7f || !is_invisible(c.code)) {
      out += json.substr(0, taken);
    } else if (c.code < 0x10000) {
      append_hex(out, "\\u", c.code, 4);
    } else {
      append_hex(out, "\\u", 0xd7c0 + (c.code >> 10), 4);
      append_hex(out, "\\u", 0xdc00 + (c.code & 0x3ff), 4);
    }
    json.remove_prefix(taken);
  }
  return out;
}

}  // namespace isobit
