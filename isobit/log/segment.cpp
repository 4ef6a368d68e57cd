#include "isobit/log/segment.h"

#include "isobit/base/frame.h"
#include "isobit/log/compression_internal.h"
#include "isobit/log/payload_internal.h"

namespace isobit::log {
namespace {

using internal::Compression;

constexpr std::string_view kTag = "isobit.log-segment";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxElements = uint64_t{1} << 56;  // of a step: keeps every size below in 64 bits

void check_schema(internal::Schema schema) {
  uint64_t elements = 0;
  for (size_t i = 0; i < schema.size(); ++i) {
    ISOBIT_CHECK(schema[i].elements < kMaxElements - elements);
    elements += schema[i].elements;
    ISOBIT_CHECK(i == 0 || schema[i - 1].node < schema[i].node ||
                 (schema[i - 1].node == schema[i].node && schema[i - 1].output < schema[i].output));
  }
}

Bytes payload_of(const Segment& segment) {
  if (const auto* sparse = std::get_if<SparseLog>(&segment.log)) return internal::sparse_payload(*sparse);
  return internal::ovt_payload(std::get<OvtLog>(segment.log));
}

Bytes joined(Bytes front, ByteView back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

// The kind and the step are those asked for, or an error.
Expected<Compression> read_header(ByteReader& reader, uint64_t step, Kind kind, const std::string& what) {
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kTag, kVersion));
  ISOBIT_TRY(const uint8_t found, reader.u8("kind"));
  if (found > static_cast<uint8_t>(Kind::kOvt)) {
    return reader.fail("kind", text_of("found ", found, ", expected 0 (sparse) or 1 (ovt)"));
  }
  if (found != static_cast<uint8_t>(kind)) {
    return internal::contradiction(
        what, "kind",
        text_of("found ", found, " (", name_of(static_cast<Kind>(found)), "), expected ", static_cast<uint8_t>(kind),
                " (", name_of(kind), "): the log of another job"));
  }
  ISOBIT_TRY(const uint64_t found_step, reader.u64("step"));
  if (found_step != step) {
    return internal::contradiction(
        what, "step", text_of("found ", found_step, ", expected ", step, ": the segment of another step in its place"));
  }
  ISOBIT_TRY(const uint8_t compression, reader.u8("compression"));
  if (compression > static_cast<uint8_t>(Compression::kZstd)) {
    return reader.fail("compression", text_of("found ", compression, ", expected 0 (stored) or 1 (zstd)"));
  }
  return static_cast<Compression>(compression);
}

}  // namespace

namespace internal {

Bytes segment_header(Kind kind, uint64_t step, Compression compression) {
  ByteWriter writer;
  write_frame(writer, kTag, kVersion);
  writer.u8(static_cast<uint8_t>(kind));
  writer.u64(step);
  writer.u8(static_cast<uint8_t>(compression));
  return writer.take();
}

Bytes encode_stored(const Segment& segment) {
  return joined(segment_header(segment.kind(), segment.step, Compression::kStored), payload_of(segment));
}

}  // namespace internal

Bytes encode(const Segment& segment) {
  const Bytes payload = payload_of(segment);
  const Bytes smaller = internal::zstd_compressed(payload);
  const bool compress = !smaller.empty() && smaller.size() < payload.size();
  return joined(
      internal::segment_header(segment.kind(), segment.step, compress ? Compression::kZstd : Compression::kStored),
      compress ? smaller : payload);
}

Expected<Segment> decode_segment(ByteView data, uint64_t step, Kind kind, internal::Schema schema,
                                 const std::string& what) {
  check_schema(schema);
  const std::string source = text_of(what, ", step ", step);
  ByteReader reader(data, source);
  ISOBIT_TRY(const Compression compression, read_header(reader, step, kind, source));
  ByteView payload = data.subspan(reader.offset());
  Bytes content;
  if (compression == Compression::kZstd) {
    const uint64_t most =
        kind == Kind::kSparse ? internal::max_sparse_payload(schema) : internal::ovt_payload_size(schema);
    ISOBIT_TRY(content, internal::zstd_content(payload, most, source));
    payload = content;
  }
  Segment segment{step, {}};
  if (kind == Kind::kSparse) {
    ISOBIT_TRY(segment.log, internal::decode_sparse_payload(payload, schema, source + ", payload"));
  } else {
    ISOBIT_TRY(segment.log, internal::decode_ovt_payload(payload, schema, source + ", payload"));
  }
  return segment;
}

uint64_t largest_segment(Kind kind, internal::Schema schema) {
  const uint64_t payload =
      kind == Kind::kSparse ? internal::max_sparse_payload(schema) : internal::ovt_payload_size(schema);
  return internal::segment_header(kind, 0, Compression::kStored).size() + payload;
}

}  // namespace isobit::log
