#include "isobit/train/toml_limits.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::train {
namespace {

// Goes over the text once. Outside of strings and comments it counts open brackets, and the dots since the last
// character that ends a key, and knows whether a key, a value, or what ends a value comes next. Where it cannot know
// how a malformed text goes on it takes the shorter string, so that it counts too much rather than too little; the
// parser stops at such a place anyway, but for looking ahead to the end of a bare value: in one nothing is a string.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Status scan() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        if (within_ == Within::kBare || within_ == Within::kAfter) return misplaced();
        if (within_ == Within::kValue) within_ = Within::kAfter;
        ISOBIT_RETURN_IF_ERROR(skip_string(c));
        continue;
      }
      if (c == '#') {
        if (within_ == Within::kBare) within_ = Within::kAfter;
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      ISOBIT_RETURN_IF_ERROR(step(c));
      ++at_;
    }
    return {};
  }

 private:
  enum class Within {
    kKey,    // in a key or before one, also of a header
    kValue,  // before a value
    kBare,   // in one that is neither string, array nor table
    kAfter   // behind one
  };

  // A character outside of strings and comments.
  Status step(char c) {
    if (!is_ascii(c)) return foreign("outside of strings and comments");
    switch (c) {
      case '.':
        if (++dots_ >= kMaxTomlKeyParts) return fail("a key has more parts between dots than", kMaxTomlKeyParts);
        return bare();
      case ' ':
      case '\t':
      case '\r':
        if (within_ == Within::kBare) within_ = Within::kAfter;
        return {};
      case '[':
      case '{':
        return open(c == '[' && within_ == Within::kValue);
      case ']':
      case '}':
        dots_ = 0;
        open_ = std::max(0, open_ - 1);
        within_ = Within::kAfter;
        return {};
      case '=':
        return equals();
      case ',':
        dots_ = 0;
        within_ = in_array() ? Within::kValue : Within::kKey;
        return {};
      case '\n':
        return end_line();
      default:
        return bare();
    }
  }

  bool in_array() const { return open_ > 0 && (arrays_ >> open_ & 1u) != 0; }

  // A character of a bare key or value.
  Status bare() {
    if (within_ == Within::kAfter) return misplaced();
    if (within_ == Within::kValue) within_ = Within::kBare;
    return {};
  }

  Status equals() {
    dots_ = 0;
    if (within_ != Within::kKey) return misplaced();
    within_ = Within::kValue;
    return {};
  }

  // A line ends every value outside of brackets, within an array a bare one, and nothing else.
  Status end_line() {
    dots_ = 0;
    if (open_ > 0 && !in_array()) return unclosed();
    ++line_;
    if (open_ == 0) {
      within_ = Within::kKey;
    } else if (within_ == Within::kBare) {
      within_ = Within::kAfter;
    }
    return {};
  }

  Status open(bool array) {
    dots_ = 0;
    if (within_ == Within::kBare || within_ == Within::kAfter) return misplaced();
    if (++open_ > kMaxTomlNesting) return fail("arrays and tables are nested deeper than", kMaxTomlNesting);
    arrays_ = (arrays_ & ~(1u << open_)) | (array ? 1u : 0u) << open_;
    within_ = array ? Within::kValue : Within::kKey;
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
    return unreadable(
        text_of(source_, ":", line_, ": a value is not followed by a comma, a bracket or the end of the line"));
  }

  tl::unexpected<Error> unclosed() const {
    return unreadable(text_of(source_, ":", line_, ": a bracket of a header or a table is not closed on its line"));
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
  Within within_ = Within::kKey;
  unsigned arrays_ = 0;  // bit n: the n-th open bracket is an array's
  int line_ = 1, dots_ = 0, open_ = 0;
};

}  // namespace

Status check_toml_limits(std::string_view text, const std::string& source) { return Scanner(text, source).scan(); }

}  // namespace isobit::train
