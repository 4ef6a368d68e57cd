#include "isobit/data/header.h"

namespace isobit::data {

Bytes dataset_header(const Dataset& dataset, DType stored, std::string_view preprocessing) {
  constexpr uint32_t kVersion = 1;
  ByteWriter writer;
  writer.fixed(as_bytes("isobit dataset\n"));
  writer.u32(kVersion);
  writer.text(dataset.name());
  writer.u8(static_cast<uint8_t>(dataset.kind()));
  writer.u8(static_cast<uint8_t>(stored));
  writer.u8(static_cast<uint8_t>(dataset.input_dtype()));
  writer.u32(static_cast<uint32_t>(dataset.input_shape().rank()));
  for (const int64_t dim : dataset.input_shape().dims()) writer.i64(dim);
  writer.i64(dataset.classes());
  writer.i64(dataset.train_count());
  writer.i64(dataset.test_count());
  writer.text(preprocessing);
  return writer.take();
}

}  // namespace isobit::data
