#include "isobit/data/preprocessing.h"

#include <cstring>

namespace isobit::data {
namespace {

// v / divisor
ByteTable divided_by(float divisor) {
  ByteTable table;
  for (int v = 0; v < 256; ++v) table[static_cast<size_t>(v)] = static_cast<float>(v) / divisor;
  return table;
}

// ((v / 255) - mean) / stddev, each step rounded
ByteTable standardized(float mean, float stddev) {
  ByteTable table = divided_by(255.0f);
  for (float& value : table) {
    const float centred = value - mean;
    value = centred / stddev;
  }
  return table;
}

// The rules that make float32 of bytes.
std::vector<ByteTable> tables_of(const std::string& name) {
  if (name == "u8") return {divided_by(1.0f)};
  if (name == "u8/16") return {divided_by(16.0f)};
  if (name == "u8/255") return {divided_by(255.0f)};
  // Means and standard deviations of the training images, to four digits.
  if (name == "cifar10-standardized-1") {
    return {standardized(0.4914f, 0.2470f), standardized(0.4822f, 0.2435f), standardized(0.4465f, 0.2616f)};
  }
  return {};
}

}  // namespace

bool Preprocessing::fits(DType type, const std::vector<int64_t>& shape) const {
  if (type != stored) return false;
  return tables.size() <= 1 || (!shape.empty() && static_cast<int64_t>(tables.size()) == shape[0]);
}

void Preprocessing::apply(ByteView elements, void* to) const {
  if (passes()) {
    std::memcpy(to, elements.data(), elements.size());
    return;
  }
  if (tables.empty()) {  // "bytes", "tokens"
    auto* numbers = static_cast<int64_t*>(to);
    if (stored == DType::kInt32) {
      for (size_t i = 0; i < elements.size(); i += sizeof(int32_t)) {
        int32_t v;
        std::memcpy(&v, elements.data() + i, sizeof v);
        *numbers++ = v;
      }
      return;
    }
    for (const uint8_t v : elements) *numbers++ = v;
    return;
  }
  auto* values = static_cast<float*>(to);
  const size_t per_table = elements.size() / tables.size();
  for (const ByteTable& table : tables) {
    for (const uint8_t v : elements.first(per_table)) *values++ = table[v];
    elements = elements.subspan(per_table);
  }
}

Preprocessing preprocessing_of(DType stored, ByteRule rule) {
  if (stored == DType::kFloat32) return {"f32", stored, stored};
  if (stored != DType::kUint8 || rule == ByteRule::kAsStored) return {"as-stored", stored, stored};
  const std::string name = rule == ByteRule::kFloat32 ? "u8" : "u8/255";
  return {name, stored, DType::kFloat32, tables_of(name)};
}

std::optional<Preprocessing> preprocessing_named(const std::string& name, DType stored, DType fed) {
  Preprocessing rule{name, stored, fed, tables_of(name)};
  bool fits = false;
  if (!rule.tables.empty()) {
    fits = stored == DType::kUint8 && fed == DType::kFloat32;
  } else if (name == "f32") {
    fits = stored == DType::kFloat32 && fed == stored;
  } else if (name == "as-stored") {
    fits = stored != DType::kFloat32 && fed == stored;
  } else if (name == "bytes") {
    fits = stored == DType::kUint8 && fed == DType::kInt64;
  } else if (name == "tokens") {
    fits = stored == DType::kInt32 && fed == DType::kInt64;
  }
  if (!fits) return std::nullopt;
  return rule;
}

}  // namespace isobit::data
