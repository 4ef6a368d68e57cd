#include "isobit/data/header.h"

namespace isobit::data {

Bytes dataset_header(const Dataset& dataset, DType stored, std::string_view preprocessing) {
  constexpr uint32_t kVersion = 1;
  constexpr uint8_t kImages = 1, kTokens = 2;
  const Target& target = dataset.target();
  ISOBIT_CHECK(dataset.inputs().size() == 1 && dataset.inputs()[0].name == "input");
  ISOBIT_CHECK(target.kind == TargetKind::kClass || target.kind == TargetKind::kClassPerToken);
  const SampleInput& input = dataset.inputs()[0];
  ByteWriter writer;
  writer.fixed(as_bytes("isobit dataset\n"));
  writer.u32(kVersion);
  writer.text(dataset.name());
  writer.u8(target.kind == TargetKind::kClass ? kImages : kTokens);
  writer.u8(static_cast<uint8_t>(stored));
  writer.u8(static_cast<uint8_t>(input.dtype));
  writer.u32(static_cast<uint32_t>(input.shape.size()));
  for (const int64_t dim : input.shape) writer.i64(dim);
  writer.i64(target.classes);
  writer.i64(dataset.train_count());
  writer.i64(dataset.test_count());
  writer.text(preprocessing);
  return writer.take();
}

}  // namespace isobit::data
