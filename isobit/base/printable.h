// Text that somebody else wrote, made fit to be shown: it must neither break a line nor command a terminal nor look
// like something else.
#pragma once

#include <string>
#include <string_view>

namespace isobit {

// The same text with everything that is not plainly visible spelled out in ASCII: control characters, bytes that are no
// UTF-8 (\x1b, \xff), and characters that change the order of others, take no space, or break a line (\u202e, \u200b,
// \u2028, \U000e0001). Letters, signs and emoji of any script stay. What was made printable once stays as it is.
std::string printable(std::string_view text);

// JSON text with the same characters of its strings, DEL and C1 included, as \uXXXX (pairs beyond U+FFFF): it means the
// same, and may be shown. REQUIRES valid JSON in UTF-8, whose other control characters are escaped already.
std::string printable_json(std::string_view json);

}  // namespace isobit
