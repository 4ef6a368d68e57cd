#include "isobit/lab/measure/json_fields.h"

#include "isobit/base/json_depth.h"

namespace isobit::lab::measure {

using nlohmann::json;

Expected<std::vector<std::string>> JsonFields::texts(const char* name, uint64_t items, uint64_t bytes) const {
  ISOBIT_TRY(const json* list, this->list(name, items));
  std::vector<std::string> texts;
  for (const json& item : *list) {
    if (!item.is_string() || item.get_ref<const std::string&>().size() > bytes) {
      return wrong(name, text_of("texts of at most ", bytes, " bytes"));
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Expected<std::vector<records::Hash128>> JsonFields::hashes(const char* name, uint64_t items) const {
  ISOBIT_TRY(const std::vector<std::string> texts, this->texts(name, items, 32));
  std::vector<records::Hash128> hashes;
  for (const std::string& text : texts) {
    ISOBIT_TRY(const records::Hash128 hash, records::hash_from_hex(text, text_of(what_, ": field '", name, "'")));
    hashes.push_back(hash);
  }
  return hashes;
}

Expected<std::map<std::string, std::string>> JsonFields::map(const char* name, uint64_t items, uint64_t bytes) const {
  if (!has(name) || !object_[name].is_object() || object_[name].size() > items) {
    return wrong(name, text_of("an object of at most ", items, " texts"));
  }
  std::map<std::string, std::string> found;
  for (const auto& [key, value] : object_[name].items()) {
    const bool fits = value.is_string() && value.get_ref<const std::string&>().size() <= bytes && key.size() <= bytes;
    if (!fits) return wrong(name, text_of("texts of at most ", bytes, " bytes"));
    found.emplace(key, value.get<std::string>());
  }
  return found;
}

Expected<json> parse_json(ByteView bytes, uint64_t most_bytes, int most_depth, const std::string& what) {
  if (bytes.size() > most_bytes) {
    return unreadable(text_of(what, ": has ", bytes.size(), " bytes, expected at most ", most_bytes));
  }
  ISOBIT_RETURN_IF_ERROR(check_json_depth(bytes, most_depth, what));
  json document = json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (document.is_discarded()) return unreadable(text_of(what, ": is no JSON"));
  return document;
}

}  // namespace isobit::lab::measure
