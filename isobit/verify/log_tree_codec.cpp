// Bytes of chunks and of the proofs that show them.
#include <algorithm>
#include <bit>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/log/packed.h"
#include "isobit/verify/log_tree.h"

namespace isobit::verify {
namespace {

using log::SparseEntry;

constexpr std::string_view kChunkTag = "isobit.log-chunk", kProofTag = "isobit.log-chunk-proof",
                           kAbsenceTag = "isobit.log-absence-proof";
constexpr uint32_t kLogTreeCodecVersion = 1;
constexpr uint64_t kMaxElements = uint64_t{1} << 56;  // as in a segment
constexpr uint64_t kMaxChunkBytes = 1 << 16;
constexpr uint64_t kMaxChunkProof = kMaxChunkBytes + (1 << 13);

Expected<std::vector<log::SparseEntry>> read_entries(ByteReader& reader, uint64_t first, uint64_t size) {
  std::vector<log::SparseEntry> entries;
  for (uint64_t next = first; entries.size() < size;) {
    log::SparseEntry entry;
    ISOBIT_TRY(entry.position, reader.u64("position"));
    if (entry.position < next || entry.position >= log::kPositionLimit) {
      return reader.fail("position", text_of("found ", entry.position, ", expected at least ", next));
    }
    next = entry.position + 1;
    ISOBIT_TRY(const uint8_t kind, reader.u8("entry"));
    if (kind > static_cast<uint8_t>(log::SparseEntry::Kind::kValue)) {
      return reader.fail("entry", text_of("found ", kind, ", expected 0 (even), 1 (odd) or 2 (value)"));
    }
    entry.kind = static_cast<log::SparseEntry::Kind>(kind);
    ISOBIT_TRY(entry.value, reader.f32("value"));
    if (entry.kind != log::SparseEntry::Kind::kValue && std::bit_cast<uint32_t>(entry.value) != 0) {
      return reader.fail("value", "is not zero in an entry without a value");
    }
    entries.push_back(entry);
  }
  return entries;
}

Expected<std::vector<uint8_t>> read_decisions(ByteReader& reader, uint64_t size) {
  std::vector<uint8_t> decisions(static_cast<size_t>(size));
  ISOBIT_TRY(const ByteView packed, reader.fixed("decisions", log::packed_size(size)));
  if (log::unpack(packed, decisions) != log::PackedFault::kNone) {
    return reader.fail("decisions", "a byte is no five decisions, or what follows the last one is not zero");
  }
  return decisions;
}

// A proof of a chunk without its frame: the bytes of both parts.
void write_parts(ByteWriter& writer, const LogChunkProof& proof) {
  writer.bytes(encode(proof.chunk));
  writer.bytes(commit::encode(proof.inclusion));
}

Expected<LogChunkProof> read_parts(ByteReader& reader, const std::string& what) {
  LogChunkProof proof;
  ISOBIT_TRY(const ByteView chunk, reader.bytes("chunk", kMaxChunkBytes));
  ISOBIT_TRY(proof.chunk, decode_log_chunk(chunk, what + ", chunk"));
  ISOBIT_TRY(const ByteView inclusion, reader.bytes("inclusion", kMaxChunkProof));
  ISOBIT_TRY(proof.inclusion, commit::decode_inclusion_proof(inclusion, what + ", inclusion"));
  return proof;
}

}  // namespace

Bytes encode(const LogChunk& chunk) {
  ByteWriter writer;
  write_frame(writer, kChunkTag, kLogTreeCodecVersion);
  writer.u8(static_cast<uint8_t>(chunk.kind()));
  writer.u32(chunk.node);
  writer.u32(chunk.output);
  writer.u64(chunk.first);
  writer.u64(chunk.total);
  if (const auto* entries = std::get_if<std::vector<log::SparseEntry>>(&chunk.log)) {
    for (const log::SparseEntry& entry : *entries) {
      writer.u64(entry.position);
      writer.u8(static_cast<uint8_t>(entry.kind));
      writer.f32(entry.value);
    }
  } else {
    log::write_packed(writer, std::get<std::vector<uint8_t>>(chunk.log));
  }
  return writer.take();
}

Expected<LogChunk> decode_log_chunk(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kChunkTag, kLogTreeCodecVersion));
  ISOBIT_TRY(const uint8_t kind, reader.u8("kind"));
  if (kind > static_cast<uint8_t>(log::Kind::kOvt)) {
    return reader.fail("kind", text_of("found ", kind, ", expected 0 (sparse) or 1 (ovt)"));
  }
  const bool sparse = kind == static_cast<uint8_t>(log::Kind::kSparse);
  LogChunk chunk;
  ISOBIT_TRY(chunk.node, reader.u32("node"));
  ISOBIT_TRY(chunk.output, reader.u32("output"));
  if (sparse && chunk.output != 0) return reader.fail("output", text_of("found ", chunk.output, ", expected 0"));
  ISOBIT_TRY(chunk.first, reader.u64("first"));
  ISOBIT_TRY(chunk.total, reader.u64("total"));
  const uint64_t per_chunk = sparse ? kEntriesPerChunk : kDecisionsPerChunk;
  const bool empty = !sparse && chunk.total == 0 && chunk.first == 0;
  if (chunk.total >= kMaxElements || chunk.first % per_chunk != 0 || !(chunk.first < chunk.total || empty)) {
    return reader.fail("first", text_of("found ", chunk.first, " of ", chunk.total, ", expected a multiple of ",
                                        per_chunk, " below it"));
  }
  const uint64_t size = std::min(per_chunk, chunk.total - chunk.first);
  if (sparse) {
    ISOBIT_TRY(chunk.log, read_entries(reader, chunk.first, size));
  } else {
    ISOBIT_TRY(chunk.log, read_decisions(reader, size));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return chunk;
}

Bytes encode(const LogChunkProof& proof) {
  ByteWriter writer;
  write_frame(writer, kProofTag, kLogTreeCodecVersion);
  write_parts(writer, proof);
  return writer.take();
}

Bytes encode(const LogAbsenceProof& proof) {
  ByteWriter writer;
  write_frame(writer, kAbsenceTag, kLogTreeCodecVersion);
  for (const auto* side : {&proof.before, &proof.after}) {
    writer.boolean(side->has_value());
    if (*side) write_parts(writer, **side);
  }
  return writer.take();
}

Expected<LogChunkProof> decode_log_chunk_proof(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kProofTag, kLogTreeCodecVersion));
  ISOBIT_TRY(LogChunkProof proof, read_parts(reader, what));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return proof;
}

Expected<LogAbsenceProof> decode_log_absence_proof(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kAbsenceTag, kLogTreeCodecVersion));
  LogAbsenceProof proof;
  for (auto* side : {&proof.before, &proof.after}) {
    ISOBIT_TRY(const bool present, reader.boolean("side"));
    if (!present) continue;
    ISOBIT_TRY(*side, read_parts(reader, what));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return proof;
}

}  // namespace isobit::verify
