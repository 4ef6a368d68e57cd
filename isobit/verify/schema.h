// A trace schema (train/trace_schema.h) as something that is committed to and shown: whole, or an entry of it. Byte
// layout: docs/formats/trace-schema.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/merkle.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/train/trace_schema.h"

namespace isobit::verify {

// The tree of a schema's entries, whose digest the job root binds.
commit::Digest schema_digest(const commit::SizedRoot& entries);
commit::Digest schema_leaf(const train::TraceEntry& entry, uint64_t index);
commit::Digest schema_root(const std::vector<train::TraceEntry>& schema);

// How a value is cut into tiles, which are numbered row by row.
commit::TensorLayout layout_of(const train::TraceEntry& entry);
Shape shape_of(const train::TraceEntry& entry);

// Accepts exactly what train::trace_entry_bytes writes of entry `index`; kUnreadable otherwise. `what` starts the
// messages.
Expected<train::TraceEntry> decode_trace_entry(ByteView data, uint64_t index, const std::string& what);

inline constexpr uint64_t kMaxSchemaBytes = 64 << 20;
Bytes encode_schema(const std::vector<train::TraceEntry>& schema);
// Accepts exactly what encode_schema() writes of at most kMaxSchemaBytes; kUnreadable otherwise.
Expected<std::vector<train::TraceEntry>> decode_schema(ByteView data, const std::string& what);

}  // namespace isobit::verify
