#include "isobit/train/toml_limits.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::train {
namespace {

// Goes over the text once. Outside of strings and comments it counts open brackets, and the dots since the last
// character that ends a key. Where it cannot know how a malformed text goes on it takes the shorter string, so that it
// counts too much rather than too little; the parser stops at such a place anyway.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Status scan() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      ISOBIT_RETURN_IF_ERROR(count(c));
      ++at_;
    }
    return {};
  }

 private:
  Status count(char c) {
    switch (c) {
      case '.':
        if (++dots_ >= kMaxTomlKeyParts) return fail("a key has more parts between dots than", kMaxTomlKeyParts);
        return {};
      case '[':
      case '{':
        dots_ = 0;
        if (++open_ > kMaxTomlNesting) return fail("arrays and tables are nested deeper than", kMaxTomlNesting);
        return {};
      case ']':
      case '}':
        open_ = std::max(0, open_ - 1);
        break;
      case '\n':
        ++line_;
        break;
      case '=':
      case ',':
        break;
      default:
        return {};
    }
    dots_ = 0;
    return {};
  }

  // At the opening quote; goes behind the closing one. A string on one line ends with the line at the latest.
  void skip_string(char quote) {
    const bool basic = quote == '"';
    const bool many_lines = quotes_at(at_, quote) >= 3;
    at_ += many_lines ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!many_lines) return;
        ++line_;
      }
      if (c == '\\' && basic) {
        at_ += at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2 : 1;
        continue;
      }
      if (c == quote) {
        const size_t run = quotes_at(at_, quote);
        if (!many_lines) {
          ++at_;
          return;
        }
        // Up to two quotes may stand before the three that close.
        at_ += std::min<size_t>(run, 5);
        if (run >= 3) return;
        continue;
      }
      ++at_;
    }
  }

  size_t quotes_at(size_t from, char quote) const {
    const size_t end = text_.find_first_not_of(quote, from);
    return (end == text_.npos ? text_.size() : end) - from;
  }

  tl::unexpected<Error> fail(const char* what, int most) const {
    return unreadable(text_of(source_, ":", line_, ": ", what, " ", most, ", the most a job may have"));
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
  int line_ = 1, dots_ = 0, open_ = 0;
};

}  // namespace

Status check_toml_limits(std::string_view text, const std::string& source) { return Scanner(text, source).scan(); }

}  // namespace isobit::train
