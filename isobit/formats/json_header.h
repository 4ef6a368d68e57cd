// The part of JSON (RFC 8259) a safetensors header or a vocabulary uses: objects, arrays, strings and non-negative
// integers. Strict: valid UTF-8, no duplicate handling (that is the caller's), no fractions, no literals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "isobit/base/status.h"

namespace isobit::formats {

// A cursor over the text. Every function skips white space first, and returns an error that names the byte.
class JsonCursor {
 public:
  JsonCursor(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {}

  // Takes `c` if it comes next.
  bool take(char c);
  Status expect(char c);
  Expected<std::string> string();
  // At most 2^63 - 1, without leading zeros.
  Expected<int64_t> integer();
  // An error unless only spaces are left.
  Status finish();
  tl::unexpected<Error> fail(std::string_view problem) const;

  // Calls element() for every element of "[...]" or "{...}"; a Status of element() stops it.
  template <class F>
  Status list(char open, char close, F&& element) {
    ISOBIT_RETURN_IF_ERROR(expect(open));
    if (take(close)) return {};
    do {
      ISOBIT_RETURN_IF_ERROR(element());
    } while (take(','));
    return expect(close);
  }

 private:
  void skip_space();
  Expected<uint32_t> hex4();
  Status escape(std::string& out);

  std::string_view text_;
  std::string what_;
  size_t at_ = 0;
};

// Well-formed UTF-8: no overlong forms, surrogates or values over U+10FFFF.
bool is_utf8(std::string_view text);

// With quotes; only what must be escaped is.
std::string json_quoted(std::string_view utf8);

}  // namespace isobit::formats
