// A document as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace isobit::cli {

// Two spaces for each level; bytes that are no UTF-8, as names of files may have, become U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace isobit::cli
