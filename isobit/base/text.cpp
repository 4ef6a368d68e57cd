#include "isobit/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace isobit {

namespace {

std::string and_more(const std::string& text, size_t more) {
  return text_of(text, " and ", more, more == 1 ? " other" : " others");
}

}  // namespace

std::string join_some(std::span<const std::string> items, size_t most) {
  if (items.empty()) return "none";
  std::string text;
  for (const std::string& item : items.first(std::min(items.size(), most))) {
    text += text_of(text.empty() ? "" : ", ", item);
  }
  return items.size() > most ? and_more(text, items.size() - most) : text;
}

std::string join_quoted(std::span<const std::string> names, size_t most) {
  std::vector<std::string> quoted;
  for (const std::string& name : names.first(std::min(names.size(), most))) quoted.push_back(text_of("'", name, "'"));
  const std::string text = join_some(quoted, most);
  return names.size() > most ? and_more(text, names.size() - most) : text;
}

std::string join_or(std::span<const std::string> items) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? " or " : ", ";
    out += items[i];
  }
  return out;
}

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 64) return "";
  std::string best;
  size_t best_distance = word.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

// The last `*` takes as little as it can and one byte more each time that what follows it does not fit: an earlier one
// never needs to be looked at again.
bool matches_glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string nearest_to_glob(std::string_view pattern, std::span<const std::string> candidates) {
  std::string plain(pattern);
  std::erase_if(plain, [](char c) { return c == '*' || c == '?'; });
  return nearest_word(plain, candidates);
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return buffer;
}

std::string human_seconds(double seconds) {
  char buffer[48];
  if (seconds < 60) {
    std::snprintf(buffer, sizeof buffer, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    return buffer;
  }
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) {
    std::snprintf(buffer, sizeof buffer, "%lld min %lld s", whole / 60, whole % 60);
  } else {
    std::snprintf(buffer, sizeof buffer, "%lld h %lld min", whole / 3600, whole % 3600 / 60);
  }
  return buffer;
}

}  // namespace isobit
