// Named, typed fields: the canonical encoding of what may gain fields later (jobs, job roots). A field that is absent
// has no meaning for the object or means what it meant before the field was invented, so that old digests stay.
// Byte layout: docs/formats/fields.md.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "isobit/base/bytes.h"

namespace isobit {

// Takes fields in any order and writes them sorted by name. REQUIRES of every name: given once.
class FieldWriter {
 public:
  void boolean(std::string_view name, bool v);
  void i64(std::string_view name, int64_t v);
  void u64(std::string_view name, uint64_t v);
  void f64(std::string_view name, double v);  // by its bits: -0 and +0 are two values
  void text(std::string_view name, std::string_view v);
  void texts(std::string_view name, std::span<const std::string> v);  // in the order given
  void numbers(std::string_view name, const std::map<std::string, double>& v);
  void digest(std::string_view name, std::span<const uint8_t, 32> v);

  // u64 number of fields, then the fields.
  Bytes bytes() const;

 private:
  enum class Type : uint8_t {
    kBool = 1,
    kI64 = 2,
    kU64 = 3,
    kF64 = 4,
    kText = 5,
    kTexts = 6,
    kNumbers = 7,
    kDigest = 8
  };
  ByteWriter& add(std::string_view name, Type type);

  std::map<std::string, ByteWriter, std::less<>> fields_;  // name -> type and value
};

}  // namespace isobit
