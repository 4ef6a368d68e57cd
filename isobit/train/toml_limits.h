// What a TOML text may be made of before a library parses it. The library, and the trees that it makes, recurse as deep
// as the text is nested, so a few hundred kilobytes of "a.a.a." would end the process. And it looks for white space
// with a function that some letters (U+00C0 to U+0499, kana, Arabic forms; toml++ 3.3,
// is_non_ascii_horizontal_whitespace) lead to what it says is unreachable: undefined behaviour, at places where TOML
// allows no such letter, or hardly any.
#pragma once

#include <string>
#include <string_view>

#include "isobit/base/status.h"

namespace isobit::train {

// A job needs three parts and one table in a table.
inline constexpr int kMaxTomlKeyParts = 8;  // of a dotted key or a table header
inline constexpr int kMaxTomlNesting = 8;   // of arrays and inline tables in one another
// No node of a tree parsed from a text that passes lies deeper: a header (each part may be an array of tables), then at
// each level a key and its value.
inline constexpr int kMaxTomlDepth = 2 * kMaxTomlKeyParts + (kMaxTomlNesting + 1) * (kMaxTomlKeyParts + 1);

// kUnreadable, with the line, when keys have more parts, values lie deeper, a header or a table goes over several
// lines, or something follows a value that ends none (a date and a time with a blank between them are two values here);
// and when a character that is not ASCII stands outside of strings and comments or, in a string of several lines,
// behind a backslash or first in the line that one leads to. Nothing else is looked at: strings and comments may hold
// what they like, and what else is no TOML passes as long as it is shallow. Constant memory, one pass.
Status check_toml_limits(std::string_view text, const std::string& source);

}  // namespace isobit::train
