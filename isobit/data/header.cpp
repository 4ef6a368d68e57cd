#include "isobit/data/header.h"

namespace isobit::data {
namespace {

void write_front(ByteWriter& writer, uint32_t version, const std::string& name) {
  writer.fixed(as_bytes("isobit dataset\n"));
  writer.u32(version);
  writer.text(name);
}

void write_dims(ByteWriter& writer, const std::vector<int64_t>& dims) {
  writer.u32(static_cast<uint32_t>(dims.size()));
  for (const int64_t dim : dims) writer.i64(dim);
}

}  // namespace

Bytes dataset_header(const Dataset& dataset, DType stored, std::string_view preprocessing) {
  constexpr uint8_t kImages = 1, kTokens = 2;
  const Target& target = dataset.target();
  ISOBIT_CHECK(dataset.inputs().size() == 1 && dataset.inputs()[0].name == "input");
  ISOBIT_CHECK(target.kind == TargetKind::kClass || target.kind == TargetKind::kClassPerToken);
  const SampleInput& input = dataset.inputs()[0];
  ByteWriter writer;
  write_front(writer, 1, dataset.name());
  writer.u8(target.kind == TargetKind::kClass ? kImages : kTokens);
  writer.u8(static_cast<uint8_t>(stored));
  writer.u8(static_cast<uint8_t>(input.dtype));
  write_dims(writer, input.shape);
  writer.i64(target.classes);
  writer.i64(dataset.train_count());
  writer.i64(dataset.test_count());
  writer.text(preprocessing);
  return writer.take();
}

Bytes dataset_header(const Dataset& dataset, std::span<const StoredInput> stored) {
  const std::vector<SampleInput>& inputs = dataset.inputs();
  ISOBIT_CHECK(stored.size() == inputs.size());
  ByteWriter writer;
  write_front(writer, 2, dataset.name());
  writer.u32(static_cast<uint32_t>(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    writer.text(inputs[i].name);
    writer.u8(static_cast<uint8_t>(stored[i].stored));
    writer.u8(static_cast<uint8_t>(inputs[i].dtype));
    write_dims(writer, inputs[i].shape);
    writer.text(stored[i].preprocessing);
  }
  const Target& target = dataset.target();
  writer.u8(static_cast<uint8_t>(target.kind));
  writer.u8(static_cast<uint8_t>(target.dtype));
  write_dims(writer, target.shape);
  writer.i64(target.classes);
  writer.i64(dataset.train_count());
  writer.i64(dataset.test_count());
  return writer.take();
}

}  // namespace isobit::data
