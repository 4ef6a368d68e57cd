// Small text helpers for messages and names.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isobit {

inline void append_text(std::string& out, std::string_view s) { out.append(s); }
inline void append_text(std::string& out, const char* s) { out.append(s); }
inline void append_text(std::string& out, char c) { out.push_back(c); }
inline void append_text(std::string& out, bool b) { out.append(b ? "true" : "false"); }
template <std::integral T>
void append_text(std::string& out, T value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
// Shortest text that reads back as the same number.
template <std::floating_point T>
void append_text(std::string& out, T value) {
  char buffer[40];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

// text_of("found ", 3, ", expected ", 4): the arguments one after another.
template <class... Args>
std::string text_of(const Args&... args) {
  std::string out;
  (append_text(out, args), ...);
  return out;
}

// "a, b or c"
std::string join_or(std::span<const std::string> items);

// "a, b and 3 others": the first `most`. "none" where there are none.
std::string join_some(std::span<const std::string> items, size_t most);
// "'a', 'b' and 3 others"
std::string join_quoted(std::span<const std::string> names, size_t most);

// The candidate with the smallest edit distance to `word`, or "" when none is near (more than a third of it differs).
std::string nearest_word(std::string_view word, std::span<const std::string> candidates);

// Whether all of `text` is what `pattern` says: `*` stands for any characters, or none, `?` for one byte, every other
// byte for itself. In time of the product of the two lengths at most.
bool matches_glob(std::string_view pattern, std::string_view text);

// The candidate nearest to what a pattern of matches_glob says without its `*` and `?`, or "" as nearest_word.
std::string nearest_to_glob(std::string_view pattern, std::span<const std::string> candidates);

// 1234567 bytes -> "1.2 MB"
std::string human_bytes(uint64_t bytes);

// 75.2 s -> "1 min 15 s"
std::string human_seconds(double seconds);

}  // namespace isobit
