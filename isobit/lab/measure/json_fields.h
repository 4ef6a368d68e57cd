// Fields of a JSON document that somebody else wrote, by their types and within limits.
#pragma once

#include <nlohmann/json.hpp>

#include "isobit/base/text.h"
#include "isobit/lab/records/record.h"

namespace isobit::lab::measure {

// All messages are kUnreadable and name the document, the field and what was expected of it.
class JsonFields {
 public:
  // REQUIRES that the object outlives this.
  JsonFields(const nlohmann::json& object, std::string what) : object_(object), what_(std::move(what)) {}

  tl::unexpected<Error> wrong(const char* name, const std::string& expected) const {
    return unreadable(text_of(what_, ": field '", name, "': expected ", expected));
  }
  const std::string& what() const { return what_; }
  bool has(const char* name) const { return object_.is_object() && object_.contains(name); }
  JsonFields inner(const char* name) const { return {object_[name], text_of(what_, ": ", name)}; }  // REQUIRES has()
  Expected<std::string> text(const char* name, uint64_t most) const {
    const bool fits =
        has(name) && object_[name].is_string() && object_[name].get_ref<const std::string&>().size() <= most;
    if (!fits) return wrong(name, text_of("a text of at most ", most, " bytes"));
    return object_[name].get<std::string>();
  }
  Expected<uint64_t> count(const char* name, uint64_t most) const {
    if (!has(name) || !object_[name].is_number_unsigned() || object_[name].get<uint64_t>() > most) {
      return wrong(name, text_of("a whole number from 0 to ", most));
    }
    return object_[name].get<uint64_t>();
  }
  Expected<bool> boolean(const char* name) const {
    if (!has(name) || !object_[name].is_boolean()) return wrong(name, "true or false");
    return object_[name].get<bool>();
  }
  Expected<double> seconds(const char* name) const {
    const double value = has(name) && object_[name].is_number() ? object_[name].get<double>() : -1;
    if (!(value >= 0 && value < 1e9)) return wrong(name, "a number of seconds");
    return value;
  }
  // An array of at most so many items.
  Expected<const nlohmann::json*> list(const char* name, uint64_t most) const {
    if (!has(name) || !object_[name].is_array() || object_[name].size() > most) {
      return wrong(name, text_of("a list of at most ", most, " items"));
    }
    return &object_[name];
  }
  Expected<std::vector<std::string>> texts(const char* name, uint64_t items, uint64_t bytes) const;
  Expected<std::vector<records::Hash128>> hashes(const char* name, uint64_t items) const;
  // Names and texts.
  Expected<std::map<std::string, std::string>> map(const char* name, uint64_t items, uint64_t bytes) const;

 private:
  const nlohmann::json& object_;
  std::string what_;
};

// The document, within limits of size and depth; kUnreadable where it is none.
Expected<nlohmann::json> parse_json(ByteView bytes, uint64_t most_bytes, int most_depth, const std::string& what);

}  // namespace isobit::lab::measure
