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
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        // Elsewhere the library sees no string, but a value that goes on.
        if (kBeforeStrings.find(last_) == kBeforeStrings.npos) return misplaced();
        ISOBIT_RETURN_IF_ERROR(skip_string(c));
        last_ = c;
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      ISOBIT_RETURN_IF_ERROR(count(c));
      if (c != ' ' && c != '\t' && c != '\r') last_ = c;
      ++at_;
    }
    return {};
  }

 private:
  static constexpr std::string_view kBeforeStrings = "\n=[{,.";

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
        return is_ascii(c) ? Status() : foreign("outside of strings and comments");
    }
    dots_ = 0;
    return {};
  }

  // At the opening quote; goes behind the closing one. A string on one line ends with the line at the latest.
  Status skip_string(char quote) {
    const bool basic = quote == '"';
    const bool many_lines = quotes_at(at_, quote) >= 3;
    at_ += many_lines ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!many_lines) return {};
        ++line_;
      }
      if (c == '\\' && basic) {
        ISOBIT_RETURN_IF_ERROR(skip_escape(many_lines));
        continue;
      }
      if (c == quote) {
        const size_t run = quotes_at(at_, quote);
        if (!many_lines) {
          ++at_;
          return {};
        }
        // Up to two quotes may stand before the three that close.
        at_ += std::min<size_t>(run, 5);
        if (run >= 3) return {};
        continue;
      }
      ++at_;
    }
    return {};
  }

  // At the backslash. One that ends a line takes the white space after it along.
  Status skip_escape(bool many_lines) {
    ++at_;
    if (at_ == text_.size() || (!many_lines && text_[at_] == '\n')) return {};
    if (!many_lines || !is_white(text_[at_])) {
      ++at_;
      return many_lines && !is_ascii(text_[at_ - 1]) ? foreign("after a backslash") : Status();
    }
    for (; at_ < text_.size() && is_white(text_[at_]); ++at_) line_ += text_[at_] == '\n';
    return at_ < text_.size() && !is_ascii(text_[at_]) ? foreign("after a backslash that ends a line") : Status();
  }

  static bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
  static bool is_white(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  size_t quotes_at(size_t from, char quote) const {
    const size_t end = text_.find_first_not_of(quote, from);
    return (end == text_.npos ? text_.size() : end) - from;
  }

  tl::unexpected<Error> fail(const char* what, int most) const {
    return unreadable(text_of(source_, ":", line_, ": ", what, " ", most, ", the most a job may have"));
  }

  tl::unexpected<Error> foreign(const char* where) const {
    return unreadable(text_of(source_, ":", line_, ": has a character ", where, " that is not ASCII"));
  }

  tl::unexpected<Error> misplaced() const {
    return unreadable(text_of(source_, ":", line_, ": a string begins where none may be"));
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
  char last_ = '\n';  // outside of strings and comments, but for blanks; of a string its quote
  int line_ = 1, dots_ = 0, open_ = 0;
};

}  // namespace

Status check_toml_limits(std::string_view text, const std::string& source) { return Scanner(text, source).scan(); }

}  // namespace isobit::train
