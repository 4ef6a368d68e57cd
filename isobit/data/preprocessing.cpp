#include "isobit/data/preprocessing.h"

namespace isobit::data {

ByteTable divided_by(float divisor) {
  ByteTable table;
  for (int v = 0; v < 256; ++v) table[static_cast<size_t>(v)] = static_cast<float>(v) / divisor;
  return table;
}

ByteTable standardized(float divisor, float mean, float stddev) {
  ByteTable table;
  for (int v = 0; v < 256; ++v) {
    const float scaled = static_cast<float>(v) / divisor;
    const float centred = scaled - mean;
    table[static_cast<size_t>(v)] = centred / stddev;
  }
  return table;
}

Preprocessing preprocessing_of(DType stored, ByteRule rule) {
  if (stored == DType::kFloat32) return {"f32", stored, std::nullopt};
  if (stored != DType::kUint8 || rule == ByteRule::kAsStored) return {"as-stored", stored, std::nullopt};
  if (rule == ByteRule::kFloat32) return {"u8", DType::kFloat32, divided_by(1.0f)};
  return {"u8/255", DType::kFloat32, divided_by(255.0f)};
}

}  // namespace isobit::data
