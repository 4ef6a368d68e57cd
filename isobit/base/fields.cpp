#include "isobit/base/fields.h"

namespace isobit {

ByteWriter& FieldWriter::add(std::string_view name, Type type) {
  const auto [field, is_new] = fields_.try_emplace(std::string(name));
  ISOBIT_CHECK(is_new);
  field->second.u8(static_cast<uint8_t>(type));
  return field->second;
}

void FieldWriter::boolean(std::string_view name, bool v) { add(name, Type::kBool).boolean(v); }
void FieldWriter::i64(std::string_view name, int64_t v) { add(name, Type::kI64).i64(v); }
void FieldWriter::u64(std::string_view name, uint64_t v) { add(name, Type::kU64).u64(v); }
void FieldWriter::f64(std::string_view name, double v) { add(name, Type::kF64).f64(v); }
void FieldWriter::text(std::string_view name, std::string_view v) { add(name, Type::kText).text(v); }

void FieldWriter::texts(std::string_view name, std::span<const std::string> v) {
  ByteWriter& w = add(name, Type::kTexts);
  w.u64(v.size());
  for (const std::string& item : v) w.text(item);
}

void FieldWriter::numbers(std::string_view name, const std::map<std::string, double>& v) {
  ByteWriter& w = add(name, Type::kNumbers);
  w.u64(v.size());
  for (const auto& [key, value] : v) {
    w.text(key);
    w.f64(value);
  }
}

void FieldWriter::digest(std::string_view name, std::span<const uint8_t, 32> v) { add(name, Type::kDigest).fixed(v); }

Bytes FieldWriter::bytes() const {
  ByteWriter w;
  w.u64(fields_.size());
  for (const auto& [name, value] : fields_) {
    w.text(name);
    w.fixed(value.view());
  }
  return w.take();
}

}  // namespace isobit
