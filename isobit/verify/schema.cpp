#include "isobit/verify/schema.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/verify/tensor_type.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kSchemaTag = "isobit.trace-schema", kEntryTag = "isobit.trace-entry";
constexpr uint32_t kSchemaVersion = 1, kEntryVersion = 1;
constexpr uint64_t kMaxEntryBytes = 1 << 17, kMaxName = 1 << 16;

}  // namespace

commit::Digest schema_digest(const commit::SizedRoot& entries) {
  return entries.commitment(kSchemaTag, kSchemaVersion);
}

commit::Digest schema_leaf(const train::TraceEntry& entry, uint64_t index) {
  return commit::leaf_hash(train::trace_entry_bytes(entry, index));
}

commit::Digest schema_root(const std::vector<train::TraceEntry>& schema) {
  std::vector<commit::Digest> leaves;
  for (size_t i = 0; i < schema.size(); ++i) leaves.push_back(schema_leaf(schema[i], i));
  return schema_digest({leaves.size(), commit::merkle_root(leaves)});
}

commit::TensorLayout layout_of(const train::TraceEntry& entry) { return {entry.split}; }
Shape shape_of(const train::TraceEntry& entry) { return Shape(entry.dims); }

Expected<train::TraceEntry> decode_trace_entry(ByteView data, uint64_t index, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kEntryTag, kEntryVersion));
  ISOBIT_TRY(const uint64_t found, r.u64("index"));
  if (found != index) return r.fail("index", text_of("found ", found, ", expected ", index));
  train::TraceEntry entry;
  ISOBIT_TRY(const uint8_t kind, r.u8("kind"));
  constexpr auto kLast = static_cast<uint8_t>(train::TraceEntry::Kind::kStatistic);
  if (kind > kLast) return r.fail("kind", text_of("found ", kind, ", expected 0 to ", kLast));
  entry.kind = static_cast<train::TraceEntry::Kind>(kind);
  ISOBIT_TRY(entry.node, r.i64("node"));
  ISOBIT_TRY(entry.place, r.i64("place"));
  ISOBIT_TRY(entry.name, r.text("name", kMaxName));
  ISOBIT_TRY(TensorType type, read_tensor_type(r));
  entry.dtype = type.dtype;
  entry.dims = std::move(type.dims);
  ISOBIT_TRY(const uint32_t split, r.u32("split"));
  if (split > entry.dims.size()) {
    return r.fail("split", text_of("found ", split, ", expected at most the rank, ", entry.dims.size()));
  }
  entry.split = static_cast<int>(split);
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return entry;
}

Bytes encode_schema(const std::vector<train::TraceEntry>& schema) {
  ByteWriter w;
  write_frame(w, kSchemaTag, kSchemaVersion);
  w.u64(schema.size());
  for (size_t i = 0; i < schema.size(); ++i) w.bytes(train::trace_entry_bytes(schema[i], i));
  return w.take();
}

Expected<std::vector<train::TraceEntry>> decode_schema(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  if (data.size() > kMaxSchemaBytes) return r.fail("size", text_of("is over ", kMaxSchemaBytes, " bytes"));
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kSchemaTag, kSchemaVersion));
  ISOBIT_TRY(const uint64_t count, r.u64("entries"));
  std::vector<train::TraceEntry> schema;
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(const ByteView entry, r.bytes("entry", kMaxEntryBytes));
    ISOBIT_TRY(train::TraceEntry read, decode_trace_entry(entry, i, text_of(what, ", entry ", i)));
    schema.push_back(std::move(read));
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return schema;
}

}  // namespace isobit::verify
