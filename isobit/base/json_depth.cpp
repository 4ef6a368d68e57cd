#include "isobit/base/json_depth.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit {

Status check_json_depth(ByteView json, int most, const std::string& what) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const uint8_t c = json[i];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      if (c == '\\') ++i;  // whatever it escapes does not end the string
    } else if (c == '[' || c == '{') {
      if (++depth > most) {
        return unreadable(text_of(what, ": arrays and objects are nested deeper than ", most, " at byte ", i));
      }
    } else if (c == ']' || c == '}') {
      depth = std::max(0, depth - 1);
    }
  }
  return {};
}

}  // namespace isobit
